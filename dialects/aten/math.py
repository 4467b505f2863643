"""Elementary functions."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.numerics import cast_operands, erf, float_operands, in_float, widened
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of
from flambeau.dialects.schema.families import BinaryOp, FloatBinaryOp, FloatUnaryOp, UnaryOp, require_category
from flambeau.dialects.schema.row import aten
from flambeau.support.lazy import Array, np


@aten("abs(Tensor self) -> Tensor", core=True)
class AbsOp(UnaryOp):
    """The absolute value."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.abs(x)


class NegateOp(UnaryOp):
    """A change of sign; bools have none."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        require_category("negation", x, at_least=1)
        return UnaryOp.infer(x)


@aten("neg(Tensor self) -> Tensor", core=True)
class NegOp(NegateOp):
    """-x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.negative(x)


@aten("sign(Tensor self) -> Tensor", core=True)
class SignOp(UnaryOp):
    """-1, 0 or 1 with the sign of x; 0 for NaN."""

    @staticmethod
    def numpy(x: Array) -> Array:
        if x.dtype.kind == "b":
            return x
        return (np.asarray(x > 0).astype(np.int8) - np.asarray(x < 0).astype(np.int8)).astype(x.dtype)


@aten("reciprocal(Tensor self) -> Tensor", core=True)
class ReciprocalOp(FloatUnaryOp):
    """1 / x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: 1 / wide, x)


@aten("sqrt(Tensor self) -> Tensor", core=True)
class SqrtOp(FloatUnaryOp):
    """The square root; NaN below 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.sqrt, x)


@aten("rsqrt(Tensor self) -> Tensor", core=True)
class RsqrtOp(FloatUnaryOp):
    """1 / sqrt(x)."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(lambda wide: 1 / np.sqrt(wide), x)


@aten("exp(Tensor self) -> Tensor", core=True)
class ExpOp(FloatUnaryOp):
    """e to the power of x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.exp, x)


@aten("expm1(Tensor self) -> Tensor", core=True)
class Expm1Op(FloatUnaryOp):
    """exp(x) - 1, exact near 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.expm1, x)


@aten("log(Tensor self) -> Tensor", core=True)
class LogOp(FloatUnaryOp):
    """The natural logarithm."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.log, x)


@aten("log2(Tensor self) -> Tensor", core=True)
class Log2Op(FloatUnaryOp):
    """The logarithm to base 2."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.log2, x)


@aten("log10(Tensor self) -> Tensor", core=True)
class Log10Op(FloatUnaryOp):
    """The logarithm to base 10."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.log10, x)


@aten("log1p(Tensor self) -> Tensor", core=True)
class Log1pOp(FloatUnaryOp):
    """log(1 + x), exact near 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.log1p, x)


@aten("erf(Tensor self) -> Tensor", core=True)
class ErfOp(FloatUnaryOp):
    """The error function."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(erf, x)


@aten("sin(Tensor self) -> Tensor", core=True)
class SinOp(FloatUnaryOp):
    """The sine of x in radians."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.sin, x)


@aten("cos(Tensor self) -> Tensor", core=True)
class CosOp(FloatUnaryOp):
    """The cosine of x in radians."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.cos, x)


@aten("tan(Tensor self) -> Tensor", core=True)
class TanOp(FloatUnaryOp):
    """The tangent of x in radians."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.tan, x)


@aten("asin(Tensor self) -> Tensor", core=True)
class AsinOp(FloatUnaryOp):
    """The angle in radians whose sine is x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arcsin, x)


@aten("acos(Tensor self) -> Tensor", core=True)
class AcosOp(FloatUnaryOp):
    """The angle in radians whose cosine is x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arccos, x)


@aten("atan(Tensor self) -> Tensor", core=True)
class AtanOp(FloatUnaryOp):
    """The angle in radians whose tangent is x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arctan, x)


@aten("sinh(Tensor self) -> Tensor", core=True)
class SinhOp(FloatUnaryOp):
    """The hyperbolic sine."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.sinh, x)


@aten("cosh(Tensor self) -> Tensor", core=True)
class CoshOp(FloatUnaryOp):
    """The hyperbolic cosine."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.cosh, x)


