"""Functions that are composed of elementary ones."""

from __future__ import annotations

import math
import sys
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.arithmetic import AddScalarOp, AddTensorOp, DivTensorOp, MulScalarOp, MulTensorOp, SubTensorOp, product
from flambeau.dialects.aten.comparison import (
    ClampOp,
    EqScalarOp,
    EqTensorOp,
    GtScalarOp,
    IsinfOp,
    IsnanOp,
    LtScalarOp,
    MaskedFillScalarOp,
    MaximumOp,
    MinimumOp,
    WhereSelfOp,
    as_operand,
)
from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.logic import LogicalAndOp, LogicalNotOp, LogicalOrOp
from flambeau.dialects.aten.math import (
    AbsOp,
    ExpOp,
    Log1pOp,
    LogOp,
    NegOp,
    PowScalarOp,
    PowTensorScalarOp,
    PowTensorTensorOp,
    ReciprocalOp,
    SignOp,
    SinOp,
    SqrtOp,
    TruncOp,
    power,
)
from flambeau.dialects.aten.numerics import element_of_array, float_operands, in_float, widened
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.families import (
    BinaryOp,
    FloatBinaryOp,
    FloatOnlyUnaryOp,
    FloatUnaryOp,
    IdentityOp,
    UnaryOp,
    UnaryPredicateOp,
    float_element,
    promote_values,
    require_category,
)
from flambeau.dialects.schema.row import aten
from flambeau.support.lazy import Array, np


@aten("exp2(Tensor self) -> Tensor")
class Exp2Op(FloatUnaryOp):
    """2 to the power of x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.exp2, x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return PowScalarOp(2.0, x).result


@aten("frac(Tensor self) -> Tensor")
class FracOp(FloatOnlyUnaryOp):
    """What truncation drops: x - trunc(x)."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: wide - np.trunc(wide), x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return SubTensorOp(x, TruncOp(x)).result


@aten("deg2rad(Tensor self) -> Tensor")
class Deg2radOp(FloatUnaryOp):
    """Degrees as radians."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: wide * (math.pi / 180), x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return MulScalarOp(x, math.pi / 180).result


@aten("rad2deg(Tensor self) -> Tensor")
class Rad2degOp(FloatUnaryOp):
    """Radians as degrees."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: wide * (180 / math.pi), x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return MulScalarOp(x, 180 / math.pi).result


@aten("sinc(Tensor self) -> Tensor")
class SincOp(FloatUnaryOp):
    """sin(pi x) / (pi x), and 1 at 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.sinc, x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        angle = MulScalarOp(x, math.pi)
        return MaskedFillScalarOp(DivTensorOp(SinOp(angle), angle), EqScalarOp(x, 0), 1).result


@aten("logit(Tensor self, float? eps=None) -> Tensor", keep=True)
class LogitOp(FloatUnaryOp):
    """log(x / (1 - x)), of x limited to [eps, 1 - eps] when eps is given."""

    @staticmethod
    def numpy(x: Array, eps: float | None) -> Array:
        def function(wide: Any) -> Any:
            limited = wide if eps is None else np.minimum(np.maximum(wide, eps), 1 - eps)
            return np.log(limited / (1 - limited))

        return in_float(function, x)

    @staticmethod
    def decompose(x: SSAValue, eps: float | None) -> SSAValue:
        if eps is not None:
            x = ClampOp(x, eps, 1 - eps).result
        return LogOp(DivTensorOp(x, AddScalarOp(NegOp(to_element(x, float_element(element_of(x)))), 1))).result


@aten("sgn(Tensor self) -> Tensor")
class SgnOp(UnaryOp):
    """The sign, of real numbers."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return SignOp.numpy(x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return SignOp(x).result


@aten("positive(Tensor(a) self) -> Tensor(a)")
class PositiveOp(IdentityOp):
    """The same content."""

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return x


def is_negative(x: SSAValue) -> SSAValue:
    """Whether the sign of x is minus, which -0 has too."""
    if dtype_of(element_of(x)).category < 2:
        return LtScalarOp(x, 0).result
    return LtScalarOp(WhereSelfOp(EqScalarOp(x, 0), ReciprocalOp(x), x), 0).result


