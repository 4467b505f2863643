"""Samples of special functions, few because each is many operations of a program, of rare operators, draws and eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.dialects.aten.special_functions.polynomials import POLYNOMIALS
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples, make, tensors, unary

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 7.5, 12.0, 60.0)


def spread(low: float, high: float, count: int = 24) -> Array:
    """Returns numbers from `low` to `high` without special points."""
    return np.linspace(low, high, count) + 0.0137


def function_of_one(low: float = -12, high: float = 12) -> Samples:
    """Returns numbers from all ranges in which the function behaves differently, and special ones."""
    return lambda _: [(np.concatenate([spread(low, high), SPECIAL]),)]


def pairs(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Returns orders, each with numbers."""
    orders = np.array([0.5, 1.0, 1.5, 2.0, 5.0, np.nan])[:, None]
    numbers = np.array([-9.5, -3.0, -0.4, 0.0, 0.001, 1.0, 3.3, 100.0, np.inf, np.nan])
    return [(orders, numbers)]


_OF_ONE = (
    "special_erfcx special_log_ndtr lgamma digamma i0 special_i0e special_i1 special_i1e special_modified_bessel_k0 "
    "special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_bessel_j0 special_bessel_j1 "
    "special_bessel_y0 special_bessel_y1 special_airy_ai special_spherical_bessel_j0"
).split()


