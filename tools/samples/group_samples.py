"""Samples of operators that find equal elements or slices, and that count or reduce groups."""

from __future__ import annotations

import numpy as np

from flambeau.tools.samples.sample_generators import Samples, make

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


def segments(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Returns segments of a line, some empty, and of lines with their own segments, each with a reduction."""
    line, lines = make(rng, (6,)), make(rng, (2, 4, 3), "float64")
    lengths, bounds = np.array([1, 0, 3, 2]), np.array([[0, 1, 4], [1, 1, 3]])
    found: list[tuple[object, ...]] = []
    for place, reduce in enumerate(("sum", "mean", "prod", "max", "min")):
        found.append((line, reduce, lengths, None, None, 0, False, (None, 2)[place % 2]))
        found.append((lines, reduce, None, None, bounds, 1, False, (1.5, None)[place % 2]))
    return [*found, (make(rng, (5, 2)), "mean", lengths[:2] + 2, None, None, 0, True, None)]


def windows(rank: int) -> Samples:
    """Returns images, with and without a batch, and numbers that determine the windows."""
    extents, kernel = (7, 6, 9)[-rank:], (3, 2, 3)[-rank:]
    return lambda rng: [
        (make(rng, (2, 3, *extents)), kernel, (3, 2, 4)[-rank:], make(rng, (2, 3, rank), low=0, high=1)),
        (make(rng, (3, *extents), "float64"), kernel, (1, 3, 2)[-rank:], make(rng, (1, 3, rank), "float64", low=0, high=1)),
    ]


def histograms(rng: np.random.Generator, *before: object) -> list[tuple[object, ...]]:
    """Returns numbers in and beside some bins, without weights, with them, and as a density."""
    x, weight = make(rng, (3, 4)), make(rng, (3, 4), low=0)
    return [(x, *before), (x, *before, None, True), (x, *before, weight), (x, *before, weight, True)]


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
    "aten.segment_reduce": segments,
    "aten.embedding_bag.padding_idx": lambda rng: [
        (make(rng, (6, 3)), np.array([1, 4, 4, 0, 5, 1, 1]), np.array([0, 3, 3]), False, mode, False, None, False, row)
        for mode, row in ((0, 1), (1, -2), (2, 1), (2, None))
    ],
    "aten.embedding_renorm": lambda rng: [
        (make(rng, (5, 3)), np.array([0, 3, 3]), 1.0, 2.0),
        (make(rng, (4, 2), "float64"), np.array([[1], [2]], "int32"), 0.5, 1.0),
    ],
    "aten.fractional_max_pool2d": windows(2),
    "aten.fractional_max_pool3d": windows(3),
    "aten.histogram.bin_ct": lambda rng: [
        *[(make(rng, (5,)), 4, None, None, density) for density in (False, True)],
        *histograms(rng, 3, (-1.5, 2.0)),
        (np.full((3,), 2.0), 2),
        (make(rng, (0, 2)), 3),
    ],
    "aten.histogram.bins_tensor": lambda rng: [
        *histograms(rng, np.array([-2.0, -0.5, 0.0, 2.5], "float32")),
        (np.array([0.0, 1.0, 3.0, np.nan, 3.5]), np.array([0.0, 1.0, 3.0])),
    ],
    "aten.frexp.Tensor": lambda rng: [
        (np.array([0.0, -0.0, 1.0, -3.5, 0.1, 1e30, -1e-40, 0.99999994, 3.4e38, 2.0**-126, np.inf, -np.inf], "float32"),),
        (np.array([1e-310, -5e-324, 1.7e308, 0.9999999999999999, 4.0, 8.0, 2.0**-1022, 6.02e23]).reshape(2, 4),),
    ],
}
