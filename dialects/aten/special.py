"""Functions that are composed of elementary ones."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.arithmetic import product
from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.numerics import float_operands, in_float, widened
from flambeau.dialects.aten.pow import power
from flambeau.dialects.aten.where import as_operand
from flambeau.dialects.ir.tensor_types import Tensor, element_of
from flambeau.dialects.schema.families import BinaryOp, FloatBinaryOp, FloatUnaryOp, IdentityOp, float_element, promote_values
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


@aten("deg2rad(Tensor self) -> Tensor")
class Deg2radOp(FloatUnaryOp):
    """Degrees as radians."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: wide * (math.pi / 180), x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return aten.mul.Scalar(x, math.pi / 180)


@aten("rad2deg(Tensor self) -> Tensor")
class Rad2degOp(FloatUnaryOp):
    """Radians as degrees."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: wide * (180 / math.pi), x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return aten.mul.Scalar(x, 180 / math.pi)


@aten("sinc(Tensor self) -> Tensor")
class SincOp(FloatUnaryOp):
    """sin(pi x) / (pi x), and 1 at 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.sinc, x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        angle = aten.mul.Scalar(x, math.pi)
        return aten.masked_fill.Scalar(aten.div.Tensor(aten.sin(angle), angle), aten.eq.Scalar(x, 0), 1)


@aten("positive(Tensor(a) self) -> Tensor(a)")
class PositiveOp(IdentityOp):
    """The same content."""

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return x


def x_log_y(x: Any, y: Any) -> Array:
    """Gives x * log(y) as a float; 0 where x is 0, unless y is NaN."""
    x, y = float_operands(x, y)
    wide, other = widened(x), widened(y)
    product = np.where(wide == 0, np.zeros((), wide.dtype), wide * np.log(other))
    return np.where(np.isnan(other), other, product).astype(x.dtype)


def x_log_y_of_values(x: SSAValue | float, y: SSAValue | float) -> SSAValue:
    """As `x_log_y`, in terms of core operators."""
    element = float_element(promote_values(x, y))
    first, second = as_operand(x, element), as_operand(y, element)
    product = aten.masked_fill.Scalar(aten.mul.Tensor(first, aten.log(second)), aten.eq.Scalar(first, 0), 0)
    return aten.masked_fill.Scalar(product, aten.isnan(second), math.nan)


@aten("xlogy.Tensor(Tensor self, Tensor other) -> Tensor")
class XlogyTensorOp(FloatBinaryOp):
    """a * log(b); 0 where a is 0, unless b is NaN."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return x_log_y(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return x_log_y_of_values(a, b)


@aten("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor")
class XlogyScalarOtherOp(FloatBinaryOp):
    """a * log(b) for a number b; 0 where a is 0, unless b is NaN."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return x_log_y(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: float) -> SSAValue:
        return x_log_y_of_values(a, b)


@aten("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor")
class XlogyScalarSelfOp(FloatBinaryOp):
    """a * log(b) for a number a; 0 when a is 0, unless b is NaN."""

    @staticmethod
    def numpy(a: float, b: Array) -> Array:
        return x_log_y(a, b)

    @staticmethod
    def decompose(a: float, b: SSAValue) -> SSAValue:
        return x_log_y_of_values(a, b)


@aten("heaviside(Tensor self, Tensor values) -> Tensor")
class HeavisideOp(BinaryOp):
    """0 below 0, 1 above 0, and b where a is 0; both have one type."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        found = BinaryOp.infer(a, b)
        if isinstance(a, float | int) or isinstance(b, float | int) or element_of(a) != element_of(b):
            raise TypeError("both operands must be tensors of one type")
        return found

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return np.where(a == 0, b, np.asarray(a > 0).astype(a.dtype))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return aten.where.self(aten.eq.Scalar(a, 0), b, to_element(aten.gt.Scalar(a, 0), element_of(a)))


@aten("ldexp.Tensor(Tensor self, Tensor other) -> Tensor")
class LdexpTensorOp(FloatBinaryOp):
    """a * 2**b."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        return FloatBinaryOp.infer(a, FloatBinaryOp.infer(2.0, b))

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return product(a, power(2.0, b))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return aten.mul.Tensor(a, aten.pow.Scalar(2.0, b))
