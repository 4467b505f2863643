"""The complementary error function, inverses of the error function, and functions of the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from flambeau.dialects.aten.library import coefficients as known
from flambeau.dialects.aten.library.formulas import FormulaOp, polynomial
from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.schema.namespace import aten


def _near(x: Any) -> Any:
    """Returns the error function for |x| <= 1."""
    square = x * x
    return x * (polynomial(square, known.ERF_NEAR_P) / polynomial(square, known.ERF_NEAR_Q))


def _scaled_complement(x: Any) -> Any:
    """Returns exp(x * x) erfc(x) for x >= 1."""
    limited = np.where(x > 50.0, 50.0, x)
    middle = polynomial(limited, known.ERFC_MID_P) / polynomial(limited, known.ERFC_MID_Q)
    return np.where(limited < 8.0, middle, polynomial(limited, known.ERFC_FAR_P) / polynomial(limited, known.ERFC_FAR_Q))


def complement(x: Any) -> Any:
    """Returns 1 - erf(x)."""
    size = abs(x)
    limited = np.where(size > 50.0, 50.0, size)
    far = np.exp(-(limited * limited)) * _scaled_complement(limited)
    return np.where(size < 1.0, 1.0 - _near(x), np.where(x < 0.0, 2.0 - far, far))


def scaled_complement(x: Any) -> Any:
    """Returns exp(x * x) erfc(x)."""
    size = abs(x)
    squared = np.exp(x * x)
    distance = size * size
    fraction = 0.5641895835477562 * (distance * (distance + 4.5) + 2.0) / (size * (distance * (distance + 5.0) + 3.75))
    far = np.where(size > 5e7, 0.5641895835477562 / size, np.where(size > 50.0, fraction, _scaled_complement(size)))
    return np.where(size < 1.0, squared * (1.0 - _near(x)), np.where(x < 0.0, 2.0 * squared - far, far))


@aten("erfc(Tensor self) -> Tensor", keep=True)
class ErfcOp(FormulaOp):
    """1 - erf(x), exact also if erf(x) is almost 1."""

    formula = staticmethod(complement)


@aten("special_erfcx(Tensor self) -> Tensor")
class SpecialErfcxOp(FormulaOp):
    """exp(x * x) erfc(x), which neither overflows nor vanishes for large x."""

    formula = staticmethod(scaled_complement)


@aten("special_log_ndtr(Tensor self) -> Tensor")
class SpecialLogNdtrOp(FormulaOp):
    """The logarithm of the normal distribution's cumulative function."""

    @staticmethod
    def formula(x: Any) -> Any:
        scaled = x * math.sqrt(0.5)
        low = np.log(scaled_complement(-scaled) * 0.5) - scaled * scaled
        return np.where(x < -1.0, low, np.log1p(complement(scaled) * -0.5))


@aten("erfinv(Tensor self) -> Tensor")
class ErfinvOp(FormulaOp):
    """The inverse of the error function: infinite at -1 and 1, NaN outside."""

    @staticmethod
    def formula(x: Any) -> Any:
        size, square = abs(x), x * x
        middle = polynomial(square, (-0.140543331, 0.914624893, -1.645349621, 0.886226899))
        middle = x * middle / polynomial(square, (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0))
        root = np.sqrt(-np.log((1.0 - size) * 0.5))
        far = polynomial(root, (1.641345311, 3.429567803, -1.624906493, -1.970840454)) / polynomial(root, (1.6370678, 3.5438892, 1.0))
        found = np.where(size <= 0.7, middle, np.where(x < 0.0, -far, far))
        for _ in range(2):
            # Newton's method, on whichever of erf(x) and its complement is small.
            tail = complement(abs(found)) - (1.0 - size)
            error = np.where(size <= 0.7, 1.0 - complement(found) - x, np.where(x < 0.0, tail, -tail))
            found = found - error / (2.0 / math.sqrt(math.pi) * np.exp(-(found * found)))
        return np.where(size == 1.0, x * math.inf, np.where(size > 1.0, math.nan, found))


@aten("special_ndtri(Tensor self) -> Tensor")
class SpecialNdtriOp(FormulaOp):
    """The inverse of the normal distribution's cumulative function: infinite at 0 and 1, NaN outside."""

    @staticmethod
    def formula(x: Any) -> Any:
        edge = math.exp(-2.0)
        is_high = x > 1.0 - edge
        tail = np.where(is_high, 1.0 - x, x)
        centered = x - 0.5
        square = centered * centered
        middle = centered + centered * (square * polynomial(square, known.NDTRI_P0) / polynomial(square, known.NDTRI_Q0))
        root = np.sqrt(-2.0 * np.log(tail))
        inverse = 1.0 / root
        near = polynomial(inverse, known.NDTRI_P1) / polynomial(inverse, known.NDTRI_Q1)
        far = polynomial(inverse, known.NDTRI_P2) / polynomial(inverse, known.NDTRI_Q2)
        outer = root - np.log(root) * inverse - inverse * np.where(root < 8.0, near, far)
        found = np.where(tail > edge, middle * math.sqrt(2 * math.pi), np.where(is_high, outer, -outer))
        return np.where((x < 0.0) | (x > 1.0), math.nan, np.where(x == 0.0, -math.inf, np.where(x == 1.0, math.inf, found)))
