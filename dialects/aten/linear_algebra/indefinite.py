"""Factors of symmetric matrices that need not be definite, and systems of linear equations that they solve."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.matrices import MatrixOp, batch_of, like, matrices, square_matrices
from flambeau.dialects.aten.linear_algebra.factorization import require_no_info, require_pivots, with_numbers
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np

GROWTH = (1 + 17**0.5) / 8
"""The least ratio of a pivot to the largest other element in its column; with this ratio, elements grow least (Bunch and Kaufman)."""


def largest(x: Array) -> tuple[int, float]:
    """Returns the index and the absolute value of the largest element. NaN counts only as the first element; an empty array gives 0, 0."""
    size = np.abs(x)
    if not len(size):
        return 0, 0.0
    place = 0 if np.isnan(size[0]) else int(np.argmax(np.where(np.isnan(size), -1, size)))
    return place, float(size[place])


def chosen(a: Array, k: int) -> tuple[int, bool]:
    """Returns the row to exchange in step `k`, and whether the pivot is a block of two rows. For a column of zeros, the row is -1."""
    own = abs(a[k, k])
    place, below = largest(a[k + 1 :, k])
    if own == 0 and below == 0:
        return -1, False
    if np.isnan(own) or own >= GROWTH * below:
        return k, False
    row = k + 1 + place
    left, down = largest(a[row, k:row])[1], largest(a[row + 1 :, row])[1]
    beside = left if left > down else down
    if own >= GROWTH * below * (below / beside):
        return k, False
    return row, not abs(a[row, row]) >= GROWTH * beside


def exchange(a: Array, k: int, last: int, row: int) -> None:
    """Exchanges rows and columns `last` and `row` of a symmetric matrix, of which `a` holds the lower triangle. Columns before `k` stay."""
    a[row + 1 :, [last, row]] = a[row + 1 :, [row, last]]
    a[last + 1 : row, last], a[row, last + 1 : row] = a[row, last + 1 : row].copy(), a[last + 1 : row, last].copy()
    a[[last, row], [last, row]] = a[[row, last], [row, last]]
    if last > k:
        a[[last, row], k] = a[[row, last], k]


def with_blocks(a: Array) -> tuple[Array, Array, int]:
    """Returns L and D of a matrix L D Lᵀ in the form of LAPACK's `sytrf`, the exchanged rows, and a number.

    The number is the position (from 1) of the first pivot that is 0, or 0 if there is no such pivot.
    """
    a, k, info = np.tril(a), 0, 0
    pivots = np.zeros(len(a), np.int32)
    while k < len(a):
        row, pair = chosen(a, k)
        last = k + pair
        if row < 0:
            info, row = info or k + 1, k
        elif row != last:
            exchange(a, k, last, row)
        pivots[k : last + 1] = -(row + 1) if pair else row + 1
        rest = slice(last + 1, len(a))
        if pair:
            across = a[last, k]
            first, second = a[k, k] / across, a[last, last] / across
            scale = 1 / (first * second - 1) / across
            factors = scale * np.stack([second * a[rest, k] - a[rest, last], first * a[rest, last] - a[rest, k]], 1)
            a[rest, rest] -= np.tril(a[rest, k : last + 1] @ factors.T)
            a[rest, k : last + 1] = factors
        elif a[k, k] != 0:
            factors = a[rest, k] / a[k, k]
            a[rest, rest] -= np.tril(np.outer(factors, a[rest, k]))
            a[rest, k] = factors
        k = last + 1
    return a, pivots, info


@aten(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    keep=True,
)
class LinalgLdlFactorExOp(MatrixOp):
    """L and D with A = L D Lᵀ in one matrix; the exchanged rows; and per matrix 0, or the position (from 1) of a pivot that is 0.

    The lower triangle of A is read. D has blocks of one or two rows. A block of two rows has the same negative number twice as its pivots.
    """

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor, Tensor]:
        shape = square_matrices(a)
        return like(a), tensor(i32, shape[:-1]), tensor(i32, shape[:-2])

    @staticmethod
    def numpy(a: Array, /, check_errors: bool) -> tuple[Array, ...]:
        found = with_numbers(with_blocks, a, a.shape[-1], None)
        require_no_info(found[2], check_errors, "a matrix is singular: pivot {} is 0")
        return found


@aten("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)")
class LinalgLdlFactorOp(MatrixOp):
    """L and D with A = L D Lᵀ in one matrix, and the exchanged rows. A pivot of 0 is an error at run time."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor]:
        return LinalgLdlFactorExOp.infer(a)[:2]

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, ...]:
        return LinalgLdlFactorExOp.numpy(a, True)[:2]

    @staticmethod
    def decompose(a: SSAValue, /, hermitian: bool) -> Sequence[SSAValue]:
        return aten.linalg_ldl_factor_ex.results(a, hermitian=hermitian, check_errors=True)[:2]


def blocks(pivots: Array) -> list[tuple[int, int, int]]:
    """Returns the first and last row of each block of D, with the row exchanged for its last one. Raises ValueError for other pivots."""
    found, k = list[tuple[int, int, int]](), 0
    while k < len(pivots):
        pivot = int(pivots[k])
        last = k + (pivot < 0)
        if not last + 1 <= abs(pivot) <= len(pivots):
            raise ValueError(f"pivot {k} must be one of the rows {last + 1} to {len(pivots)}, got {pivot}")
        found.append((k, last, abs(pivot) - 1))
        k = last + 1
    return found


def solved_by_blocks(a: Array, x: Array, pivots: Array) -> Array:
    """Solves L D Lᵀ x = b in place of b."""
    order = blocks(pivots)
    for k, last, row in order:
        x[[last, row]] = x[[row, last]]
        x[last + 1 :] -= a[last + 1 :, k : last + 1] @ x[k : last + 1]
        if k == last:
            x[k] /= a[k, k]
        else:
            across = a[last, k]
            first, second = a[k, k] / across, a[last, last] / across
            top, bottom = x[k] / across, x[last] / across
            x[k], x[last] = (second * top - bottom) / (first * second - 1), (first * bottom - top) / (first * second - 1)
    for k, last, row in reversed(order):
        x[k : last + 1] -= a[last + 1 :, k : last + 1].T @ x[last + 1 :]
        x[[last, row]] = x[[row, last]]
    return x


@aten("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", keep=True)
class LinalgLdlSolveOp(MatrixOp):
    """x with A x = B, given the factors of A = L D Lᵀ."""

    @staticmethod
    def infer(factors: Tensor, pivots: Tensor, b: Tensor, /) -> Tensor:
        require_same_element(factors, b)
        own, shape = square_matrices(factors), matrices(b)
        require_pivots(pivots, own[:-1])
        if differ(own[-1], shape[-2]):
            raise ValueError(f"matrices of shape {list(own)} and right sides of shape {list(shape)} do not fit")
        return like(b, (*batch_of(factors, b), *shape_of(b)[-2:]))

    @staticmethod
    def numpy(factors: Array, pivots: Array, b: Array, /) -> Array:
        batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
        spread = np.broadcast_to(factors, (*batch, *factors.shape[-2:])).astype(np.float64)
        places = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        found = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), np.float64)
        with np.errstate(all="ignore"):
            for place in np.ndindex(batch):
                solved_by_blocks(spread[place], found[place], places[place])
        return found.astype(b.dtype)
