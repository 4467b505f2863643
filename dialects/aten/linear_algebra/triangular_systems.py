"""Systems of linear equations whose matrix is triangular."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.matrices import MatrixOp, batch_of, like, matrices, over_batch, square_matrices, transposed
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, shape_of
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


def solution_of_triangle(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Returns X with a x = b, one row after the other."""
    x = b.copy()
    for i in range(len(a))[:: -1 if upper else 1]:
        x[i] -= a[i, i + 1 :] @ x[i + 1 :] if upper else a[i, :i] @ x[:i]
        x[i] /= 1.0 if unit else a[i, i]
    return x


@aten(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    keep=True,
)
class LinalgSolveTriangularOp(MatrixOp):
    """x with A x = B, or x A = B if not `left`; only one triangle of A is read, and with `unitriangular` a diagonal of ones is assumed."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, left: bool) -> Tensor:
        require_same_element(a, b)
        own, shape = square_matrices(a), matrices(b)
        if differ(own[-1], shape[-2 if left else -1]):
            raise ValueError(f"matrices of shape {list(own)} and right sides of shape {list(shape)} do not fit")
        return like(b, (*batch_of(a, b), *shape[-2:]))

    @staticmethod
    def numpy(a: Array, b: Array, /, upper: bool, left: bool, unitriangular: bool) -> Array:
        def solved(a: Array, b: Array) -> Array:
            if left:
                return solution_of_triangle(a, b, upper, unitriangular)
            return solution_of_triangle(a.T, b.T, not upper, unitriangular).T

        return over_batch(solved, 2, a, b)


@aten("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor, Tensor)")
class TriangularSolveOp(MatrixOp):
    """x with A x = B, and a copy of A; only one triangle of A is read."""

    @staticmethod
    def infer(b: Tensor, a: Tensor, /) -> tuple[Tensor, Tensor]:
        found = LinalgSolveTriangularOp.infer(a, b, True)
        return found, like(a, (*shape_of(found)[:-2], *shape_of(a)[-2:]))

    @staticmethod
    def numpy(b: Array, a: Array, /, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Array, Array]:
        of = np.swapaxes(a, -1, -2) if transpose else a
        found = LinalgSolveTriangularOp.numpy(of, b, upper != transpose, True, unitriangular)
        return found, np.array(np.broadcast_to(a, (*found.shape[:-2], *a.shape[-2:])))

    @staticmethod
    def decompose(b: SSAValue, a: SSAValue, /, upper: bool, transpose: bool, unitriangular: bool) -> Sequence[SSAValue]:
        of = transposed(a) if transpose else a
        found = aten.linalg_solve_triangular(of, b, upper=upper != transpose, unitriangular=unitriangular)
        return found, aten.clone(aten.expand(a, (*shape_of(found)[:-2], *shape_of(a)[-2:])))
