"""Common divisors and multiples of integers, and the float next to another."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.numerics import cast_operands
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of
from flambeau.dialects.schema.families import BinaryOp, promote_values, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


class OfIntegersOp(BinaryOp):
    """A function of two integers."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("a common divisor", a, b, at_least=1, at_most=1)
        return BinaryOp.infer(a, b)


@aten("gcd(Tensor self, Tensor other) -> Tensor", keep=True)
class GcdOp(OfIntegersOp):
    """The greatest common divisor; that of 0 and a number is the number's absolute value."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.gcd(*cast_operands(a, b))


@aten("lcm(Tensor self, Tensor other) -> Tensor")
class LcmOp(OfIntegersOp):
    """The least common multiple; 0 where one of the numbers is."""

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
    """The float next to a on the way to b."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        found = BinaryOp.infer(a, b)
        if element_of(found) not in (f32, f64):
            raise TypeError(f"nextafter is not defined for {dtype_of(element_of(found)).torch} tensors")
        return found

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.nextafter(*cast_operands(a, b))