def degrees(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Returns places, each with degrees."""
    places = np.array([-30.0, -1.5, -1.0, -0.7, 0.0, 0.3, 0.5, 1.0, 2.5, np.inf, np.nan])[:, None]
    numbers = np.array([-2.0, 0.0, 1.0, 2.0, 3.7, 6.0, 12.0, 40.0, 130.0, np.nan])
    whole = make(rng, (3, 1), "int64"), make(rng, (4,), "int32", 0, 9)
    return [(places, numbers), (places.astype("float32"), numbers.astype("float32")), whole]


X = np.array([[3.0, 1.0, 3.0, -2.0, np.nan, 5.0], [0.0, -0.0, 7.5, 7.5, 7.5, -np.inf]], "float32")
WHOLE = np.array([[3, 1, 3, -2, 1, 1], [4, 4, 2, 2, 9, 0]])
SCALAR = np.array(2.5, "float32")
COLUMNS = np.array([[3, 1, 4], [9, 7, 8]])
LINE = np.array([-1.5, 0.0, 0.0, 2.0, 8.0])


def lines(*tails: tuple[object, ...], bools: bool = True, nan: bool = True) -> Samples:
    """Returns lines with equal elements, of floats and integers, and without dimensions."""

    def generate(rng: np.random.Generator) -> list[tuple[object, ...]]:
        real = X if nan else np.nan_to_num(X, nan=4, neginf=-9)
        tensors = [real, WHOLE, real.astype("float64").reshape(2, 3, 2), SCALAR]
        return [(x, *tails[place % len(tails)]) for place, x in enumerate([*tensors, *([make(rng, (3, 2), "bool")] if bools else [])])]

    return generate


def runs(dim: int) -> Samples:
    """Returns tensors to be scanned along a dimension."""
    return lines((dim,), (0,))


def index_reductions(rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Returns tensors into whose rows other tensors are reduced."""
    x, source = make(rng, (3, 4)), make(rng, (3, 5))
    index = np.array([0, 3, 3, 1, 0])
    found: list[tuple[object, ...]] = [
        (x, 1, index, source, reduce, place % 2 == 0) for place, reduce in enumerate(("prod", "mean", "amax", "amin"))
    ]
    return [*found, (make(rng, (4,), "int64"), 0, index[:2], make(rng, (2,), "int64"), "mean", True)]


_WEIGHTS = np.array([[0.5, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
_CHANNELS = [((2, 3, 4), dtype) for dtype in ("float32", "float16")]


def _in_training(*tails: tuple[object, ...]) -> Samples:
    return tensors(*[(shape, *tail) for shape in (*_CHANNELS, ((3, 4), "float64")) for tail in tails])


SQUARES = ((3, 3), (2, 4, 4), (2, 1, 1, 1), (6, 6), (0, 2, 2), (0, 0))
RECTANGLES = (*SQUARES, (4, 2), (2, 3, 5), (3, 0), (0, 2), (1, 4))
DTYPES = ("float32", "float64")


def matrices(shapes: tuple[tuple[int, ...], ...], arguments: Callable[[Array], list[Any]], *others: Array) -> Samples:
    """Returns the samples of `arguments` for matrices of each shape, and for other ones, in each element type."""

    def generate(rng: np.random.Generator) -> list[tuple[Any, ...]]:
        drawn = [make(rng, shape, dtype) for shape in shapes for dtype in DTYPES]
        return [tuple(each) for x in (*drawn, *(other.astype(dtype) for other in others for dtype in DTYPES)) for each in arguments(x)]

    return generate


REPEATED = np.diag([2.0, 2.0, 1.0, -1.0]) + np.eye(4)[::-1]
RANKS = np.outer([1.0, 2.0, -1.0], [0.5, 0.0, 3.0, 1.0])
ROTATION = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
EXTREMES = np.array([[1e30, 2e30], [-3e29, 1e28]])
SAMPLES: dict[str, Samples] = {
    **{f"aten.{name}": function_of_one() for name in _OF_ONE},
    "aten.erfc": lambda rng: [*function_of_one()(rng), (make(rng, (2, 3)),), (make(rng, (3,), "int64"),), (make(rng, (0,), "float16"),)],
    "aten.erfinv": function_of_one(-1.2, 1.2),
    "aten.special_ndtri": function_of_one(-0.2, 1.2),
    "aten.polygamma": lambda rng: [(n, *function_of_one()(rng)[0]) for n in (0, 1, 2)],
    "aten.special_zeta": pairs,
    "aten.special_zeta.self_scalar": lambda rng: [(3.0, pairs(rng)[0][1])],
    "aten.special_zeta.other_scalar": lambda rng: [(pairs(rng)[0][0], 2.5)],
    **{f"aten.special_{name}": degrees for name in POLYNOMIALS},
    **{f"aten.special_{name}.x_scalar": lambda rng: [(0.5, degrees(rng)[0][1])] for name in POLYNOMIALS},
    **{f"aten.special_{name}.n_scalar": lambda rng: [(degrees(rng)[0][0], 7)] for name in POLYNOMIALS},
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
    # eigenvalues and singular values
    "aten._linalg_eigh": matrices(
        SQUARES, lambda x: [(x, "L"), (x, "U", True), (x, "L", False)], np.eye(3), np.zeros((2, 2)), REPEATED, EXTREMES, EXTREMES * 1e-60
    ),
    "aten._linalg_svd": matrices(
        RECTANGLES,
        lambda x: [(x,), (x, True), (x, False, False)],
        np.eye(3),
        np.zeros((3, 2)),
        REPEATED,
        RANKS,
        RANKS.T,
        EXTREMES,
        EXTREMES * 1e-60,
    ),
    **{
        f"aten.{name}": matrices(SQUARES, lambda x: [(x,)], ROTATION, np.triu(ROTATION + 2), np.diag([1.0, 2.0, 3.0]), EXTREMES)
        for name in ("linalg_eig", "_linalg_eigvals", "linalg_eigvals")
    },
    # random
    "aten.uniform": unary((), (-2.0, 3.0)),
    "aten.exponential": unary((), (2.5,)),
    "aten.bernoulli": lambda rng: [(rng.random((2, 5), np.float32),)],
    "aten.bernoulli.p": lambda rng: [
        (make(rng, (2, 5), dtype), p) for dtype in ("float32", "float16", "int64", "bool") for p in (0.25, 1.0)
    ],
    "aten.bernoulli.Tensor": lambda rng: [(make(rng, (2, 5), dtype), rng.random(5, np.float32)) for dtype in ("float32", "int64")],
    "aten.geometric": lambda rng: [(make(rng, (2, 5), dtype), 0.25) for dtype in ("float32", "float16", "int64", "uint8")],
    "aten.cauchy": unary((), (1.0, 0.5)),
    "aten.log_normal": unary((), (0.5, 0.1)),
    "aten.normal_functional": unary((), (3.0, 0.5)),
    "aten.normal.float_float": lambda _: [(1.0, 2.0, (2, 3)), (1.0, 0.0, ())],
    "aten.multinomial": lambda _: [(_WEIGHTS, 9, True), (_WEIGHTS[0].astype("float32"), 3), (_WEIGHTS[:1], 4)],
    **{
        f"aten.{name}": _in_training((0.5, False), (0.5, True), (0.0, True), (1.0, True))
        for name in ("feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    },
    "aten.rrelu": unary((), (0.1, 0.5), (0.1, 0.5, True), dtypes=("float32", "float64", "bfloat16")),
}
