"""Pseudo-inverses of matrices, from singular values, or from eigenvalues for symmetric matrices."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.matrices import MatrixOp, like, matrices, square_matrices, transposed
from flambeau.dialects.aten.library.numerics import element_of_array
from flambeau.dialects.aten.linear_algebra.spectral import LinalgEighOp, LinalgSvdOp
from flambeau.dialects.ir.extents import is_known, maximum
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, may_equal, shape_of, tensor_type
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np

EPSILON: dict[Attribute, float] = {f32: 2.0**-23, f64: 2.0**-52}
"""The distance from 1 to the next number."""


def inverted_type(a: Tensor, hermitian: bool) -> Tensor:
    """Returns the type of the pseudo-inverses."""
    *batch, rows, columns = square_matrices(a) if hermitian else matrices(a)
    return like(a, (*batch, columns, rows))


def precision(a: Tensor) -> SSAValue:
    """Returns how small a value may be next to the largest one, unless a program says it: what rounding errors make of 0."""
    return aten.mul.Scalar(aten.full((), maximum(*shape_of(a)[-2:]), element_of(a)), EPSILON[element_of(a)])


def limit_of(a: Tensor, greatest: SSAValue, atol: SSAValue | float | None, rtol: SSAValue | float | None) -> SSAValue:
    """Returns the size above which values are inverted."""
    if rtol is None and isinstance(atol, SSAValue):
        rtol = aten.mul.Tensor(aten.to.dtype(aten.le.Scalar(atol, 0), element_of(a)), precision(a))
    elif rtol is None:
        rtol = 0.0 if atol else precision(a)
    if isinstance(rtol, SSAValue):
        limit = aten.mul.Tensor(aten.unsqueeze(rtol, -1), greatest)
    else:
        limit = aten.mul.Scalar(greatest, rtol)
    if isinstance(atol, SSAValue):
        return aten.maximum(aten.unsqueeze(atol, -1), limit)
    return aten.clamp(limit, atol) if atol else limit


def pseudo_inverse(a: SSAValue, atol: SSAValue | float | None, rtol: SSAValue | float | None, hermitian: bool) -> SSAValue:
    """Returns the pseudo-inverses, where values up to a tolerance count as 0."""
    own = tensor_type(a)
    if any(is_known(extent) and extent == 0 for extent in shape_of(own)):
        return aten.zeros(shape_of(inverted_type(own, hermitian)), dtype=element_of(own))
    if hermitian:
        values, left = aten._linalg_eigh.results(a)
        right = transposed(left)
    else:
        left, values, right = aten._linalg_svd.results(a)
    sizes = aten.abs(values)
    limit = limit_of(own, aten.amax(sizes, (-1,), True), atol, rtol)
    inverses = aten.where.ScalarOther(aten.gt.Tensor(sizes, limit), aten.reciprocal(values), 0)
    return aten.matmul(transposed(right), aten.mul.Tensor(aten.unsqueeze(inverses, -1), transposed(left)))


def inverted(a: Array, atol: Array | float | None, rtol: Array | float | None, hermitian: bool) -> Array:
    """Returns the pseudo-inverses, as `pseudo_inverse`."""
    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    if not a.size:
        return np.zeros(shape, a.dtype)
    if hermitian:
        values, left = LinalgEighOp.numpy(a, "L", True)
        right = np.swapaxes(left, -1, -2)
    else:
        left, values, right = LinalgSvdOp.numpy(a, False, True)
    if rtol is None:
        eps = EPSILON[element_of_array(a)] * max(a.shape[-2:])
        rtol = np.where(np.asarray(0 if atol is None else atol) > 0, 0, eps)
    sizes = np.abs(values)
    limit = np.maximum(np.asarray(0 if atol is None else atol)[..., None], np.asarray(rtol)[..., None] * sizes.max(-1, keepdims=True))
    with np.errstate(all="ignore"):
        inverses = np.where(sizes > limit, 1 / values.astype(np.float64), 0)
    found = np.swapaxes(right, -1, -2) @ (inverses[..., None] * np.swapaxes(left, -1, -2))
    return found.astype(a.dtype)


@aten("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor")
class LinalgPinvOp(MatrixOp):
    """The pseudo-inverses, where values up to `atol`, or up to `rtol` times the largest, count as 0."""

    @staticmethod
    def infer(a: Tensor, atol: Tensor | None, rtol: Tensor | None, /, hermitian: bool) -> Tensor:
        found = inverted_type(a, hermitian)
        for limit in (atol, rtol):
            if limit is not None and not may_equal(broadcast(shape_of(limit), shape_of(a)[:-2]), shape_of(a)[:-2]):
                raise ValueError(f"tolerances of shape {list(shape_of(limit))} do not fit to matrices of shape {list(shape_of(a))}")
        return found

    @staticmethod
    def numpy(a: Array, atol: Array | None, rtol: Array | None, /, hermitian: bool) -> Array:
        return inverted(a, atol, rtol, hermitian)

    @staticmethod
    def decompose(a: SSAValue, atol: SSAValue | None, rtol: SSAValue | None, /, hermitian: bool) -> SSAValue:
        return pseudo_inverse(a, atol, rtol, hermitian)


@aten("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor")
class LinalgPinvFloatOp(MatrixOp):
    """The pseudo-inverses, where values up to `atol`, or up to `rtol` times the largest, count as 0."""

    @staticmethod
    def infer(a: Tensor, /, hermitian: bool) -> Tensor:
        return inverted_type(a, hermitian)

    @staticmethod
    def numpy(a: Array, /, atol: float | None, rtol: float | None, hermitian: bool) -> Array:
        return inverted(a, atol, rtol, hermitian)

    @staticmethod
    def decompose(a: SSAValue, /, atol: float | None, rtol: float | None, hermitian: bool) -> SSAValue:
        return pseudo_inverse(a, atol, rtol, hermitian)


@aten("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
@aten("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor")
class PinverseOp(MatrixOp):
    """The pseudo-inverses, where values up to `rcond` times the largest count as 0."""

    @staticmethod
    def infer(a: Tensor, /, hermitian: bool = False) -> Tensor:
        return inverted_type(a, hermitian)

    @staticmethod
    def numpy(a: Array, /, rcond: float, hermitian: bool = False) -> Array:
        return inverted(a, None, rcond, hermitian)

    @staticmethod
    def decompose(a: SSAValue, /, rcond: float, hermitian: bool = False) -> SSAValue:
        return pseudo_inverse(a, None, rcond, hermitian)
