"""Systems of linear equations, inverses and determinants; exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16, f16, i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.matrices import FLOATS, MatrixOp, batch_of, identity_like, like, over_batch, square_matrices, transposed
from flambeau.dialects.aten.linear_algebra.factorization import LinalgLuFactorExOp, LinalgLuSolveOp
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


def holds_vectors(a: Sequence[int], b: Sequence[int]) -> bool:
    """Returns whether right sides are vectors, one for each matrix, rather than matrices."""
    return len(b) == 1 or (len(a) - 1 == len(b) and not any(differ(x, y) for x, y in zip(a[:-1], b, strict=True)))


@aten("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor, Tensor, Tensor, Tensor)")
class LinalgSolveExOp(MatrixOp):
    """x with A x = B; the factors and pivots of A; and per matrix 0, or the position (from 1) of a pivot that is 0."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, left: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        require_same_element(a, b)
        own, right = square_matrices(a), shape_of(b)
        if holds_vectors(own, right):
            if not left:
                raise ValueError(f"right sides that are vectors, of shape {list(right)}, stand on the right of a product")
            shape = (*batch_of(a, tensor(element_of(b), (*right, 1))), right[-1])
        else:
            shape = (*batch_of(a, b), *right[-2:])
        rows = shape[-1] if holds_vectors(own, right) or not left else shape[-2]
        if differ(own[-1], rows):
            raise ValueError(f"matrices of shape {list(own)} and right sides of shape {list(right)} do not fit")
        return like(b, shape), like(a), tensor(i32, own[:-1]), tensor(i32, own[:-2])

    @staticmethod
    def numpy(a: Array, b: Array, /, left: bool, check_errors: bool) -> tuple[Array, ...]:
        factors, pivots, info = LinalgLuFactorExOp.numpy(a, check_errors)
        if holds_vectors(a.shape, b.shape):
            found = LinalgLuSolveOp.numpy(factors, pivots, b[..., None], True, False)[..., 0]
        else:
            found = LinalgLuSolveOp.numpy(factors, pivots, b, left, False)
        return found, factors, pivots, info

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, left: bool, check_errors: bool) -> Sequence[SSAValue]:
        factors, pivots, info = aten.linalg_lu_factor_ex.results(a, check_errors=check_errors)
        if holds_vectors(shape_of(a), shape_of(b)):
            found = aten.squeeze.dim(aten.linalg_lu_solve(factors, pivots, aten.unsqueeze(b, -1)), -1)
        else:
            found = aten.linalg_lu_solve(factors, pivots, b, left=left)
        return found, factors, pivots, info


@aten("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)")
class LinalgSolveExInfoOp(MatrixOp):
    """x with A x = B; and per matrix 0, or the position (from 1) of a pivot that is 0."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, left: bool) -> tuple[Tensor, Tensor]:
        found = LinalgSolveExOp.infer(a, b, left)
        return found[0], found[3]

    @staticmethod
    def numpy(a: Array, b: Array, /, left: bool, check_errors: bool) -> tuple[Array, Array]:
        found = LinalgSolveExOp.numpy(a, b, left, check_errors)
        return found[0], found[3]

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, left: bool, check_errors: bool) -> Sequence[SSAValue]:
        found = aten._linalg_solve_ex.results(a, b, left=left, check_errors=check_errors)
        return found[0], found[3]


@aten("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
class LinalgSolveOp(MatrixOp):
    """x with A x = B, or x A = B if not `left`. A singular matrix is an error at run time."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, left: bool) -> Tensor:
        return LinalgSolveExOp.infer(a, b, left)[0]

    @staticmethod
    def numpy(a: Array, b: Array, /, left: bool) -> Array:
        return LinalgSolveExOp.numpy(a, b, left, True)[0]

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, left: bool) -> SSAValue:
        return aten._linalg_solve_ex.results(a, b, left=left, check_errors=True)[0]


