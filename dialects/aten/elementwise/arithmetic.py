"""Elementwise arithmetic on two or three operands."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import add, divide, multiply, subtract
from flambeau.dialects.aten.elementwise.math import is_negative
from flambeau.dialects.aten.library.numerics import cast_operands, float_operands, widened
from flambeau.dialects.aten.library.operands import number_for, to_element
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, promote_operands, shape_of, tensor
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.families import (
    BinaryOp,
    FloatBinaryOp,
    float_element,
    in_element,
    operand_shape,
    promote_values,
    require_category,
    require_integer,
    require_number,
    require_same_element,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def scaled_sum(a: Any, b: Any, alpha: float, sign: int = 1) -> Array:
    """Returns a + sign * alpha * b in the operands' common type."""
    a, b = cast_operands(a, b)
    if alpha != 1:
        b = (widened(b) * widened(b).dtype.type(alpha)) if b.dtype.kind != "b" else b & bool(alpha)
    if sign < 0:
        return (widened(a) - b).astype(a.dtype)
    return (widened(a) + b).astype(a.dtype)


class ScaledSumOp(BinaryOp):
    """Sums and differences in which the number `alpha` scales one operand."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /, alpha: float = 1) -> Tensor:
        require_integer("alpha", alpha, a, b)
        return BinaryOp.infer(a, b)


@aten("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", core=True)
@aten("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", core=True)
class AddTensorOp(ScaledSumOp):
    """a + alpha * b."""

    on_parts, bounds = staticmethod(add), staticmethod(value_ranges.total)

    @staticmethod
    def numpy(a: Array, b: Array | float, /, alpha: float) -> Array:
        return scaled_sum(a, b, alpha)


class SubtractOp(ScaledSumOp):
    """Differences; bools are not supported."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /, alpha: float = 1) -> Tensor:
        for operand in (a, b):
            require_category("subtraction", operand, at_least=1)
        return ScaledSumOp.infer(a, b, alpha)


@aten("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", core=True)
@aten("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", core=True)
class SubTensorOp(SubtractOp):
    """a - alpha * b."""

    on_parts, bounds = staticmethod(subtract), staticmethod(value_ranges.difference)

    @staticmethod
    def numpy(a: Array, b: Array | float, /, alpha: float) -> Array:
        return scaled_sum(a, b, alpha, -1)


@aten("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", keep=True)
class RsubScalarOp(SubtractOp):
    """b - alpha * a for a number b."""

    @staticmethod
    def numpy(a: Array, b: float, /, alpha: float) -> Array:
        return scaled_sum(b, a, alpha, -1)

    @staticmethod
    def decompose(a: SSAValue, b: float, /, alpha: float) -> SSAValue:
        return aten.add.Scalar(aten.neg(a if alpha == 1 else aten.mul.Scalar(a, alpha)), b)


@aten("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
class RsubTensorOp(SubtractOp):
    """b - alpha * a."""

    @staticmethod
    def numpy(a: Array, b: Array, /, alpha: float) -> Array:
        return scaled_sum(b, a, alpha, -1)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, alpha: float) -> SSAValue:
        return aten.sub.Tensor(b, a, alpha)


def product(a: Any, b: Any) -> Array:
    """Returns a * b in the operands' common type."""
    a, b = cast_operands(a, b)
    return a * b


