"""Elementary functions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers import complex_functions
from flambeau.dialects.aten.complex_numbers.complex_arithmetic import reciprocal
from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import element_of_array, erf, in_float, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, format_of, holds_complex, part_of, shape_of, tensor
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.families import (
    FLOATS,
    NUMBERS,
    FloatOnlyUnaryOp,
    FloatUnaryOp,
    UnaryOp,
    UnaryPredicateOp,
    float_element,
    require_category,
    wide_element,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


@aten("abs(Tensor self) -> Tensor", core=True)
class AbsOp(UnaryOp):
    """The absolute value."""

    takes = NUMBERS
    on_parts = staticmethod(complex_functions.absolute)
    bounds = staticmethod(value_ranges.absolute)

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(part_of(element_of(x)), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.abs(x)


class NegateOp(UnaryOp):
    """Changes of sign; bools are not supported."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("negation", x, at_least=1)
        return UnaryOp.infer(x)


@aten("neg(Tensor self) -> Tensor", core=True)
class NegOp(NegateOp, PartwiseOp):
    """-x."""

    bounds = staticmethod(value_ranges.negative)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.negative(x)


@aten("sign(Tensor self) -> Tensor", core=True)
class SignOp(UnaryOp):
    """-1, 0 or 1 with the sign of x; 0 for NaN."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        if x.dtype.kind == "b":
            return x
        return (np.asarray(x > 0).astype(np.int8) - np.asarray(x < 0).astype(np.int8)).astype(x.dtype)


@aten("sgn(Tensor self) -> Tensor")
class SgnOp(UnaryOp):
    """The sign of x; for a complex number x / |x|, and 0 for 0."""

    on_parts = staticmethod(complex_functions.sign)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        if x.dtype.kind != "c":
            return SignOp.numpy(x)
        size = np.abs(x)
        return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.sign(x)


@aten("reciprocal(Tensor self) -> Tensor", core=True)
class ReciprocalOp(FloatUnaryOp):
    """1 / x."""

    on_parts = staticmethod(reciprocal)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: 1 / wide, x)


@aten("sqrt(Tensor self) -> Tensor", core=True)
class SqrtOp(FloatUnaryOp):
    """The square root; NaN below 0."""

    bounds = staticmethod(value_ranges.between(0, math.inf))
    on_parts = staticmethod(complex_functions.square_root)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.sqrt, x)


@aten("rsqrt(Tensor self) -> Tensor", core=True)
class RsqrtOp(FloatUnaryOp):
    """1 / sqrt(x)."""

    bounds = staticmethod(value_ranges.between(0, math.inf))
    on_parts = staticmethod(complex_functions.reciprocal_root)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: 1 / np.sqrt(wide), x)


@aten("exp(Tensor self) -> Tensor", core=True)
class ExpOp(FloatUnaryOp):
    """e to the power of x."""

    bounds = staticmethod(value_ranges.between(0, math.inf))
    on_parts = staticmethod(complex_functions.exponential)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.exp, x)


@aten("expm1(Tensor self) -> Tensor", core=True)
class Expm1Op(FloatUnaryOp):
    """exp(x) - 1, exact near 0."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.expm1, x)


@aten("log(Tensor self) -> Tensor", core=True)
class LogOp(FloatUnaryOp):
    """The natural logarithm."""

    on_parts = staticmethod(complex_functions.logarithm)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.log, x)


@aten("log2(Tensor self) -> Tensor", core=True)
class Log2Op(FloatUnaryOp):
    """The logarithm to base 2."""

    on_parts = staticmethod(partial(complex_functions.logarithm_to, 2))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.log2, x)


@aten("log10(Tensor self) -> Tensor", core=True)
class Log10Op(FloatUnaryOp):
    """The logarithm to base 10."""

    on_parts = staticmethod(partial(complex_functions.logarithm_to, 10))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.log10, x)


@aten("log1p(Tensor self) -> Tensor", core=True)
class Log1pOp(FloatUnaryOp):
    """log(1 + x), exact near 0."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.log1p, x)


@aten("erf(Tensor self) -> Tensor", core=True)
class ErfOp(FloatUnaryOp):
    """The error function."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(erf, x)


