"""Samples of running extremes, medians, searches, of elements put in places, and of what belongs to few numbers."""

from __future__ import annotations

import numpy as np
from op_samples import Samples, make

X = np.array([[3.0, 1.0, 3.0, -2.0, np.nan, 5.0], [0.0, -0.0, 7.5, 7.5, 7.5, -np.inf]], "float32")
WHOLE = np.array([[3, 1, 3, -2, 1, 1], [4, 4, 2, 2, 9, 0]])
SCALAR = np.array(2.5, "float32")
COLUMNS = np.array([[3, 1, 4], [9, 7, 8]])
LINE = np.array([-1.5, 0.0, 0.0, 2.0, 8.0])


def lines(*tails: tuple[object, ...], bools: bool = True, nan: bool = True) -> Samples:
    """Lines with equal elements, of floats and integers, and without dimensions."""

    def generate(rng: np.random.Generator) -> list[tuple[object, ...]]:
        real = X if nan else np.nan_to_num(X, nan=4, neginf=-9)
        tensors = [real, WHOLE, real.astype("float64").reshape(2, 3, 2), SCALAR]
        return [(x, *tails[place % len(tails)]) for place, x in enumerate([*tensors, *([make(rng, (3, 2), "bool")] if bools else [])])]

    return generate


def runs(dim: int) -> Samples:
    return lines((dim,), (0,))


def index_reductions(rng: np.random.Generator) -> list[tuple[object, ...]]:
    x, source = make(rng, (3, 4)), make(rng, (3, 5))
    index = np.array([0, 3, 3, 1, 0])
    found: list[tuple[object, ...]] = [
        (x, 1, index, source, reduce, place % 2 == 0) for place, reduce in enumerate(("prod", "mean", "amax", "amin"))
    ]
    return [*found, (make(rng, (4,), "int64"), 0, index[:2], make(rng, (2,), "int64"), "mean", True)]


SAMPLES: dict[str, Samples] = {
    "aten.cummax": runs(-1),
    "aten.cummin": runs(-1),
    "aten.logcumsumexp": lambda rng: [(make(rng, (2, 5)), 1), (make(rng, (3, 2), "float64"), 0), (np.array(1.0, "float32"), 0)],
    "aten.median": lines((), bools=False),
    "aten.nanmedian": lines((), bools=False),
    "aten.median.dim": lambda rng: [(make(rng, (3, 5)), 1), (X[:1], 1), (COLUMNS, 0, True), (SCALAR, 0)],
    "aten.nanmedian.dim": lambda rng: [(make(rng, (3, 5)), 1), (X[:, 3:], 1), (COLUMNS, 0, True), (SCALAR, 0)],
    "aten.mode": lines((-1,), (0, True), nan=False),
    "aten.searchsorted.Tensor": lambda rng: [
        (LINE, np.array([[0.0, 9.0], [np.nan, -3.0]])),
        (LINE, np.array([[0.0, 9.0], [np.nan, -3.0]]), True, True),
        (WHOLE[:, ::-1].copy(), WHOLE[:, :2].copy(), False, False, "right", np.argsort(WHOLE[:, ::-1])),
    ],
    "aten.searchsorted.Scalar": lambda rng: [(LINE, 0.0), (LINE, 2)],
    "aten.bucketize.Tensor": lambda rng: [
        (make(rng, (2, 3), "float64"), LINE),
        (make(rng, (4,), "int64"), WHOLE[0][[3, 1, 0]], True, True),
    ],
    "aten.bucketize.Scalar": lambda rng: [(0.0, LINE)],
    "aten.put": lambda rng: [
        (make(rng, (2, 3)), np.array([[0], [-1]]), make(rng, (2,))),
        (make(rng, (2, 3), "int64"), np.array([4, 4, 1]), make(rng, (3,), "int64"), True),
    ],
    "aten.index_reduce": index_reductions,
    "aten.nonzero_static": lambda rng: [(WHOLE, 4), (X, 20, 7), (make(rng, (2, 3, 2), "bool"), 5), (make(rng, (0, 2)), 3)],
    "aten.as_strided_scatter": lambda rng: [
        (make(rng, (3, 4)), make(rng, (2, 2)), (2, 2), (5, 2), 1),
        (make(rng, (6,)), make(rng, (3,)), (3,), (2,)),
    ],
    "aten.resize": lambda rng: [(make(rng, (3, 4)), (2, 5)), (make(rng, (4,), "int64"), (2, 2))],
    "aten.resize_as": lambda rng: [(make(rng, (3, 4)), make(rng, (2, 5)))],
    "aten.gcd": lambda rng: [
        (WHOLE, WHOLE[::-1].copy()),
        (WHOLE.astype("int8"), np.array(6, "int64")),
        (make(rng, (3,), "uint8"), WHOLE[0, :3]),
    ],
    "aten.lcm": lambda rng: [(WHOLE, WHOLE[::-1].copy()), (WHOLE.astype("int32"), np.array(6, "int64"))],
    "aten.nextafter": lambda rng: [(X, make(rng, (6,))), (X.astype("float64"), np.array(0.0))],
    "aten.normal.Tensor_Tensor": lambda rng: [(make(rng, (2, 3)), make(rng, (3,), low=0))],
    "aten.normal.Tensor_float": lambda rng: [(make(rng, (2, 3)), 0.5)],
    "aten.normal.float_Tensor": lambda rng: [(1.5, make(rng, (2, 3), low=0))],
}