@aten("mul.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("mul.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class MulTensorOp(BinaryOp):
    """a * b."""

    on_parts, bounds = staticmethod(multiply), staticmethod(value_ranges.product)

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return product(a, b)


def require_divisors(a: Array, b: Array) -> None:
    """Raises ZeroDivisionError for integers divided by 0."""
    if b.dtype.kind in "iub" and a.size and b.size and not b.all():
        raise ZeroDivisionError("integer division by zero")


def quotient(a: Any, b: Any, rounding_mode: str | None = None) -> Array:
    """Returns a / b as a float; with a rounding mode, rounded towards zero ("trunc") or down ("floor") in the operands' common type."""
    if rounding_mode is None:
        a, b = float_operands(a, b)
        return (widened(a) / widened(b)).astype(a.dtype)
    a, b = cast_operands(a, b)
    require_divisors(a, b)
    if rounding_mode == "floor":
        return np.asarray(np.floor_divide(widened(a), widened(b))).astype(a.dtype)
    if a.dtype.kind in "iub":
        floor = np.floor_divide(a, b)
        return floor + ((a != floor * b) & ((a < 0) != (b < 0))).astype(a.dtype)
    return np.trunc(widened(a) / widened(b)).astype(a.dtype)


@aten("div.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("div.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class DivTensorOp(FloatBinaryOp):
    """a / b; integers give a float."""

    on_parts = staticmethod(divide)

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return quotient(a, b)


class DivideModeOp(BinaryOp):
    """A quotient with a rounding mode: None, "trunc" (towards zero) or "floor" (down)."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /, rounding_mode: str | None = None) -> Tensor:
        if rounding_mode not in (None, "trunc", "floor"):
            raise ValueError(f"rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
        if rounding_mode is not None:
            require_category("division with a rounding mode", a, b, at_least=1)
        return FloatBinaryOp.infer(a, b) if rounding_mode is None else BinaryOp.infer(a, b)


@aten("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", core=True)
@aten("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", core=True)
class DivTensorModeOp(DivideModeOp):
    """a / b, rounded as `rounding_mode` says."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /, rounding_mode: str | None) -> Array:
        return quotient(a, b, rounding_mode)


class IntegralDivisionOp(BinaryOp):
    """Divisions whose result is a rounded quotient or a remainder; bools are not supported."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("division with a rounding mode", a, b, at_least=1)
        return BinaryOp.infer(a, b)


@aten("floor_divide(Tensor self, Tensor other) -> Tensor", keep=True)
class FloorDivideOp(IntegralDivisionOp):
    """a / b rounded down."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return quotient(a, b, "floor")

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.div.Tensor_mode(a, b, "floor")


@aten("floor_divide.Scalar(Tensor self, Scalar other) -> Tensor")
class FloorDivideScalarOp(IntegralDivisionOp):
    """a / b for a number b, rounded down."""

    @staticmethod
    def numpy(a: Array, b: float, /) -> Array:
        return quotient(a, b, "floor")

    @staticmethod
    def decompose(a: SSAValue, b: float, /) -> SSAValue:
        return aten.div.Scalar_mode(a, b, "floor")


def division_rest(function: Any, a: Any, b: Any) -> Array:
    """Returns `np.fmod` (sign of a) or `np.remainder` (sign of b) in the common type. Raises ZeroDivisionError for an integer 0 as b."""
    a, b = cast_operands(a, b)
    require_divisors(a, b)
    return np.asarray(function(widened(a), widened(b))).astype(a.dtype)


@aten("fmod.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("fmod.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class FmodTensorOp(IntegralDivisionOp):
    """The remainder of a / b rounded towards zero; the remainder has the sign of a."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return division_rest(np.fmod, a, b)


@aten("remainder.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("remainder.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class RemainderTensorOp(IntegralDivisionOp):
    """The remainder of a / b rounded down; the remainder has the sign of b."""

    @staticmethod
    def numpy(a: Array, b: Array | float, /) -> Array:
        return division_rest(np.remainder, a, b)


@aten("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
class RemainderScalarTensorOp(IntegralDivisionOp):
    """The remainder of a / b rounded down, for a number a; the remainder has the sign of b."""

    @staticmethod
    def numpy(a: float, b: Array, /) -> Array:
        return division_rest(np.remainder, a, b)

    @staticmethod
    def decompose(a: float, b: SSAValue, /) -> SSAValue:
        element = promote_values(a, b)
        return aten.remainder.Tensor(number_for(a, element), to_element(b, element))


class TernaryOp(SchemaOp):
    """Elementwise operators on three tensors, which are broadcast and promoted to a common type."""

    inplace = (0, 1, 2)

    @staticmethod
    def infer(a: Tensor, b: Tensor, c: Tensor | float, /) -> Tensor:
        return tensor(promote_operands(a, b, c), broadcast(*map(operand_shape, (a, b, c))))


@aten("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", keep=True)
class AddcmulOp(TernaryOp):
    """a + value * b * c; for integer tensors, `value` is truncated to an integer."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, c: Tensor | float, /, value: float = 1) -> Tensor:
        require_category("addcmul", a, b, c, at_least=1)
        require_number(value, promote_operands(a, b, c))
        return TernaryOp.infer(a, b, c)

    def whole(self) -> bool:
        """Returns whether PyTorch uses `value` unchanged. If PyTorch truncates `value` to an integer, the operator is decomposed."""
        value = self.argument("value")
        return in_element(value, element_of(self.result)) == value

    @staticmethod
    def numpy(a: Array, b: Array, c: Array, /, value: float) -> Array:
        a, b, c = cast_operands(a, b, c)
        return (widened(a) + widened(a).dtype.type(value) * widened(b) * widened(c)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, c: SSAValue, /, value: float) -> SSAValue:
        element = promote_values(a, b, c)
        product = aten.mul.Tensor(to_element(b, element), c)
        return aten.add.Tensor(a, product, int(value) if dtype_of(element).category == 1 else float(value))


@aten("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
class AddcdivOp(TernaryOp):
    """a + value * b / c, of floats."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, c: Tensor | float, /) -> Tensor:
        require_category("addcdiv", a, b, c, at_least=2)
        return TernaryOp.infer(a, b, c)

    @staticmethod
    def numpy(a: Array, b: Array, c: Array, /, value: float) -> Array:
        a, b, c = cast_operands(a, b, c)
        return (widened(a) + widened(a).dtype.type(value) * widened(b) / widened(c)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, c: SSAValue, /, value: float) -> SSAValue:
        return aten.add.Tensor(a, aten.div.Tensor(to_element(b, promote_values(a, b, c)), c), float(value))


class InterpolateOp(TernaryOp):
    """Interpolation between two float tensors, computed from the nearer end, so that both ends are exact."""

    inplace = (0, 1)

    @staticmethod
    def infer(a: Tensor, b: Tensor, c: Tensor | float, /) -> Tensor:
        # A weight without dimensions is a number.
        require_same_element(a, b, None if isinstance(c, bool | int | float) or (shape_of(a) and not shape_of(c)) else c)
        require_category("lerp", a, at_least=2)
        return tensor(element_of(a), broadcast(*map(operand_shape, (a, b, c))))


def interpolated(a: Array, b: Array, number: Any) -> Array:
    """Returns a + weight * (b - a), computed from the nearer end."""
    wide, end = widened(a), widened(b)
    weight: Array = np.asarray(number).astype(wide.dtype)
    distance: Array = end - wide
    return np.where(np.abs(weight) < 0.5, wide + weight * distance, end - distance * (1 - weight)).astype(a.dtype)


@aten("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor")
class LerpScalarOp(InterpolateOp):
    """a + weight * (b - a) for a number as weight."""

    @staticmethod
    def numpy(a: Array, b: Array, /, weight: float) -> Array:
        return interpolated(a, b, weight)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, weight: float) -> SSAValue:
        distance = aten.sub.Tensor(b, a)
        return aten.add.Tensor(a, distance, weight) if abs(weight) < 0.5 else aten.sub.Tensor(b, distance, 1 - weight)


@aten("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor")
class LerpTensorOp(InterpolateOp):
    """a + weight * (b - a)."""

    @staticmethod
    def numpy(a: Array, b: Array, /, weight: Array) -> Array:
        return interpolated(a, b, weight.astype(a.dtype))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, weight: SSAValue) -> SSAValue:
        weight, distance = to_element(weight, element_of(a)), aten.sub.Tensor(b, a)
        from_end = aten.sub.Tensor(b, aten.mul.Tensor(distance, RsubScalarOp.decompose(weight, 1, 1)))
        return aten.where.self(aten.lt.Scalar(aten.abs(weight), 0.5), aten.add.Tensor(a, aten.mul.Tensor(weight, distance)), from_end)


def with_sign(x: Any, sign: Any) -> Array:
    """Returns the absolute value of x with the sign of another number, as a float."""
    x, sign = float_operands(x, sign)
    return np.copysign(widened(x), widened(sign)).astype(x.dtype)


@aten("copysign.Tensor(Tensor self, Tensor other) -> Tensor")
class CopysignTensorOp(FloatBinaryOp):
    """The absolute value of a with the sign of b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return with_sign(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        size = aten.abs(to_element(a, float_element(promote_values(a, b))))
        return aten.where.self(is_negative(b), aten.neg(size), size)


@aten("copysign.Scalar(Tensor self, Scalar other) -> Tensor")
class CopysignScalarOp(FloatBinaryOp):
    """The absolute value of a with the sign of a number."""

    @staticmethod
    def numpy(a: Array, b: float, /) -> Array:
        return with_sign(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: float, /) -> SSAValue:
        size = aten.abs(to_element(a, float_element(promote_values(a, b))))
        return aten.neg(size) if math.copysign(1, b) < 0 else size


@aten("hypot(Tensor self, Tensor other) -> Tensor")
class HypotOp(BinaryOp):
    """sqrt(a * a + b * b) without overflow, of floats."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("hypot", a, b, at_least=2)
        return BinaryOp.infer(a, b)

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        a, b = float_operands(a, b)
        return np.hypot(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        element = promote_values(a, b)
        first, second = aten.abs(to_element(a, element)), aten.abs(to_element(b, element))
        large, small = aten.maximum(first, second), aten.minimum(first, second)
        ratio = aten.div.Tensor(small, large)
        length = aten.mul.Tensor(large, aten.sqrt(aten.add.Scalar(aten.mul.Tensor(ratio, ratio), 1)))
        infinite = aten.logical_or(aten.isinf(first), aten.isinf(second))
        plain = aten.where.self(aten.eq.Scalar(large, 0), large, length)
        return aten.masked_fill.Scalar(plain, infinite, math.inf)


class LogSumOp(BinaryOp):
    """The logarithm of a sum of two powers without overflow, of floats."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("the logarithm of a sum of powers", a, b, at_least=2)
        return BinaryOp.infer(a, b)


def log_sum(a: SSAValue, b: SSAValue, base: float) -> SSAValue:
    """Returns log(base**a + base**b) to that base, without overflow; for two equal infinities, that infinity."""
    element = promote_values(a, b)
    a, b = to_element(a, element), to_element(b, element)
    scale = math.log(base)
    distance = aten.neg(aten.abs(aten.sub.Tensor(a, b)))
    powers = aten.log1p(aten.exp(distance if base == math.e else aten.mul.Scalar(distance, scale)))
    result = aten.add.Tensor(aten.maximum(a, b), powers if base == math.e else aten.mul.Scalar(powers, 1 / scale))
    return aten.where.self(aten.logical_and(aten.isinf(a), aten.eq.Tensor(a, b)), a, result)


@aten("logaddexp(Tensor self, Tensor other) -> Tensor")
class LogaddexpOp(LogSumOp):
    """log(exp(a) + exp(b)) without overflow."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        a, b = float_operands(a, b)
        return np.logaddexp(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return log_sum(a, b, math.e)


@aten("logaddexp2(Tensor self, Tensor other) -> Tensor")
class Logaddexp2Op(LogSumOp):
    """log2(2**a + 2**b) without overflow."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        a, b = float_operands(a, b)
        return np.logaddexp2(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return log_sum(a, b, 2)


@aten("atan2(Tensor self, Tensor other) -> Tensor", core=True)
class Atan2Op(FloatBinaryOp):
    """The angle in radians of the point (b, a)."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        a, b = float_operands(a, b)
        return np.arctan2(widened(a), widened(b)).astype(a.dtype)


def scaled_first(a: SSAValue, b: SSAValue, alpha: float) -> SSAValue:
    """Returns a + alpha * b, where a separate `mul.Scalar` computes alpha * b."""
    element = promote_values(a, b)
    return aten.add.Tensor(a, aten.mul.Scalar(to_element(b, element), in_element(alpha, element)))


def remainder_by_fmod(a: SSAValue, b: SSAValue | float) -> SSAValue:
    """Returns the remainder of a / b with the sign of b: the result of `fmod`, plus b where the signs of this result and of b differ."""
    if isinstance(b, SSAValue):
        a, b = (to_element(side, promote_values(a, b)) for side in (a, b))
        rest = aten.fmod.Tensor(a, b)
        differs = aten.logical_and(aten.ne.Scalar(rest, 0), aten.ne.Tensor(aten.lt.Scalar(rest, 0), aten.lt.Scalar(b, 0)))
        return aten.where.self(differs, aten.add.Tensor(rest, b), rest)
    rest = aten.fmod.Scalar(a, b)
    differs = aten.gt.Scalar(rest, 0) if b < 0 else aten.lt.Scalar(rest, 0)
    return aten.where.self(differs, aten.add.Scalar(rest, b), rest)