@aten("signbit(Tensor self) -> Tensor")
class SignbitOp(UnaryPredicateOp):
    """Whether the sign is minus, which -0 has too."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.signbit(widened(x)) if x.dtype.kind not in "iub" else np.less(x, 0)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return is_negative(x)


def with_sign(x: Any, sign: Any) -> Array:
    """The absolute value of x with the sign of another number, as a float."""
    x, sign = float_operands(x, sign)
    return np.copysign(widened(x), widened(sign)).astype(x.dtype)


@aten("copysign.Tensor(Tensor self, Tensor other) -> Tensor")
class CopysignTensorOp(FloatBinaryOp):
    """The absolute value of a with the sign of b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return with_sign(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        size = AbsOp(to_element(a, float_element(promote_values(a, b)))).result
        return WhereSelfOp(is_negative(b), NegOp(size), size).result


@aten("copysign.Scalar(Tensor self, Scalar other) -> Tensor")
class CopysignScalarOp(FloatBinaryOp):
    """The absolute value of a with the sign of a number."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return with_sign(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: float) -> SSAValue:
        size = AbsOp(to_element(a, float_element(promote_values(a, b)))).result
        return NegOp(size).result if math.copysign(1, b) < 0 else size


@aten("hypot(Tensor self, Tensor other) -> Tensor")
class HypotOp(BinaryOp):
    """sqrt(a * a + b * b) without overflow, of floats."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        require_category("hypot", a, b, at_least=2)
        return BinaryOp.infer(a, b)

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        a, b = float_operands(a, b)
        return np.hypot(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        first, second = AbsOp(a), AbsOp(b)
        large, small = MaximumOp(first, second), MinimumOp(first, second)
        ratio = DivTensorOp(small, large)
        length = MulTensorOp(large, SqrtOp(AddScalarOp(MulTensorOp(ratio, ratio), 1)))
        infinite = LogicalOrOp(IsinfOp(first), IsinfOp(second))
        plain = WhereSelfOp(EqScalarOp(large, 0), large, length)
        return MaskedFillScalarOp(plain, infinite, math.inf).result


class LogSumOp(BinaryOp):
    """The logarithm of a sum of two powers without overflow, of floats."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        require_category("the logarithm of a sum of powers", a, b, at_least=2)
        return BinaryOp.infer(a, b)


def log_sum(a: SSAValue, b: SSAValue, base: float) -> SSAValue:
    """log(base**a + base**b) to that base; equal infinities have no distance."""
    scale = math.log(base)
    distance = NegOp(AbsOp(SubTensorOp(a, b)))
    powers = Log1pOp(ExpOp(distance if base == math.e else MulScalarOp(distance, scale)))
    result = AddTensorOp(MaximumOp(a, b), powers if base == math.e else MulScalarOp(powers, 1 / scale))
    same = LogicalAndOp(IsinfOp(a), EqTensorOp(a, b))
    return WhereSelfOp(same, a, result).result


@aten("logaddexp(Tensor self, Tensor other) -> Tensor")
class LogaddexpOp(LogSumOp):
    """log(exp(a) + exp(b)) without overflow."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        a, b = float_operands(a, b)
        return np.logaddexp(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return log_sum(a, b, math.e)


@aten("logaddexp2(Tensor self, Tensor other) -> Tensor")
class Logaddexp2Op(LogSumOp):
    """log2(2**a + 2**b) without overflow."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        a, b = float_operands(a, b)
        return np.logaddexp2(widened(a), widened(b)).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return log_sum(a, b, 2)


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
    product = MaskedFillScalarOp(MulTensorOp(first, LogOp(second)), EqScalarOp(first, 0), 0)
    return MaskedFillScalarOp(product, IsnanOp(second), math.nan).result


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
        return WhereSelfOp(EqScalarOp(a, 0), b, to_element(GtScalarOp(a, 0).result, element_of(a))).result


@aten("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")
class NanToNumOp(UnaryOp):
    """Numbers for NaN (0) and the infinities (the largest of the type), or those given."""

    @staticmethod
    def numpy(x: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
        if x.dtype.kind in "iub":
            return x
        largest = LARGEST[element_of_array(x)]
        high = largest if posinf is None else posinf
        low = -largest if neginf is None else neginf
        wide = x.astype(np.float64)
        result = np.where(np.isnan(wide), nan or 0.0, np.where(wide == np.inf, high, np.where(wide == -np.inf, low, wide)))
        return result.astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, nan: float | None, posinf: float | None, neginf: float | None) -> SSAValue:
        element = element_of(x)
        if dtype_of(element).category < 2:
            return x
        largest = LARGEST[element]
        result = MaskedFillScalarOp(x, IsnanOp(x), nan or 0.0)
        result = MaskedFillScalarOp(result, EqScalarOp(x, math.inf), largest if posinf is None else posinf)
        return MaskedFillScalarOp(result, EqScalarOp(x, -math.inf), -largest if neginf is None else neginf).result


LARGEST: dict[Attribute, float] = {f16: 65504.0, bf16: (2 - 2**-7) * 2.0**127, f32: (2 - 2**-23) * 2.0**127, f64: sys.float_info.max}
"""The largest finite number of each floating type."""


@aten("isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")
class IscloseOp(BinaryOp):
    """Whether |a - b| <= atol + rtol * |b|, or both are equal, or (if `equal_nan`) both are NaN; of two tensors of one type."""

    inplace = ()

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        if isinstance(a, float | int) or isinstance(b, float | int) or element_of(a) != element_of(b):
            raise TypeError("both operands must be tensors of one type")
        return UnaryPredicateOp.infer(tensor(element_of(a), broadcast(shape_of(a), shape_of(b))))

    @staticmethod
    def numpy(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
        first, second = widened(a), widened(b)
        distance = np.abs(first - second)
        close = (distance <= atol + rtol * np.abs(second)) & np.isfinite(distance)
        return (first == second) | close | (equal_nan & np.isnan(first) & np.isnan(second))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, rtol: float, atol: float, equal_nan: bool) -> SSAValue:
        from flambeau.dialects.aten.comparison import LeTensorOp

        element = float_element(element_of(a))
        first, second = to_element(a, element), to_element(b, element)
        distance = AbsOp(SubTensorOp(first, second))
        bound = AddScalarOp(MulScalarOp(AbsOp(second), rtol), atol)
        finite = LogicalNotOp(LogicalOrOp(IsinfOp(distance), IsnanOp(distance)))
        result = LogicalOrOp(EqTensorOp(a, b), LogicalAndOp(LeTensorOp(distance, bound), finite))
        return LogicalOrOp(result, LogicalAndOp(IsnanOp(first), IsnanOp(second))).result if equal_nan else result.result


def float_power(a: Any, b: Any) -> Array:
    """A to the power of b in double precision."""
    return np.power(np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64))


class FloatPowerOp(BinaryOp):
    """A power in double precision, whatever the operands' types."""

    inplace = ()

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        return tensor(f64, shape_of(BinaryOp.infer(a, b)))


@aten("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
class FloatPowerTensorTensorOp(FloatPowerOp):
    """a to the power of b in double precision."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return float_power(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue) -> SSAValue:
        return PowTensorTensorOp(to_element(a, f64), to_element(b, f64)).result


@aten("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
class FloatPowerTensorScalarOp(FloatPowerOp):
    """a to the power of a number in double precision."""

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return float_power(a, b)

    @staticmethod
    def decompose(a: SSAValue, b: float) -> SSAValue:
        return PowTensorScalarOp(to_element(a, f64), float(b)).result


@aten("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")
class FloatPowerScalarOp(FloatPowerOp):
    """A number to the power of b in double precision."""

    @staticmethod
    def numpy(a: float, b: Array) -> Array:
        return float_power(a, b)

    @staticmethod
    def decompose(a: float, b: SSAValue) -> SSAValue:
        return PowScalarOp(float(a), to_element(b, f64)).result


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
        return MulTensorOp(a, PowScalarOp(2.0, b)).result
