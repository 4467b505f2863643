"""The gamma function's logarithm, its derivatives, and Hurwitz' zeta function."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import FormulaBinaryOp, FormulaOp, built, evaluated, polynomial
from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import to_float, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, element_of
from flambeau.dialects.schema.families import REALS, FloatUnaryOp, float_element, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

_LOG_GAMMA = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA = (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
"""Asymptotic series in 1 / x²."""
_ZETA = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1307674368e3 / 691,
    7.47242496e10,
    -1067062284288e4 / 3617,
    5109094217170944e3 / 43867,
    -8028576626982912e5 / 174611,
    1.5511210043330985984e23 / 854513,
    -1.6938241367317436694528e27 / 236364091,
)
"""(2 i)! / B(2 i), of the terms of Euler's and Maclaurin's sum."""


def log_gamma(x: Any) -> Any:
    """Returns the logarithm of |Γ(x)|."""
    positive = np.where(x < 0.5, 1.0 - x, x)
    is_small = positive < 7.0
    large = np.where(is_small, positive + 7.0, positive)
    inverse = 1.0 / large
    product = positive
    for step in range(1, 7):
        product = product * (positive + float(step))
    found = (large - 0.5) * (np.log(large) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5)
    found = found + inverse * polynomial(inverse * inverse, _LOG_GAMMA) - np.where(is_small, np.log(product), 0.0)
    distance = abs(x - np.rint(x))  # to the next integer, where a reflected value is infinite
    reflected = math.log(math.pi) - np.log(np.sin(distance * math.pi)) - found
    return np.where(x == -math.inf, math.inf, np.where(x < 0.5, reflected, found))


def digamma(x: Any) -> Any:
    """Returns the derivative of log Γ(x)."""
    is_negative = x < 0.0
    positive = np.where(is_negative, 1.0 - x, x)
    is_small = positive < 7.0
    large = np.where(is_small, positive + 7.0, positive)
    steps = 1.0 / positive
    for step in range(1, 7):
        steps = steps + 1.0 / (positive + float(step))
    inverse = 1.0 / large
    square = inverse * inverse
    found = np.log(large) - 0.5 * inverse - square * polynomial(square, _DIGAMMA) - np.where(is_small, steps, 0.0)
    fraction = x - np.trunc(x)
    reflected = np.where(fraction == 0.0, math.nan, found - math.pi / np.tan(fraction * math.pi))
    return np.where(x == 0.0, -1.0 / x, np.where(is_negative, reflected, found))


def _zeta_of_positive(x: Any, q: Any) -> Any:
    """Returns Σ (q + i)^-x for x > 1 and q > 0: ten terms, and the Euler–Maclaurin formula for the rest."""
    total = np.power(q, -x)
    for step in range(1, 9):
        total = total + np.power(q + float(step), -x)
    end = q + 9.0
    last = np.power(end, -x)
    total = total + last * 0.5
    rest = last * end / (x - 1.0)
    term = last * x / end
    square = 1.0 / (end * end)
    for place, divisor in enumerate(_ZETA):
        rest = rest + term * (1.0 / divisor)
        if place + 1 < len(_ZETA):
            term = term * (x + float(2 * place + 1)) * (x + float(2 * place + 2)) * square
    return np.where(last < total * 1e-17, total, total + rest)


def zeta(x: Any, q: Any) -> Any:
    """Returns Σ (q + i)^-x: infinite where x is 1 or a term is, NaN for x < 1, and for negative q if x is not whole."""
    q = np.where(x == x, q, q)  # of the shape that both broadcast to
    is_negative = q < 0.0
    size = abs(q)
    fraction = size - np.floor(size)
    # The terms of negative numbers are those of their opposites, from the smallest one to the first.
    starts = np.stack(
        [np.where(is_negative, 1.0 - fraction, q), np.where(is_negative, fraction, 1.0), np.where(is_negative, size + 1.0, 1.0)]
    )
    sums = _zeta_of_positive(x, starts)
    half = x * 0.5
    opposite = np.where(half == np.floor(half), sums[1] - sums[2], sums[2] - sums[1])
    found = np.where(is_negative, sums[0] + opposite, sums[0])
    found = np.where((q <= 0.0) & (q == np.floor(q)), math.inf, np.where(is_negative & ~(x == np.floor(x)), math.nan, found))
    return np.where(x == 1.0, math.inf, np.where(x < 1.0, math.nan, found))


@aten("lgamma(Tensor self) -> Tensor")
class LgammaOp(FormulaOp):
    """The logarithm of the absolute value of the gamma function."""

    formula = staticmethod(log_gamma)


@aten("digamma(Tensor self) -> Tensor")
class DigammaOp(FormulaOp):
    """The derivative of the gamma function's logarithm: infinite at 0, NaN at negative integers."""

    formula = staticmethod(digamma)


@aten("special_zeta(Tensor self, Tensor other) -> Tensor")
@aten("special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor")
@aten("special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor")
class SpecialZetaOtherScalarOp(FormulaBinaryOp):
    """Hurwitz' zeta function: the sum of (b + i)^-a over i = 0, 1, 2 and so on."""

    @staticmethod
    def formula(a: Any, b: Any) -> Any:
        return zeta(a, b)


@aten("polygamma(int n, Tensor self) -> Tensor")
class PolygammaOp(SchemaOp):
    """The derivative of order n of digamma."""

    inplace = (0,)
    elementwise = True
    takes = REALS

    @staticmethod
    def infer(n: int, x: Tensor, /) -> Tensor:
        if n < 0:
            raise ValueError(f"the order n of a derivative must not be negative, got {n}")
        return FloatUnaryOp.infer(x)

    @staticmethod
    def formula(n: int, x: Any, angle: Any = None) -> Any:
        """Returns the derivative, in numpy's functions; `angle` is π x as the element type holds it, for n = 1."""
        if n == 0:
            return digamma(x)
        if n == 1:
            is_low = x < 0.5
            found = _zeta_of_positive(2.0, np.where(is_low, 1.0 - x, x))
            ratio = math.pi / np.sin(angle)
            return np.where(x == math.inf, 0.0, np.where(is_low, ratio * ratio - found, found))
        factor = math.factorial(n) if n < 171 else math.inf
        return zeta(x * 0.0 + float(n + 1), x) * (factor if n % 2 else -factor)

    @staticmethod
    def numpy(n: int, x: Array, /) -> Array:
        x = to_float(x)
        wide = widened(x)
        return evaluated(lambda *operands: PolygammaOp.formula(n, *operands), wide, wide * wide.dtype.type(math.pi)).astype(x.dtype)

    @staticmethod
    def decompose(n: int, x: SSAValue, /) -> SSAValue:
        element = float_element(element_of(x))
        wide = to_element(x, wide_element(element))
        operands = [wide, aten.mul.Scalar(wide, math.pi)] if n == 1 else [wide]
        return to_element(built(lambda *traced: PolygammaOp.formula(n, *traced), element_of(wide), *operands), element)
