"""Samples of the operators of linear algebra, on batches of matrices that are not near a singular one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.dialects.aten.linear_algebra.factorization import GeqrfOp, LinalgCholeskyExOp, LinalgLuFactorExOp
from flambeau.dialects.aten.linear_algebra.indefinite import LinalgLdlFactorExOp
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples, make

SQUARES = ((3, 3), (2, 4, 4), (2, 2, 2), (2, 1, 1, 1), (5, 5))
RECTANGLES = (*SQUARES, (4, 2), (2, 3, 5), (1, 4))
DTYPES = ("float32", "float64")


def regular(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Returns regular matrices: a large diagonal, with rows permuted."""
    return np.asarray(make(rng, shape, "float64") + 4 * np.eye(shape[-2], shape[-1])[::-1], dtype)


def definite(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Returns positive-definite matrices."""
    x = make(rng, shape, "float64")
    return np.asarray(x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1]), dtype)


def triangles(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns positive-definite matrices, of which one triangle belongs to another matrix."""
    x, other = definite(rng, shape, dtype), make(rng, shape, dtype)
    return [(np.tril(x) + np.triu(other, 1), False), (np.triu(x) + np.tril(other, -1), True)]


def of(shapes: tuple[tuple[int, ...], ...], arguments: Callable[[np.random.Generator, tuple[int, ...], str], list[Any]]) -> Samples:
    """Returns the samples of `arguments` for each shape in each element type."""
    return lambda rng: [tuple(each) for shape in shapes for dtype in DTYPES for each in arguments(rng, shape, dtype)]


def with_right_sides(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns matrices with the right-hand side of an equation, or of a product from the left."""
    a, n = regular(rng, shape, dtype), shape[-1]
    return [(a, make(rng, (*shape[:-1], 3), dtype), True), (a, make(rng, (3, n), dtype), False), (a, make(rng, (1, n, 2), dtype), True)]


def triangular(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns systems with each triangle, from each side."""
    return [(*pair, upper, left, not upper) for *pair, left in with_right_sides(rng, shape, dtype) for upper in (False, True)]


def factored(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns the factors of matrices, with right sides."""
    return [
        (*LinalgLuFactorExOp.numpy(a, False)[:2], b, left, adjoint)
        for a, b, left in with_right_sides(rng, shape, dtype)
        for adjoint in (False, True)
    ]


def solved(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns systems with right sides that are matrices and vectors."""
    a = regular(rng, shape, dtype)
    return [*with_right_sides(rng, shape, dtype), (a, make(rng, shape[:-1], dtype), True), (a, make(rng, (shape[-1],), dtype), True)]


def by_factor(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Returns the lower factors of positive-definite matrices."""
    return LinalgCholeskyExOp.numpy(definite(rng, shape, dtype), False, False)[0]


def reflections(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    """Returns the vectors and factors of reflections."""
    return GeqrfOp.numpy(make(rng, shape, dtype))


def reflected(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns reflections, with matrices on their right and on their left."""
    own, rows = reflections(rng, shape, dtype), shape[-2]
    right, left = make(rng, (*shape[:-2], rows, 2), dtype), make(rng, (*shape[:-2], 3, rows), dtype)
    return [(*own, other, side, transpose) for other, side in ((right, True), (left, False)) for transpose in (False, True)]


def drawn(rng: np.random.Generator, shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    """Returns matrices of each shape in each element type."""
    return [make(rng, shape, dtype) for shape in shapes for dtype in DTYPES]


def indefinite(rng: np.random.Generator) -> list[Array]:
    """Returns matrices whose elimination has pivots of one row and of two rows, some with zeros on the diagonal."""
    found = drawn(rng, SQUARES)
    return [*found, *(x * (1 - np.eye(x.shape[-1], dtype=x.dtype)) for x in found if x.shape[-1] > 1)]


def systems(rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Returns factors with right sides of the same batch, because PyTorch reads beyond the factors of a broadcast batch."""
    return [(*LinalgLdlFactorExOp.numpy(a, False)[:2], make(rng, (*a.shape[:-1], 2), str(a.dtype))) for a in indefinite(rng)]


def tolerances(rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Returns matrices, some rank-deficient, with tolerances per matrix, or absent."""
    found: list[tuple[Any, ...]] = [(x, None, None) for x in drawn(rng, RECTANGLES)]
    for x in drawn(rng, SQUARES[:4]):
        limit, zero = np.full(x.shape[:-2], 0.5, x.dtype), np.zeros(x.shape[:-2], x.dtype)
        low = np.array(np.outer(*np.ones((2, x.shape[-1]))), x.dtype)
        found += [(x, limit, None), (x, None, limit), (x, zero, limit), (x, zero, None), (low, None, None)]
        found.append((x + np.swapaxes(x, -1, -2), None, None, True))
    return found


TALL = ((3, 3), (2, 4, 2), (5, 1))
MATRICES: dict[str, Samples] = {
    **{
        name: of(RECTANGLES, lambda rng, shape, dtype: [(regular(rng, shape, dtype), True)])
        for name in ("linalg_lu_factor_ex", "linalg_lu_factor", "linalg_lu")
    },
    "lu_unpack": of(
        RECTANGLES,
        lambda rng, shape, dtype: [
            (*LinalgLuFactorExOp.numpy(regular(rng, shape, dtype), False)[:2], data, pivots)
            for data, pivots in ((True, True), (False, True), (True, False))
        ],
    ),
    "linalg_lu_solve": of(SQUARES, factored),
    **{name: of(SQUARES, solved) for name in ("linalg_solve", "linalg_solve_ex", "_linalg_solve_ex")},
    **{
        name: of(SQUARES, lambda rng, shape, dtype: [(regular(rng, shape, dtype),)])
        for name in ("linalg_inv", "inverse", "linalg_inv_ex", "_linalg_det", "_linalg_slogdet")
    },
    "linalg_matrix_exp": of(SQUARES, lambda rng, shape, dtype: [(make(rng, shape, dtype),), (make(rng, shape, dtype, -0.01, 0.01),)]),
    "linalg_solve_triangular": of(SQUARES, triangular),
    "triangular_solve": of(
        SQUARES,
        lambda rng, shape, dtype: [
            (make(rng, (*shape[:-1], 2), dtype), regular(rng, shape, dtype), upper, transpose, unit)
            for upper, transpose, unit in ((True, False, False), (False, True, False), (True, True, True))
        ],
    ),
    **{name: of(SQUARES, triangles) for name in ("linalg_cholesky_ex", "linalg_cholesky", "cholesky")},
    "cholesky_inverse": of(SQUARES, lambda rng, shape, dtype: [(by_factor(rng, shape, dtype), upper) for upper in (False, True)]),
    "cholesky_solve": of(
        SQUARES,
        lambda rng, shape, dtype: [(make(rng, (*shape[:-1], 2), dtype), by_factor(rng, shape, dtype), upper) for upper in (False, True)],
    ),
    # Matrices repeated along a dimension are singular, and their vectors are noise.
    "geqrf": of(SQUARES, lambda rng, shape, dtype: [(make(rng, shape, dtype),)]),
    "linalg_householder_product": of(TALL, lambda rng, shape, dtype: [reflections(rng, shape, dtype)]),
    "linalg_qr": of(RECTANGLES, lambda rng, shape, dtype: [(make(rng, shape, dtype), mode) for mode in ("reduced", "complete", "r")]),
    "qr": of(RECTANGLES, lambda rng, shape, dtype: [(make(rng, shape, dtype), some) for some in (True, False)]),
    "ormqr": of(TALL, reflected),
    "linalg_ldl_factor_ex": lambda rng: [(x,) for x in indefinite(rng)],
    "linalg_ldl_factor": lambda rng: [(x,) for x in drawn(rng, SQUARES)],
    "linalg_ldl_solve": systems,
    "linalg_pinv.atol_rtol_tensor": tolerances,
    "linalg_pinv.atol_rtol_float": lambda rng: [
        (x, *limits) for x in drawn(rng, RECTANGLES) for limits in ((None, None), (0.5, None), (None, 0.5), (0.1, 1e-3))
    ],
    "linalg_pinv": lambda rng: [(x, 1e-3) for x in drawn(rng, RECTANGLES)] + [(x, 1e-3, True) for x in drawn(rng, SQUARES)],
    "pinverse": lambda rng: [(x,) for x in drawn(rng, RECTANGLES)],
}
SAMPLES: dict[str, Samples] = {f"aten.{name}": samples for name, samples in MATRICES.items()}
"""Generators by full operator name."""
