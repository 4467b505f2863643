"""Functions that are composed of elementary ones."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from flambeau.dialects.aten.elementwise.arithmetic import product
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, float_operands, in_float, widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, dtype_of, element_of, promote_operands, tensor
from flambeau.dialects.schema.families import (
    NUMBERS,
    BinaryOp,
    FloatBinaryOp,
    FloatUnaryOp,
    IdentityOp,
    float_element,
    operand_shape,
    promote_values,
    wide_element,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


@aten("deg2rad(Tensor self) -> Tensor")
class Deg2radOp(FloatUnaryOp):
    """x in degrees, converted to radians."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide * (math.pi / 180), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.mul.Scalar(x, math.pi / 180)


@aten("rad2deg(Tensor self) -> Tensor")
class Rad2degOp(FloatUnaryOp):
    """x in radians, converted to degrees."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide * (180 / math.pi), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.mul.Scalar(x, 180 / math.pi)


@aten("sinc(Tensor self) -> Tensor")
class SincOp(FloatUnaryOp):
    """sin(pi x) / (pi x); 1 for 0."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.sinc, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        element = float_element(element_of(x))
        angle = aten.mul.Scalar(to_element(x, wide_element(element)), math.pi)
        found = aten.masked_fill.Scalar(aten.div.Tensor(aten.sin(angle), angle), aten.eq.Scalar(x, 0), 1)
        return to_element(found, element)


@aten("positive(Tensor(a) self) -> Tensor(a)")
class PositiveOp(IdentityOp):
    """The operand unchanged."""

    takes = NUMBERS

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return x


@aten("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor")
@aten("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor")
@aten("xlogy.Tensor(Tensor self, Tensor other) -> Tensor")
class XlogyTensorOp(FloatBinaryOp):
    """a * log(b) as a float; 0 if a is 0, unless b is NaN."""

    @staticmethod
    def numpy(a: Array | float, b: Array | float, /) -> Array:
        x, y = float_operands(a, b)
        wide, other = widened(x), widened(y)
        product = np.where(wide == 0, np.zeros((), wide.dtype), wide * np.log(other))
        return np.where(np.isnan(other), other, product).astype(x.dtype)

    @staticmethod
    def decompose(a: SSAValue | float, b: SSAValue | float, /) -> SSAValue:
        element = float_element(promote_values(a, b))
        x, y = as_operand(a, element), as_operand(b, element)
        product = aten.masked_fill.Scalar(aten.mul.Tensor(x, aten.log(y)), aten.eq.Scalar(x, 0), 0)
        return aten.masked_fill.Scalar(product, aten.isnan(y), math.nan)


@aten("heaviside(Tensor self, Tensor values) -> Tensor")
class HeavisideOp(BinaryOp):
    """0 if a < 0, 1 if a > 0, and b if a is 0; a and b have the same type."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        found = BinaryOp.infer(a, b)
        if isinstance(a, float | int) or isinstance(b, float | int) or element_of(a) != element_of(b):
            raise TypeError("both operands must be tensors of one type")
        return found

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.where(a == 0, b, np.asarray(a > 0).astype(a.dtype))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.where.self(aten.eq.Scalar(a, 0), b, to_element(aten.gt.Scalar(a, 0), element_of(a)))


@aten("ldexp.Tensor(Tensor self, Tensor other) -> Tensor")
class LdexpTensorOp(FloatBinaryOp):
    """a * 2**b."""

    @staticmethod
    def factor_element(a: ElementType, b: ElementType) -> ElementType:
        """Returns the type of the power of two: a float's own, also beside integers. Raises TypeError beside bools."""
        if dtype_of(b).category == 0 and dtype_of(a).category == 2:
            raise TypeError("ldexp of floats takes numbers as exponents, got bool")
        return a if dtype_of(b).category < 2 and dtype_of(a).category == 2 else float_element(b)

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        element = LdexpTensorOp.factor_element(promote_operands(a), promote_operands(b))
        return FloatBinaryOp.infer(a, tensor(element, operand_shape(b)))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        element = LdexpTensorOp.factor_element(element_of_array(a), element_of_array(b))
        return product(a, PowTensorTensorOp.numpy(2.0, cast_to(b, element)))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        exponent = to_element(b, LdexpTensorOp.factor_element(element_of(a), element_of(b)))
        return aten.mul.Tensor(a, aten.pow.Scalar(2.0, exponent))
