"""Bessel's functions, and Airy's.

Coefficients and the ranges in which they are used are PyTorch's, so that both give the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.dialects.aten.library import coefficients as known
from flambeau.dialects.aten.library.formulas import FormulaOp, chebyshev, polynomial
from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.schema.namespace import aten

_FIRST, _SECOND = math.pi / 4, 3 * math.pi / 4
"""The phases of the functions of order 0 and 1 far from 0."""


def _scaled_i0(size: Any) -> Any:
    """Returns exp(-size) I0(size) for size >= 0."""
    return np.where(size <= 8.0, chebyshev(size * 0.5 - 2.0, known.I0_NEAR), chebyshev(32.0 / size - 2.0, known.I0_FAR) / np.sqrt(size))


def _scaled_i1(size: Any) -> Any:
    """Returns exp(-size) I1(size) for size >= 0."""
    far = chebyshev(32.0 / size - 2.0, known.I1_FAR) / np.sqrt(size)
    return np.where(size <= 8.0, chebyshev(size * 0.5 - 2.0, known.I1_NEAR) * size, far)


def _grown(size: Any, scaled: Any) -> Any:
    """Returns a scaled function without its scale; NaN at infinity."""
    return np.exp(size) * scaled + np.where(np.isinf(size), math.nan, 0.0)


def _i0(x: Any) -> Any:
    return _grown(abs(x), _scaled_i0(abs(x)))


def _i1(x: Any) -> Any:
    found = _grown(abs(x), _scaled_i1(abs(x)))
    return np.where(x < 0.0, -found, found)


def _scaled_k0(x: Any) -> Any:
    """Returns exp(x) K0(x)."""
    near = chebyshev(x * x - 2.0, known.K0_NEAR) - np.log(x * 0.5) * _i0(x)
    far = chebyshev(8.0 / x - 2.0, known.K0_FAR) / np.sqrt(x)
    return np.where(x == 0.0, math.inf, np.where(x <= 2.0, near * np.exp(x), far))


def _scaled_k1(x: Any) -> Any:
    """Returns exp(x) K1(x)."""
    near = np.log(x * 0.5) * _i1(x) + chebyshev(x * x - 2.0, known.K1_NEAR) / x
    far = chebyshev(8.0 / x - 2.0, known.K1_FAR) / np.sqrt(x)
    return np.where(x == 0.0, math.inf, np.where(x <= 2.0, near * np.exp(x), far))


def _wave(x: Any, phase: float, tables: Sequence[Sequence[float]], shift: float) -> Any:
    """Returns a function for x > 5, as a wave that fades; `shift` is 0 for J and a quarter of a turn for Y."""
    inverse = 5.0 / x
    square = inverse * inverse
    pp, pq, qp, qq = (polynomial(square, table) for table in tables)
    angle = x - phase
    first, second = (np.sin(angle), np.cos(angle)) if shift else (np.cos(angle), -np.sin(angle))
    return (pp / pq * first + inverse * (qp / qq) * second) * math.sqrt(2 / math.pi) / np.sqrt(x)


def _j0(x: Any) -> Any:
    size = abs(x)
    square = x * x
    near = (square - 5.78318596294678452118) * (square - 30.4712623436620863991)
    near = near * polynomial(square, known.J0_RP) / polynomial(square, known.J0_RQ)
    near = np.where(size < 0.00001, 1.0 - square * 0.25, near)
    return np.where(size <= 5.0, near, _wave(size, _FIRST, (known.J0_PP, known.J0_PQ, known.J0_QP, known.J0_QQ), 0))


def _j1(x: Any) -> Any:
    size = abs(x)
    square = x * x
    near = polynomial(square, known.J1_RP) / polynomial(square, known.J1_RQ)
    near = near * size * (square - 14.6819706421238932572) * (square - 49.2184563216946036703)
    found = np.where(size <= 5.0, near, _wave(size, _SECOND, (known.J1_PP, known.J1_PQ, known.J1_QP, known.J1_QQ), 0))
    return np.where(x < 0.0, -found, found)


def _y0(x: Any) -> Any:
    square = x * x
    near = polynomial(square, known.Y0_P) / polynomial(square, known.Y0_Q) + 2 / math.pi * np.log(x) * _j0(x)
    found = np.where(x <= 5.0, near, _wave(x, _FIRST, (known.J0_PP, known.J0_PQ, known.J0_QP, known.J0_QQ), 1))
    return np.where(x == 0.0, -math.inf, np.where(x < 0.0, math.nan, found))


def _y1(x: Any) -> Any:
    square = x * x
    near = x * (polynomial(square, known.Y1_P) / polynomial(square, known.Y1_Q)) + 2 / math.pi * (_j1(x) * np.log(x) - 1.0 / x)
    found = np.where(x <= 5.0, near, _wave(x, _SECOND, (known.J1_PP, known.J1_PQ, known.J1_QP, known.J1_QQ), 1))
    return np.where(x == 0.0, -math.inf, np.where(x <= 0.0, math.nan, found))


def _power_series(first: int, count: int = 11) -> list[float]:
    """Returns the coefficients 1 / ((first · (first + 1)) ((first + 3) · (first + 4)) …), the last one first."""
    found = [1.0]
    for place in range(first, first + 3 * count, 3):
        found.append(found[-1] / (place * (place + 1)))
    return found[::-1]


def _airy(x: Any) -> Any:
    size = abs(x)
    root = np.sqrt(size)
    angle = 2.0 * size * root / 3.0
    inverse = 1.0 / angle
    square = inverse * inverse
    even = 1.0 + square * (polynomial(square, known.AIRY_FN) / polynomial(square, known.AIRY_FD))
    odd = inverse * polynomial(square, known.AIRY_GN) / polynomial(square, known.AIRY_GD)
    turned = angle + math.pi / 4
    scale = 0.564189583547756286948 / np.sqrt(root)
    negative = scale * (np.sin(turned) * even - np.cos(turned) * odd)
    positive = scale * 0.5 * (polynomial(inverse, known.AIRY_N) / polynomial(inverse, known.AIRY_D)) * np.exp(-angle)
    cube = x * x * x
    middle = 0.355028053887817239260 * polynomial(cube, _power_series(2))
    middle = middle - 0.258819403792806798405 * x * polynomial(cube, _power_series(3))
    found = np.where(x < -2.09, negative, np.where(x >= 2.09, positive, middle))
    return np.where(np.isinf(x), math.nan, np.where(x > 103.892, 0.0, found))


def _spherical_j0(x: Any) -> Any:
    series = [(-1.0) ** term / math.factorial(2 * term + 1) for term in reversed(range(7))]
    found = np.where(abs(x) < 0.5, polynomial(x * x, series), np.sin(x) / x)
    return np.where(np.isinf(x), 0.0, found)


@aten("i0(Tensor self) -> Tensor")
class I0Op(FormulaOp):
    """The modified Bessel function of the first kind and order 0."""

    formula = staticmethod(_i0)


@aten("special_i0e(Tensor self) -> Tensor")
class SpecialI0eOp(FormulaOp):
    """exp(-|x|) times the modified Bessel function of the first kind and order 0."""

    @staticmethod
    def formula(x: Any) -> Any:
        return _scaled_i0(abs(x))


@aten("special_i1(Tensor self) -> Tensor")
class SpecialI1Op(FormulaOp):
    """The modified Bessel function of the first kind and order 1."""

    formula = staticmethod(_i1)


@aten("special_i1e(Tensor self) -> Tensor")
class SpecialI1eOp(FormulaOp):
    """exp(-|x|) times the modified Bessel function of the first kind and order 1."""

    @staticmethod
    def formula(x: Any) -> Any:
        found = _scaled_i1(abs(x))
        return np.where(x < 0.0, -found, found)


@aten("special_modified_bessel_k0(Tensor self) -> Tensor")
class SpecialModifiedBesselK0Op(FormulaOp):
    """The modified Bessel function of the second kind and order 0."""

    @staticmethod
    def formula(x: Any) -> Any:
        return np.exp(-x) * _scaled_k0(x)


@aten("special_modified_bessel_k1(Tensor self) -> Tensor")
class SpecialModifiedBesselK1Op(FormulaOp):
    """The modified Bessel function of the second kind and order 1."""

    @staticmethod
    def formula(x: Any) -> Any:
        return np.exp(-x) * _scaled_k1(x)


@aten("special_scaled_modified_bessel_k0(Tensor x) -> Tensor")
class SpecialScaledModifiedBesselK0Op(FormulaOp):
    """exp(x) times the modified Bessel function of the second kind and order 0."""

    formula = staticmethod(_scaled_k0)


@aten("special_scaled_modified_bessel_k1(Tensor x) -> Tensor")
class SpecialScaledModifiedBesselK1Op(FormulaOp):
    """exp(x) times the modified Bessel function of the second kind and order 1."""

    formula = staticmethod(_scaled_k1)


@aten("special_bessel_j0(Tensor self) -> Tensor")
class SpecialBesselJ0Op(FormulaOp):
    """The Bessel function of the first kind and order 0."""

    formula = staticmethod(_j0)


@aten("special_bessel_j1(Tensor self) -> Tensor")
class SpecialBesselJ1Op(FormulaOp):
    """The Bessel function of the first kind and order 1."""

    formula = staticmethod(_j1)


@aten("special_bessel_y0(Tensor self) -> Tensor")
class SpecialBesselY0Op(FormulaOp):
    """The Bessel function of the second kind and order 0."""

    formula = staticmethod(_y0)


@aten("special_bessel_y1(Tensor self) -> Tensor")
class SpecialBesselY1Op(FormulaOp):
    """The Bessel function of the second kind and order 1."""

    formula = staticmethod(_y1)


@aten("special_airy_ai(Tensor x) -> Tensor")
class SpecialAiryAiOp(FormulaOp):
    """Airy's function."""

    formula = staticmethod(_airy)


@aten("special_spherical_bessel_j0(Tensor x) -> Tensor")
class SpecialSphericalBesselJ0Op(FormulaOp):
    """The spherical Bessel function of the first kind and order 0: sin(x) / x."""

    formula = staticmethod(_spherical_j0)
