"""Factorizations of matrices into triangular, orthogonal and diagonal factors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.matrices import (
    MatrixOp,
    batch_of,
    each_matrix,
    identity_like,
    like,
    matrices,
    over_batch,
    square_matrices,
    transposed,
)
from flambeau.dialects.aten.linear_algebra.triangular_systems import LinalgSolveTriangularOp
from flambeau.dialects.ir.extents import differ, is_known, minimum, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor, tensor_type
from flambeau.dialects.schema.families import require_same_element, require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


def with_numbers(function: Any, x: Array, *counts: int | None) -> tuple[Array, ...]:
    """Returns `function` of each matrix, which gives a matrix and integers: as many as `counts` says, a single one for None."""
    with np.errstate(all="ignore"):
        found = [function(*each) for each in each_matrix(x)]
    batch = x.shape[:-2]
    numbers = (
        np.array([each[i + 1] for each in found], np.int32).reshape(batch if count is None else (*batch, count))
        for i, count in enumerate(counts)
    )
    return np.array([each[0] for each in found], np.float64).reshape(x.shape).astype(x.dtype), *numbers


def require_no_info(info: Array, check: bool, what: str) -> None:
    """Raises ValueError for the first matrix that has no result, where errors are checked."""
    if check and info.any():
        raise ValueError(what.format(info.ravel()[int(np.flatnonzero(info)[0])]))


def with_pivots(a: Array) -> tuple[Array, Array, int]:
    """Returns the factors of a matrix, its rows that were exchanged, counted from 1, and the first pivot that is 0, or 0."""
    count, info = min(a.shape), 0
    pivots: Array = np.cumsum(np.ones(count, np.int32))
    for j in range(count):
        size = np.abs(a[j:, j])
        pivot = j if np.isnan(size[0]) else j + int(np.argmax(np.where(np.isnan(size), -1, size)))
        pivots[j] = pivot + 1
        if a[pivot, j] != 0:
            a[[j, pivot]] = a[[pivot, j]]
            a[j + 1 :, j] /= a[j, j]
        elif not info:
            info = j + 1
        a[j + 1 :, j + 1 :] -= np.outer(a[j + 1 :, j], a[j, j + 1 :])
    return a, pivots, info


def require_pivoting(pivot: bool) -> None:
    """Raises ValueError: PyTorch factors without exchanging rows on other devices only."""
    if not pivot:
        raise ValueError("pivot must be true: PyTorch does not factor without pivots on a CPU")


@aten("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", keep=True)
class LinalgLuFactorExOp(MatrixOp):
    """Both triangular factors in one matrix; the exchanged rows; and per matrix 0, or the position (from 1) of a pivot that is 0."""

    @staticmethod
    def infer(a: Tensor, /, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
        require_pivoting(pivot)
        shape = matrices(a)
        return like(a), tensor(i32, (*shape[:-2], minimum(shape[-2], shape[-1]))), tensor(i32, shape[:-2])

    @staticmethod
    def numpy(a: Array, /, check_errors: bool) -> tuple[Array, ...]:
        found = with_numbers(with_pivots, a, min(a.shape[-2:]), None)
        require_no_info(found[2], check_errors, "a matrix is singular: pivot {} is 0")
        return found


@aten("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
class LinalgLuFactorOp(MatrixOp):
    """Both triangular factors in one matrix, and the exchanged rows. A pivot of 0 is an error at run time."""

    @staticmethod
    def infer(a: Tensor, /, pivot: bool) -> tuple[Tensor, Tensor]:
        return LinalgLuFactorExOp.infer(a, pivot)[:2]

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, ...]:
        return LinalgLuFactorExOp.numpy(a, True)[:2]

    @staticmethod
    def decompose(a: SSAValue, /, pivot: bool) -> Sequence[SSAValue]:
        return aten.linalg_lu_factor_ex.results(a, pivot=pivot, check_errors=True)[:2]


def require_pivots(pivots: Tensor, shape: Sequence[int]) -> None:
    """Raises ValueError or TypeError for pivots that do not fit to factors."""
    require_shape("the tensor of pivots", pivots, shape)
    if element_of(pivots) != i32:
        raise TypeError(f"pivots must be int32, got {dtype_of(element_of(pivots)).torch}")


def permutation(pivots: Array, rows: int) -> Array:
    """Returns the matrix that exchanges rows as `pivots` say, transposed."""
    order = np.arange(rows)
    for i, pivot in enumerate(pivots):
        if not 1 <= pivot <= rows:
            raise ValueError(f"a pivot must be one of {rows} rows, got {pivot}")
        order[[i, pivot - 1]] = order[[pivot - 1, i]]
    return np.eye(rows)[order].T


@aten(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    keep=True,
)
class LuUnpackOp(MatrixOp):
    """The permutation P and the triangular factors L and U of a factored matrix; results that are not requested are empty."""

    @staticmethod
    def infer(factors: Tensor, pivots: Tensor, /, unpack_data: bool, unpack_pivots: bool) -> tuple[Tensor, Tensor, Tensor]:
        *batch, rows, columns = matrices(factors)
        least = minimum(rows, columns)
        require_pivots(pivots, (*batch, least))
        shapes = (
            (*batch, rows, rows) if unpack_pivots else (0,),
            (*batch, rows, least) if unpack_data else (0,),
            (*batch, least, columns) if unpack_data else (0,),
        )
        permuted, lower, upper = (like(factors, shape) for shape in shapes)
        return permuted, lower, upper

    @staticmethod
    def numpy(factors: Array, pivots: Array, /, unpack_data: bool, unpack_pivots: bool) -> tuple[Array, Array, Array]:
        *batch, rows, columns = factors.shape
        least = min(rows, columns)
        nothing = np.zeros((0,), factors.dtype)
        lower, upper, permuted = nothing, nothing, nothing
        if unpack_data:
            lower = np.tril(factors[..., :least], -1) + np.eye(rows, least, dtype=factors.dtype)
            upper = np.triu(factors[..., :least, :])
        if unpack_pivots:
            each = [permutation(pivots[place], rows) for place in np.ndindex(*batch)]
            permuted = np.array(each, factors.dtype).reshape(*batch, rows, rows)
        return permuted, lower, upper


@aten("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
class LinalgLuOp(MatrixOp):
    """The factors P, L and U with A = P L U."""

    @staticmethod
    def infer(a: Tensor, /, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
        factors, pivots, _ = LinalgLuFactorExOp.infer(a, pivot)
        return LuUnpackOp.infer(factors, pivots, True, True)

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, Array, Array]:
        factors, pivots, _ = LinalgLuFactorExOp.numpy(a, False)
        return LuUnpackOp.numpy(factors, pivots, True, True)

    @staticmethod
    def decompose(a: SSAValue, /, pivot: bool) -> Sequence[SSAValue]:
        factors, pivots, _ = aten.linalg_lu_factor_ex.results(a, pivot=pivot)
        return aten.lu_unpack.results(factors, pivots)


@aten("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor")
class LinalgLuSolveOp(MatrixOp):
    """x with A x = B, or x A = B if not `left`, by the factors of A; A is transposed for `adjoint`."""

    @staticmethod
    def infer(factors: Tensor, pivots: Tensor, b: Tensor, /, left: bool) -> Tensor:
        require_pivots(pivots, square_matrices(factors)[:-1])
        return LinalgSolveTriangularOp.infer(factors, b, left)

    @staticmethod
    def numpy(factors: Array, pivots: Array, b: Array, /, left: bool, adjoint: bool) -> Array:
        solved = LinalgSolveTriangularOp.numpy
        if not left:
            return np.swapaxes(LinalgLuSolveOp.numpy(factors, pivots, np.swapaxes(b, -1, -2), True, not adjoint), -1, -2)
        if not b.shape[-2]:
            return solved(factors, b, True, True, False)
        order = np.argmax(LuUnpackOp.numpy(factors, pivots, False, True)[0], -1 if adjoint else -2)[..., None]
        if adjoint:
            across = np.swapaxes(factors, -1, -2)
            found = solved(across, solved(across, b, False, True, False), True, True, True)
            return np.take_along_axis(found, np.broadcast_to(order, found.shape), -2)
        spread = np.broadcast_to(b, (*np.broadcast_shapes(b.shape[:-2], factors.shape[:-2]), *b.shape[-2:]))
        picked = np.take_along_axis(spread, np.broadcast_to(order, spread.shape), -2)
        return solved(factors, solved(factors, picked, False, True, True), True, True, False)

    @staticmethod
    def decompose(factors: SSAValue, pivots: SSAValue, b: SSAValue, /, left: bool, adjoint: bool) -> SSAValue:
        if not left:
            return transposed(aten.linalg_lu_solve(factors, pivots, transposed(b), adjoint=not adjoint))
        if provably_equal(shape_of(b)[-2], 0):
            return aten.linalg_solve_triangular(factors, b, upper=True)
        permuted = aten.lu_unpack.results(factors, pivots, unpack_data=False)[0]
        shape = (*batch_of(tensor_type(factors), tensor_type(b)), shape_of(b)[-2])
        # Rows are picked, for a product with a permutation makes NaN of an infinity.
        order = aten.expand(aten.unsqueeze(aten.argmax(permuted, -1 if adjoint else -2), -1), (*shape, 1))
        if adjoint:
            inner = aten.linalg_solve_triangular(transposed(factors), b, upper=False)
            inner = aten.linalg_solve_triangular(transposed(factors), inner, upper=True, unitriangular=True)
            return aten.take_along_dim(inner, order, -2)
        picked = aten.take_along_dim(aten.expand(b, (*shape, shape_of(b)[-1])), order, -2)
        inner = aten.linalg_solve_triangular(factors, picked, upper=False, unitriangular=True)
        return aten.linalg_solve_triangular(factors, inner, upper=True)


def with_minor(a: Array, upper: bool) -> tuple[Array, int]:
    """Returns the factor L of a matrix L Lᵀ, of which one triangle is read, and the first leading minor that is not positive, or 0."""
    lower = np.tril(a.T if upper else a)
    info = 0
    for j in range(len(a)):
        square = lower[j, j] - lower[j, :j] @ lower[j, :j]
        if not square > 0:
            info = j + 1
            break
        lower[j, j] = np.sqrt(square)
        lower[j + 1 :, j] = (lower[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower.T if upper else lower, info


@aten("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", keep=True)
class LinalgCholeskyExOp(MatrixOp):
    """L with A = L Lᵀ, or its transpose if `upper`; and per matrix 0, or the order of a leading minor that is not positive."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor]:
        return like(a, square_matrices(a)), tensor(i32, shape_of(a)[:-2])

    @staticmethod
    def numpy(a: Array, /, upper: bool, check_errors: bool) -> tuple[Array, ...]:
        found = with_numbers(partial(with_minor, upper=upper), a, None)
        require_no_info(found[1], check_errors, "a matrix is not positive-definite: its leading minor of order {} is not positive")
        return found


