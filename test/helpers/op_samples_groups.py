"""Samples of operators that find equal elements or slices, and that count or reduce what belongs together."""

from __future__ import annotations

import numpy as np
from op_samples import Samples, make

X = np.array([[3.0, 1.0, 3.0, -2.0, np.nan, 5.0], [0.0, 1.5, 7.5, 7.5, 7.5, -np.inf]], "float32")
RUNS = np.array([3, 3, 1, 1, 1, 3, 2, 2])
ROWS = np.array([[1, 2, 3], [0, 2, 3], [1, 2, 3], [1, 2, 0], [1, 2, 0]])
_FLAGS = ((), (True, True), (True, False), (False, True))


def _elements(*before: object) -> Samples:
    return lambda rng: [
        *[(x, *before, *flags) for x in (X, RUNS) for flags in _FLAGS],
        (make(rng, (3, 2), "bool"), *before, True, True),
        (np.array(2.5), *before, True, True),
        (make(rng, (0, 3)), *before, True, True),
    ]


SAMPLES: dict[str, Samples] = {
    "aten._unique2": _elements(True),
    "aten.unique_consecutive": lambda rng: [*_elements()(rng), (ROWS, True, True, 0), (ROWS[None], False, False, 2)],
    "aten.unique_dim": lambda rng: [
        (ROWS, 0),
        (ROWS, 1, True, True, True),
        (make(rng, (2, 4, 5), "bool"), 2),
        (ROWS.astype("float32") - 1.5, 0),
        (RUNS.astype("float16"), 0),
    ],
}