@aten("asinh(Tensor self) -> Tensor", core=True)
class AsinhOp(FloatUnaryOp):
    """The inverse of the hyperbolic sine."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arcsinh, x)


@aten("acosh(Tensor self) -> Tensor", core=True)
class AcoshOp(FloatUnaryOp):
    """The inverse of the hyperbolic cosine."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arccosh, x)


@aten("atanh(Tensor self) -> Tensor", core=True)
class AtanhOp(FloatUnaryOp):
    """The inverse of the hyperbolic tangent."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return in_float(np.arctanh, x)


@aten("atan2(Tensor self, Tensor other) -> Tensor", core=True)
class Atan2Op(FloatBinaryOp):
    """The angle in radians of the point (b, a)."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        a, b = float_operands(a, b)
        return np.arctan2(widened(a), widened(b)).astype(a.dtype)


class RoundingOp(UnaryOp):
    """A rounding to integers of the same type; integers stay as they are."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        require_category("rounding", x, at_least=1)
        return UnaryOp.infer(x)


@aten("ceil(Tensor self) -> Tensor", core=True)
class CeilOp(RoundingOp):
    """The next integer up."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return x if x.dtype.kind in "iu" else np.ceil(x)


@aten("floor(Tensor self) -> Tensor", core=True)
class FloorOp(RoundingOp):
    """The next integer down."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return x if x.dtype.kind in "iu" else np.floor(x)


@aten("trunc(Tensor self) -> Tensor", core=True)
class TruncOp(RoundingOp):
    """The next integer towards 0."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return x if x.dtype.kind in "iu" else np.trunc(x)


@aten("round(Tensor self) -> Tensor", core=True)
class RoundOp(RoundingOp):
    """The nearest integer, the even one of two."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return x if x.dtype.kind in "iu" else np.rint(x)


@aten("round.decimals(Tensor self, *, int decimals) -> Tensor")
class RoundDecimalsOp(RoundingOp):
    """The nearest multiple of 10 to the power of -decimals."""

    @staticmethod
    def numpy(x: Array, decimals: int) -> Array:
        if x.dtype.kind in "iu" or decimals == 0:
            return RoundOp.numpy(x)
        scale = 10.0 ** abs(decimals)
        wide = widened(x)
        rounded = np.rint(wide * scale) / scale if decimals > 0 else np.rint(wide / scale) * scale
        return rounded.astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, decimals: int) -> SSAValue:
        from flambeau.dialects.aten.arithmetic import DivScalarOp, MulScalarOp

        if dtype_of(element_of(x)).category == 1:
            return x
        if decimals == 0:
            return RoundOp(x).result
        scale = 10.0 ** abs(decimals)
        if decimals > 0:
            return DivScalarOp(RoundOp(MulScalarOp(x, scale)), scale).result
        return MulScalarOp(RoundOp(DivScalarOp(x, scale)), scale).result


def power(a: Any, b: Any) -> Array:
    """Gives a to the power of b in the common type; an integer's negative power is rounded towards 0."""
    a, b = cast_operands(a, b)
    if a.dtype.kind in "iu":
        positive = np.power(a, np.maximum(b, 0))
        unit = np.where((a == -1) & (b % 2 == 1), -1, 1)
        return np.where(b >= 0, positive, np.where(np.abs(a) == 1, unit, 0)).astype(a.dtype)
    return np.power(widened(a), widened(b)).astype(a.dtype)


@aten("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", core=True)
class PowTensorTensorOp(BinaryOp):
    """a to the power of b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        return power(a, b)


@aten("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", core=True)
class PowTensorScalarOp(BinaryOp):
    """a to the power of a number."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, *_: Any) -> Tensor:
        found = BinaryOp.infer(a, b)
        if dtype_of(element_of(found)).category < 2 and isinstance(b, int) and b < 0:
            raise ValueError(f"integers have no power {b} of their own type")
        return found

    @staticmethod
    def numpy(a: Array, b: float) -> Array:
        return power(a, b)


@aten("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", core=True)
class PowScalarOp(BinaryOp):
    """A number to the power of b."""

    @staticmethod
    def numpy(a: float, b: Array) -> Array:
        return power(a, b)


@aten("square(Tensor self) -> Tensor")
class SquareOp(NegateOp):
    """x * x."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.multiply(x, x)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        from flambeau.dialects.aten.arithmetic import MulTensorOp

        return MulTensorOp(x, x).result
