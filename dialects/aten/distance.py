"""Distances between vectors."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.matmul import common_element
from flambeau.dialects.aten.norm import require_float
from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.lazy import Array, np
from flambeau.dialects.row import SchemaOp, aten
from flambeau.dialects.types import Tensor, broadcast, element_of, shape_of, tensor


def norms(difference: Array, p: float) -> Array:
    """The p-norms over the last dimension; for p = 0 the number of entries that are not 0."""
    distance = np.abs(difference)
    if p == 0:
        return np.sum(distance != 0, axis=-1).astype(distance.dtype)
    if p == float("inf"):
        return np.max(distance, axis=-1, initial=0)
    return np.power(np.sum(np.power(distance, p), axis=-1), 1 / p).astype(distance.dtype)


@aten("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", core=True)
class CdistForwardOp(SchemaOp):
    """The p-norm distance of each row of x1 from each row of x2; further dimensions are batches that broadcast."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, p: float, compute_mode: int | None) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-1]:
            raise ValueError(f"shapes {list(left)} and {list(right)} must have at least 2 dimensions and the same number of columns")
        if p < 0:
            raise ValueError(f"p must not be negative, got {p}")
        require_float(a)
        return tensor(common_element(a, b), (*broadcast(left[:-2], right[:-2]), left[-2], right[-2]))

    @staticmethod
    def numpy(a: Array, b: Array, p: float, compute_mode: int | None) -> Array:
        return norms(widened(a)[..., :, None, :] - widened(b)[..., None, :, :], p).astype(a.dtype)


@aten("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor")
class CdistOp(SchemaOp):
    """As `_cdist_forward`."""

    infer = CdistForwardOp.infer
    numpy = CdistForwardOp.numpy

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, p: float, compute_mode: int | None) -> SSAValue:
        return CdistForwardOp(a, b, p, compute_mode).result


@aten("_pdist_forward(Tensor self, float p=2.) -> Tensor", core=True)
class PdistForwardOp(SchemaOp):
    """The p-norm distances of each row from each later one, in one dimension."""

    @staticmethod
    def infer(x: Tensor, p: float) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 2:
            raise ValueError(f"input must have 2 dimensions, got shape {list(shape)}")
        require_float(x)
        return tensor(element_of(x), (shape[0] * (shape[0] - 1) // 2,))

    @staticmethod
    def numpy(x: Array, p: float) -> Array:
        first, second = np.triu_indices(x.shape[0], 1)
        wide = widened(x)
        return norms(wide[first] - wide[second], p).astype(x.dtype)


@aten("pdist(Tensor self, float p=2.) -> Tensor")
class PdistOp(SchemaOp):
    """As `_pdist_forward`."""

    infer = PdistForwardOp.infer
    numpy = PdistForwardOp.numpy

    @staticmethod
    def decompose(x: SSAValue, p: float) -> SSAValue:
        return PdistForwardOp(x, p).result