@aten("sin(Tensor self) -> Tensor", core=True)
class SinOp(FloatUnaryOp):
    """The sine of x in radians."""

    bounds = staticmethod(value_ranges.between(-1, 1))
    on_parts = staticmethod(complex_functions.sine)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.sin, x)


@aten("cos(Tensor self) -> Tensor", core=True)
class CosOp(FloatUnaryOp):
    """The cosine of x in radians."""

    bounds = staticmethod(value_ranges.between(-1, 1))
    on_parts = staticmethod(complex_functions.cosine)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.cos, x)


@aten("tan(Tensor self) -> Tensor", core=True)
class TanOp(FloatUnaryOp):
    """The tangent of x in radians."""

    on_parts = staticmethod(complex_functions.tangent)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.tan, x)


@aten("asin(Tensor self) -> Tensor", core=True)
class AsinOp(FloatUnaryOp):
    """The angle in radians whose sine is x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arcsin, x)


@aten("acos(Tensor self) -> Tensor", core=True)
class AcosOp(FloatUnaryOp):
    """The angle in radians whose cosine is x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arccos, x)


@aten("atan(Tensor self) -> Tensor", core=True)
class AtanOp(FloatUnaryOp):
    """The angle in radians whose tangent is x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arctan, x)


@aten("sinh(Tensor self) -> Tensor", core=True)
class SinhOp(FloatUnaryOp):
    """The hyperbolic sine."""

    on_parts = staticmethod(complex_functions.hyperbolic_sine)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.sinh, x)


@aten("cosh(Tensor self) -> Tensor", core=True)
class CoshOp(FloatUnaryOp):
    """The hyperbolic cosine."""

    on_parts = staticmethod(complex_functions.hyperbolic_cosine)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.cosh, x)


@aten("asinh(Tensor self) -> Tensor", core=True)
class AsinhOp(FloatUnaryOp):
    """The inverse of the hyperbolic sine."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arcsinh, x)


@aten("acosh(Tensor self) -> Tensor", core=True)
class AcoshOp(FloatUnaryOp):
    """The inverse of the hyperbolic cosine."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arccosh, x)


@aten("atanh(Tensor self) -> Tensor", core=True)
class AtanhOp(FloatUnaryOp):
    """The inverse of the hyperbolic tangent."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.arctanh, x)


class RoundingOp(UnaryOp):
    """Rounding to whole numbers, in the type of the operand; integers are unchanged."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("rounding", x, at_least=1)
        return UnaryOp.infer(x)


@aten("ceil(Tensor self) -> Tensor", core=True)
class CeilOp(RoundingOp):
    """The smallest whole number not less than x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x if x.dtype.kind in "iu" else np.ceil(x)


@aten("floor(Tensor self) -> Tensor", core=True)
class FloorOp(RoundingOp):
    """The largest whole number not greater than x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x if x.dtype.kind in "iu" else np.floor(x)


@aten("trunc(Tensor self) -> Tensor", core=True)
class TruncOp(RoundingOp):
    """x rounded towards 0 to a whole number."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x if x.dtype.kind in "iu" else np.trunc(x)


@aten("round(Tensor self) -> Tensor", core=True)
class RoundOp(RoundingOp):
    """The nearest whole number; halves are rounded to the even neighbour."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x if x.dtype.kind in "iu" else np.rint(x)


@aten("round.decimals(Tensor self, *, int decimals) -> Tensor")
class RoundDecimalsOp(RoundingOp):
    """The nearest multiple of 10 to the power of -decimals."""

    takes = FLOATS

    @staticmethod
    def numpy(x: Array, /, decimals: int) -> Array:
        if x.dtype.kind in "iu" or decimals == 0:
            return RoundOp.numpy(x)
        scale = 10.0 ** abs(decimals)
        wide = widened(x)
        rounded = np.rint(wide * scale) / scale if decimals > 0 else np.rint(wide / scale) * scale
        return rounded.astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, decimals: int) -> SSAValue:
        if dtype_of(element_of(x)).category == 1:
            return x
        if decimals == 0:
            return aten.round(x)
        scale, wide = 10.0 ** abs(decimals), to_element(x, wide_element(element_of(x)))
        before, after = (aten.mul.Scalar, aten.div.Scalar) if decimals > 0 else (aten.div.Scalar, aten.mul.Scalar)
        return to_element(after(aten.round(before(wide, scale)), scale), element_of(x))


@aten("square(Tensor self) -> Tensor")
class SquareOp(UnaryOp):
    """x * x; bools give int64."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(i64 if element_of(x) == i1 else element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x.astype(np.int64) if x.dtype == np.bool_ else np.multiply(x, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return to_element(x, i64) if element_of(x) == i1 else aten.mul.Tensor(x, x)