@aten("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")
class LinalgInvExOp(MatrixOp):
    """The inverse matrices; and per matrix 0, or the position (from 1) of a pivot that is 0."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor]:
        return like(a, square_matrices(a)), tensor(i32, shape_of(a)[:-2])

    @staticmethod
    def numpy(a: Array, /, check_errors: bool) -> tuple[Array, Array]:
        return LinalgSolveExInfoOp.numpy(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), True, check_errors)

    @staticmethod
    def decompose(a: SSAValue, /, check_errors: bool) -> Sequence[SSAValue]:
        # A batch of vectors may have the shape of one identity.
        found = aten._linalg_solve_ex.results(a, aten.expand(identity_like(a), shape_of(a)), check_errors=check_errors)
        return found[0], found[3]


@aten("linalg_inv(Tensor A) -> Tensor")
@aten("inverse(Tensor self) -> Tensor")
class InverseOp(MatrixOp):
    """The inverse matrices. A singular matrix is an error at run time."""

    @staticmethod
    def infer(a: Tensor, /) -> Tensor:
        return LinalgInvExOp.infer(a)[0]

    @staticmethod
    def numpy(a: Array, /) -> Array:
        return LinalgInvExOp.numpy(a, True)[0]

    @staticmethod
    def decompose(a: SSAValue, /) -> SSAValue:
        return aten.linalg_inv_ex.results(a, check_errors=True)[0]


def parity_of(pivots: Array) -> Array:
    """Returns the determinants of the permutations that pivots describe: -1 for an odd number of exchanges."""
    own = np.cumsum(np.ones_like(pivots), -1)
    return 1 - 2 * (np.not_equal(pivots, own).sum(-1) % 2)


def parity(pivots: SSAValue, element: Any) -> SSAValue:
    """Returns the result of `parity_of` as a value, built detached."""
    own = aten.arange.start_step(1, shape_of(pivots)[-1] + 1, 1, dtype=i32)
    odd = aten.remainder.Scalar(aten.sum.dim_IntList(aten.ne.Tensor(pivots, own), (-1,)), 2)
    return aten._to_copy(aten.rsub.Scalar(aten.mul.Scalar(odd, 2), 1), dtype=element)


@aten("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
class LinalgDetOp(MatrixOp):
    """The determinants, and the factors and pivots of the transposes."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor, Tensor]:
        shape = square_matrices(a)
        return like(a, shape[:-2]), like(a), tensor(i32, shape[:-1])

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, Array, Array]:
        factors, pivots, _ = LinalgLuFactorExOp.numpy(np.swapaxes(a, -1, -2), False)
        product = np.prod(np.diagonal(factors, 0, -2, -1), -1) * parity_of(pivots)
        return np.asarray(product, a.dtype), factors, pivots

    @staticmethod
    def decompose(a: SSAValue, /) -> Sequence[SSAValue]:
        factors, pivots, _ = aten.linalg_lu_factor_ex.results(transposed(a))
        product = aten.prod.dim_int(aten.diagonal(factors, 0, -2, -1), -1)
        return aten.mul.Tensor(product, parity(pivots, element_of(a))), factors, pivots


@aten("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")
class LinalgSlogdetOp(MatrixOp):
    """The signs of the determinants, the logarithms of their absolute values, and the factors and pivots of the transposes."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        found, factors, pivots = LinalgDetOp.infer(a)
        return found, found, factors, pivots

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, Array, Array, Array]:
        factors, pivots, _ = LinalgLuFactorExOp.numpy(np.swapaxes(a, -1, -2), False)
        diagonal = np.diagonal(factors, 0, -2, -1)
        with np.errstate(divide="ignore"):
            logarithm = np.asarray(np.log(np.abs(diagonal)).sum(-1), a.dtype)
        return np.asarray(np.prod(np.sign(diagonal), -1) * parity_of(pivots), a.dtype), logarithm, factors, pivots

    @staticmethod
    def decompose(a: SSAValue, /) -> Sequence[SSAValue]:
        factors, pivots, _ = aten.linalg_lu_factor_ex.results(transposed(a))
        diagonal = aten.diagonal(factors, 0, -2, -1)
        sign = aten.mul.Tensor(aten.prod.dim_int(aten.sgn(diagonal), -1), parity(pivots, element_of(a)))
        return sign, aten.sum.dim_IntList(aten.log(aten.abs(diagonal)), (-1,)), factors, pivots


_TERMS = 20
"""Of the exponential's series, for matrices of a norm up to 1/2: the rest is below the last bit of a double."""


def exponential(a: Array) -> Array:
    """Returns the exponential of a matrix, by its series after halving it often enough, and as many squares."""
    norm = np.abs(a).sum(0).max(initial=0)
    if not np.isfinite(norm):
        return np.full_like(a, np.nan)
    halvings = max(0, int(np.frexp(norm)[1]) + 1)
    small, found = a / 2.0**halvings, np.eye(len(a))
    for k in range(_TERMS, 0, -1):
        found = np.eye(len(a)) + small @ found / k
    for _ in range(halvings):
        found = found @ found
    return found


@aten("linalg_matrix_exp(Tensor self) -> Tensor", keep=True)
class LinalgMatrixExpOp(MatrixOp):
    """The exponentials of square matrices."""

    takes = FLOATS | {f16, bf16}

    @staticmethod
    def infer(a: Tensor, /) -> Tensor:
        return tensor(element_of(a), square_matrices(a))

    @staticmethod
    def numpy(a: Array, /) -> Array:
        return over_batch(exponential, 2, a)
