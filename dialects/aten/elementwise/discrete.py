"""Operators on the representation of numbers: common divisors and multiples, neighbouring floats, mantissas and exponents."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import cast_operands, widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, BinaryOp, promote_values, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class OfIntegersOp(BinaryOp):
    """Functions of two integer tensors."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("a common divisor", a, b, at_least=1, at_most=1)
        return BinaryOp.infer(a, b)


@aten("gcd(Tensor self, Tensor other) -> Tensor", keep=True)
class GcdOp(OfIntegersOp):
    """The greatest common divisor of a and b; gcd(0, b) is |b|."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.gcd(*cast_operands(a, b))


@aten("lcm(Tensor self, Tensor other) -> Tensor")
class LcmOp(OfIntegersOp):
    """The least common multiple of a and b; 0 if a or b is 0."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        a, b = cast_operands(a, b)
        divisor = np.gcd(a, b)
        return np.abs(a // np.where(divisor == 0, 1, divisor).astype(a.dtype) * b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        element = promote_values(a, b)
        a, b = to_element(a, element), to_element(b, element)
        divisor = aten.gcd(a, b)
        divisor = aten.masked_fill.Scalar(divisor, aten.eq.Scalar(divisor, 0), 1)
        return aten.abs(aten.mul.Tensor(aten.div.Tensor_mode(a, divisor, rounding_mode="floor"), b))


@aten("nextafter(Tensor self, Tensor other) -> Tensor", keep=True)
class NextafterOp(BinaryOp):
    """The float that follows a in the direction of b; b if both are equal."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        found = BinaryOp.infer(a, b)
        if element_of(found) not in (f32, f64):
            raise TypeError(f"nextafter is not defined for {dtype_of(element_of(found)).torch} tensors")
        return found

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.nextafter(*cast_operands(a, b))


@aten("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
class FrexpTensorOp(SchemaOp):
    """The mantissa of each number, 0 or in [0.5, 1) by absolute value, and the exponent of two, as int32."""

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, /) -> tuple[Tensor, Tensor]:
        return tensor(element_of(x), shape_of(x)), tensor(i32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> tuple[Array, Array]:
        mantissa, exponent = np.frexp(widened(x))
        return mantissa.astype(x.dtype), exponent

    @staticmethod
    def decompose(x: SSAValue, /) -> tuple[SSAValue, SSAValue]:
        wide = to_element(x, f64)
        # Numbers that single and double precision hold only with fewer digits grow first.
        is_tiny = aten.lt.Scalar(aten.abs(wide), 2.0**-1000)
        grown = aten.where.self(is_tiny, aten.mul.Scalar(wide, 2.0**100), wide)
        is_number = aten.logical_and(aten.ne.Scalar(wide, 0), aten.lt.Scalar(aten.abs(wide), math.inf))
        size = aten.where.self(is_number, aten.abs(grown), as_operand(0.75, f64))
        exponent = aten.add.Scalar(aten.floor(aten.log2(size)), 1)
        half = aten.floor(aten.mul.Scalar(exponent, 0.5))
        powers = [aten.pow.Scalar(2.0, aten.neg(part)) for part in (half, aten.sub.Tensor(exponent, half))]
        mantissa = aten.mul.Tensor(aten.mul.Tensor(size, powers[0]), powers[1])
        # A logarithm may be rounded to the next integer.
        too_large, too_small = aten.ge.Scalar(mantissa, 1), aten.lt.Scalar(mantissa, 0.5)
        mantissa = aten.where.self(too_large, aten.mul.Scalar(mantissa, 0.5), mantissa)
        mantissa = aten.where.self(too_small, aten.mul.Scalar(mantissa, 2.0), mantissa)
        exponent = aten.add.Tensor(aten.sub.Tensor(exponent, to_element(too_small, f64)), to_element(too_large, f64))
        exponent = aten.sub.Tensor(exponent, aten.mul.Scalar(to_element(is_tiny, f64), 100))
        signed = aten.where.self(aten.lt.Scalar(wide, 0), aten.neg(mantissa), mantissa)
        exponent = aten.where.self(is_number, exponent, as_operand(0, f64))
        return to_element(aten.where.self(is_number, signed, wide), element_of(x)), to_element(exponent, i32)