@aten("exp2(Tensor self) -> Tensor")
class Exp2Op(FloatUnaryOp):
    """2 to the power of x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(np.exp2, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.pow.Scalar(2.0, x)


@aten("frac(Tensor self) -> Tensor")
class FracOp(FloatOnlyUnaryOp):
    """The fraction that truncation drops: x - trunc(x)."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return in_float(lambda wide: wide - np.trunc(wide), x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.sub.Tensor(x, aten.trunc(x))


@aten("logit(Tensor self, float? eps=None) -> Tensor", keep=True)
class LogitOp(FloatUnaryOp):
    """log(x / (1 - x)); x is first limited to [eps, 1 - eps] if `eps` is given."""

    @staticmethod
    def numpy(x: Array, /, eps: float | None) -> Array:
        def function(wide: Any) -> Any:
            limited = wide if eps is None else np.minimum(np.maximum(wide, eps), 1 - eps)
            return np.log(limited / (1 - limited))

        return in_float(function, x)

    @staticmethod
    def decompose(x: SSAValue, /, eps: float | None) -> SSAValue:
        if eps is not None:
            x = aten.clamp(x, eps, 1 - eps)
        return aten.log(aten.div.Tensor(x, aten.add.Scalar(aten.neg(to_element(x, float_element(element_of(x)))), 1)))


def is_negative(x: SSAValue) -> SSAValue:
    """Returns whether the sign of x is minus, which -0 has too."""
    if dtype_of(element_of(x)).category < 2:
        return aten.lt.Scalar(x, 0)
    return aten.lt.Scalar(aten.where.self(aten.eq.Scalar(x, 0), aten.reciprocal(x), x), 0)


@aten("signbit(Tensor self) -> Tensor")
class SignbitOp(UnaryPredicateOp):
    """Whether the sign bit of x is set, as bool; True for -0.0."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.signbit(widened(x)) if x.dtype.kind not in "iub" else np.less(x, 0)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return is_negative(x)


@aten("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")
class NanToNumOp(UnaryOp):
    """x with NaN and infinities replaced: by default NaN by 0, infinities by the largest and smallest finite number of the type."""

    @staticmethod
    def numpy(x: Array, /, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
        if x.dtype.kind in "iub":
            return x
        if x.dtype.kind == "c":
            parts = np.ascontiguousarray(x)[..., None].view(f"f{x.itemsize // 2}")
            return NanToNumOp.numpy(parts, nan, posinf, neginf).view(x.dtype)[..., 0]
        largest = format_of(element_of_array(x)).largest
        high = largest if posinf is None else posinf
        low = -largest if neginf is None else neginf
        wide = x.astype(np.float64)
        result = np.where(np.isnan(wide), nan or 0.0, np.where(wide == np.inf, high, np.where(wide == -np.inf, low, wide)))
        return result.astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, nan: float | None, posinf: float | None, neginf: float | None) -> SSAValue:
        element = element_of(x)
        if dtype_of(element).category < 2:
            return x
        if holds_complex(x):
            return aten.view_as_complex(aten.nan_to_num(aten.view_as_real(x), nan, posinf, neginf))
        largest = format_of(element).largest
        result = aten.masked_fill.Scalar(x, aten.isnan(x), nan or 0.0)
        result = aten.masked_fill.Scalar(result, aten.eq.Scalar(x, math.inf), largest if posinf is None else posinf)
        return aten.masked_fill.Scalar(result, aten.eq.Scalar(x, -math.inf), -largest if neginf is None else neginf)
