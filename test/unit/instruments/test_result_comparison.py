"""When two results are the same: tolerances by dtype, infinities, and what is not a number."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from flambeau.support.lazy import Array
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of

SAME = SemanticsOptions()


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (np.array([1, 1000], np.float32), np.array([1.05, 1000], np.float32), True),
        (np.array([1, 1000], np.float32), np.array([1.2, 1000], np.float32), False),
        (np.array([np.nan, np.inf, -np.inf], np.float32), np.array([np.nan, np.inf, -np.inf], np.float32), True),
        (np.array([np.nan, 1], np.float32), np.array([1, 1], np.float32), False),
        (np.array([1, 1], np.float32), np.array([np.inf, 1], np.float32), False),
        (np.array([np.inf], np.float32), np.array([-np.inf], np.float32), False),
        (np.array([0, 0], np.float32), np.array([1e-8, 0], np.float32), False),
        (np.array([0, 0], np.float32), np.array([1e-5, 0], np.float32), False),
        (np.array([1], np.float16), np.array([1.005], np.float16), True),
        (np.array([1], np.float16), np.array([1.02], np.float16), False),
        (np.asarray([1.0], ml_dtypes.bfloat16), np.asarray([1.05], ml_dtypes.bfloat16), True),
        (np.array([1], np.float64), np.array([1 + 1e-6], np.float64), False),
        (np.array([3, 4], np.int64), np.array([3, 5], np.int64), False),
        (np.array([True]), np.array([True]), True),
        (np.array([1], np.float32), np.array([1], np.float64), False),
        (np.array([1], np.float32), np.array([[1]], np.float32), False),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), True),
        (3, 3, True),
        (3, None, False),
    ],
)
def test_results_that_are_the_same(expected: Array, found: Array, same: bool):
    assert (difference_of(expected, found, SAME) is None) == same


def test_a_tolerance_scales_the_other_dtypes():
    loose = SemanticsOptions(tolerance=1e-2)
    assert loose.tolerance_for(np.dtype(np.float32)) == pytest.approx(1e-2)
    assert loose.tolerance_for(np.dtype(np.float64)) == pytest.approx(1e-6)
    assert loose.tolerance_for(np.dtype(np.int8)) == 0