@aten("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor")
@aten("cholesky(Tensor self, bool upper=False) -> Tensor")
class CholeskyOp(MatrixOp):
    """L with A = L Lᵀ, or its transpose if `upper`. A matrix that is not positive-definite is an error at run time."""

    @staticmethod
    def infer(a: Tensor, /) -> Tensor:
        return LinalgCholeskyExOp.infer(a)[0]

    @staticmethod
    def numpy(a: Array, /, upper: bool) -> Array:
        return LinalgCholeskyExOp.numpy(a, upper, True)[0]

    @staticmethod
    def decompose(a: SSAValue, /, upper: bool) -> SSAValue:
        return aten.linalg_cholesky_ex.results(a, upper=upper, check_errors=True)[0]


@aten("cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
class CholeskyInverseOp(MatrixOp):
    """The inverses of matrices, given their Cholesky factors."""

    @staticmethod
    def infer(factor: Tensor, /) -> Tensor:
        return like(factor, square_matrices(factor))

    @staticmethod
    def numpy(factor: Array, /, upper: bool) -> Array:
        inverse = LinalgSolveTriangularOp.numpy(factor, np.eye(factor.shape[-1], dtype=factor.dtype), upper, True, False)
        across = np.swapaxes(inverse, -1, -2)
        return inverse @ across if upper else across @ inverse

    @staticmethod
    def decompose(factor: SSAValue, /, upper: bool) -> SSAValue:
        inverse = aten.linalg_solve_triangular(factor, identity_like(factor), upper=upper)
        return aten.matmul(inverse, transposed(inverse)) if upper else aten.matmul(transposed(inverse), inverse)


@aten("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
class CholeskySolveOp(MatrixOp):
    """x with A x = B, given the Cholesky factor of A."""

    @staticmethod
    def infer(b: Tensor, factor: Tensor, /) -> Tensor:
        return LinalgSolveTriangularOp.infer(factor, b, True)

    @staticmethod
    def numpy(b: Array, factor: Array, /, upper: bool) -> Array:
        lower = np.swapaxes(factor, -1, -2) if upper else factor
        inner = LinalgSolveTriangularOp.numpy(lower, b, False, True, False)
        return LinalgSolveTriangularOp.numpy(np.swapaxes(lower, -1, -2), inner, True, True, False)

    @staticmethod
    def decompose(b: SSAValue, factor: SSAValue, /, upper: bool) -> SSAValue:
        lower = transposed(factor) if upper else factor
        inner = aten.linalg_solve_triangular(lower, b, upper=False)
        return aten.linalg_solve_triangular(transposed(lower), inner, upper=True)


def reflected(a: Array) -> tuple[Array, Array]:
    """Overwrites `a` with R and, below its diagonal, the vectors v of reflections I - tau v vᵀ (v[0] = 1). Returns `a` and the taus."""
    taus = np.zeros(min(a.shape))
    for j in range(len(taus)):
        alpha, rest = a[j, j], a[j + 1 :, j]
        scale = np.abs(rest).max(initial=0)
        norm = scale * np.sqrt(np.sum((rest / scale) ** 2)) if scale > 0 else scale
        if norm == 0:
            continue
        beta = -np.copysign(np.hypot(alpha, norm), alpha)
        taus[j] = (beta - alpha) / beta
        a[j + 1 :, j] /= alpha - beta
        a[j, j] = beta
        v = np.concatenate([[1.0], a[j + 1 :, j]])
        a[j:, j + 1 :] -= taus[j] * np.outer(v, v @ a[j:, j + 1 :])
    return a, taus


@aten("geqrf(Tensor self) -> (Tensor a, Tensor tau)", keep=True)
class GeqrfOp(MatrixOp):
    """R of A = Q R and the vectors of the reflections whose product is Q in one matrix, and the factors of the reflections."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor]:
        shape = matrices(a)
        return like(a), like(a, (*shape[:-2], minimum(shape[-2], shape[-1])))

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            found = [reflected(*each) for each in each_matrix(a)]
        taus = np.array([each[1] for each in found], np.float64).reshape(*a.shape[:-2], min(a.shape[-2:]))
        return np.array([each[0] for each in found], np.float64).reshape(a.shape).astype(a.dtype), taus.astype(a.dtype)


def product_of_reflections(vectors: Array, taus: Array) -> Array:
    """Returns the first columns of the product of reflections, as many as `vectors` has; `tau` is a row."""
    found = np.eye(*vectors.shape)
    for j in range(taus.shape[1])[::-1]:
        v = np.concatenate([[1.0], vectors[j + 1 :, j]])
        found[j:, j:] -= taus[0, j] * np.outer(v, v @ found[j:, j:])
    return found


@aten("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", keep=True)
class LinalgHouseholderProductOp(MatrixOp):
    """The first columns of the product of reflections I - tau v vᵀ, whose vectors v are stored below the diagonal."""

    @staticmethod
    def infer(vectors: Tensor, taus: Tensor, /) -> Tensor:
        require_same_element(vectors, taus)
        shape, numbers = matrices(vectors), shape_of(taus)
        if len(numbers) != len(shape) - 1 or any(differ(a, b) for a, b in zip(numbers[:-1], shape[:-2], strict=True)):
            raise ValueError(f"the numbers tau, of shape {list(numbers)}, must fit to vectors of shape {list(shape)}")
        known = is_known(shape[-2]) and is_known(shape[-1]) and is_known(numbers[-1])
        if known and not shape[-2] >= shape[-1] >= numbers[-1]:
            raise ValueError(f"{numbers[-1]} reflections need as many columns and no fewer rows than columns, got shape {list(shape)}")
        return like(vectors)

    @staticmethod
    def numpy(vectors: Array, taus: Array, /) -> Array:
        return over_batch(product_of_reflections, 2, vectors, taus[..., None, :])


def whole_product(vectors: Array, taus: Array) -> Array:
    """Returns the products of reflections, whole."""
    rows, columns = vectors.shape[-2:]
    spare = np.zeros((*vectors.shape[:-1], max(rows - columns, 0)), vectors.dtype)
    return LinalgHouseholderProductOp.numpy(np.concatenate([vectors[..., :rows], spare], -1), taus)


def square_product(vectors: SSAValue, taus: SSAValue) -> SSAValue:
    """Returns the result of `whole_product` as a value, built detached."""
    rows, columns = shape_of(vectors)[-2:]
    least = minimum(rows, columns)
    kept = aten.slice.Tensor(vectors, -1, 0, least)
    return aten.linalg_householder_product(aten.constant_pad_nd(kept, (0, rows - least)), taus)


QR_MODES = ("reduced", "complete", "r")


@aten('linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)')
class LinalgQrOp(MatrixOp):
    """Q and R with A = Q R, an orthogonal Q and a triangular R; Q is empty for the mode "r"."""

    @staticmethod
    def infer(a: Tensor, /, mode: str) -> tuple[Tensor, Tensor]:
        if mode not in QR_MODES:
            raise ValueError(f"mode must be one of {', '.join(QR_MODES)}, got {mode!r}")
        *batch, rows, columns = matrices(a)
        inner = rows if mode == "complete" else minimum(rows, columns)
        return like(a, (0,) if mode == "r" else (*batch, rows, inner)), like(a, (*batch, inner, columns))

    @staticmethod
    def numpy(a: Array, /, mode: str) -> tuple[Array, Array]:
        found, taus = GeqrfOp.numpy(a)
        least = min(a.shape[-2:])
        if mode == "complete":
            return whole_product(found, taus), np.triu(found)
        triangle = np.triu(found[..., :least, :])
        if mode == "r":
            return np.zeros((0,), a.dtype), triangle
        return LinalgHouseholderProductOp.numpy(found[..., :least], taus), triangle

    @staticmethod
    def decompose(a: SSAValue, /, mode: str) -> Sequence[SSAValue]:
        rows, columns = shape_of(a)[-2:]
        found, taus = aten.geqrf.results(a)
        least = minimum(rows, columns)
        triangle = aten.triu(found if mode == "complete" else aten.slice.Tensor(found, -2, 0, least))
        if mode == "r":
            return aten.full((0,), 0, dtype=element_of(a)), triangle
        if mode == "complete":
            return square_product(found, taus), triangle
        return aten.linalg_householder_product(aten.slice.Tensor(found, -1, 0, least), taus), triangle


@aten("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)")
class QrOp(MatrixOp):
    """Q and R with A = Q R, an orthogonal Q, which is square if not `some`, and a triangular R."""

    @staticmethod
    def infer(a: Tensor, /, some: bool) -> tuple[Tensor, Tensor]:
        return LinalgQrOp.infer(a, "reduced" if some else "complete")

    @staticmethod
    def numpy(a: Array, /, some: bool) -> tuple[Array, Array]:
        return LinalgQrOp.numpy(a, "reduced" if some else "complete")

    @staticmethod
    def decompose(a: SSAValue, /, some: bool) -> Sequence[SSAValue]:
        return aten.linalg_qr.results(a, "reduced" if some else "complete")


@aten("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor")
class OrmqrOp(MatrixOp):
    """Q @ B, or B @ Q if not `left`, where Q is a product of reflections, which `transpose` transposes."""

    @staticmethod
    def infer(vectors: Tensor, taus: Tensor, other: Tensor, /, left: bool) -> Tensor:
        require_same_element(vectors, taus, other)
        rows, shape = matrices(vectors)[-2], matrices(other)
        if len(shape) != len(shape_of(vectors)) or differ(rows, shape[-2 if left else -1]):
            raise ValueError(f"reflections of shape {list(shape_of(vectors))} and matrices of shape {list(shape)} do not fit")
        require_shape("input3", other, (*shape_of(vectors)[:-2], *shape[-2:]))
        require_shape("input2", taus, (*shape_of(vectors)[:-2], minimum(rows, shape_of(vectors)[-1])))
        return like(other)

    @staticmethod
    def numpy(vectors: Array, taus: Array, other: Array, /, left: bool, transpose: bool) -> Array:
        product = whole_product(vectors, taus)
        product = np.swapaxes(product, -1, -2) if transpose else product
        return product @ other if left else other @ product

    @staticmethod
    def decompose(vectors: SSAValue, taus: SSAValue, other: SSAValue, /, left: bool, transpose: bool) -> SSAValue:
        product = square_product(vectors, taus)
        product = transposed(product) if transpose else product
        return aten.matmul(product, other) if left else aten.matmul(other, product)
