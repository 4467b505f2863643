"""Eigenvalues and singular values of matrices, with their vectors, which are determined up to a sign or a phase."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.matrices import MatrixOp, like, matrices, square_matrices
from flambeau.dialects.aten.library.numerics import element_of_array
from flambeau.dialects.ir.extents import minimum
from flambeau.dialects.ir.tensor_types import Tensor, complex_of, element_of, numpy_dtype, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


def finite(x: Array) -> Array:
    """Returns the matrices in double precision. Raises ValueError for NaN and infinities, with which no algorithm converges."""
    if not np.isfinite(x).all():
        raise ValueError("the algorithm does not converge: the matrix holds NaN or infinite numbers")
    return x.astype(np.float64)


@aten('_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)', keep=True)
class LinalgEighOp(MatrixOp):
    """The eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns; only one triangle is read."""

    @staticmethod
    def infer(a: Tensor, /, UPLO: str, compute_v: bool) -> tuple[Tensor, Tensor]:
        if UPLO.upper() not in ("L", "U"):
            raise ValueError(f'UPLO must be "L" or "U", got {UPLO!r}')
        shape = square_matrices(a)
        return like(a, shape[:-1]), like(a, shape if compute_v else (0,))

    @staticmethod
    def numpy(a: Array, /, UPLO: str, compute_v: bool) -> tuple[Array, Array]:
        upper = UPLO.upper() == "U"
        values, vectors = np.linalg.eigh(finite((np.triu if upper else np.tril)(a)), "U" if upper else "L")
        return values.astype(a.dtype), vectors.astype(a.dtype) if compute_v else np.zeros(0, a.dtype)


@aten(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    keep=True,
)
class LinalgSvdOp(MatrixOp):
    """U, S and Vh with A = U diag(S) Vh, orthonormal columns of U and rows of Vh, and descending S; `driver` is ignored."""

    @staticmethod
    def infer(a: Tensor, /, full_matrices: bool, compute_uv: bool, driver: str | None) -> tuple[Tensor, Tensor, Tensor]:
        if driver is not None:
            raise ValueError(f"driver must be None: PyTorch takes {driver!r} on CUDA devices only")
        *batch, rows, columns = matrices(a)
        least = minimum(rows, columns)
        left = (*batch, rows, rows if full_matrices else least)
        right = (*batch, columns if full_matrices else least, columns)
        return like(a, left if compute_uv else (0,)), like(a, (*batch, least)), like(a, right if compute_uv else (0,))

    @staticmethod
    def numpy(a: Array, /, full_matrices: bool, compute_uv: bool) -> tuple[Array, Array, Array]:
        left, values, right = np.linalg.svd(finite(a), full_matrices)
        nothing = np.zeros(0, a.dtype)
        return left.astype(a.dtype) if compute_uv else nothing, values.astype(a.dtype), right.astype(a.dtype) if compute_uv else nothing


@aten("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", keep=True)
class LinalgEigOp(MatrixOp):
    """The eigenvalues of square matrices, in any order, and the eigenvectors, of length 1, as columns; both are complex."""

    @staticmethod
    def infer(a: Tensor, /) -> tuple[Tensor, Tensor]:
        shape = square_matrices(a)
        like(a)
        return tensor(complex_of(element_of(a)), shape[:-1]), tensor(complex_of(element_of(a)), shape)

    @staticmethod
    def numpy(a: Array, /) -> tuple[Array, Array]:
        values, vectors = np.linalg.eig(finite(a))
        kind = numpy_dtype(complex_of(element_of_array(a)))
        return values.astype(kind), vectors.astype(kind)


@aten("_linalg_eigvals(Tensor self) -> Tensor")
@aten("linalg_eigvals(Tensor self) -> Tensor")
class LinalgEigvalsOp(MatrixOp):
    """The eigenvalues of square matrices, in any order, which are complex."""

    @staticmethod
    def infer(a: Tensor, /) -> Tensor:
        return LinalgEigOp.infer(a)[0]

    @staticmethod
    def numpy(a: Array, /) -> Array:
        return LinalgEigOp.numpy(a)[0]

    @staticmethod
    def decompose(a: SSAValue, /) -> SSAValue:
        return aten.linalg_eig.results(a)[0]
