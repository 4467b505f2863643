"""Distances between vectors."""

from __future__ import annotations

from flambeau.dialects.aten.reductions.vector_norm import vector_norm
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def require_order(p: float) -> None:
    """Raises ValueError for an order of a distance that is negative or NaN."""
    if not p >= 0:
        raise ValueError(f"p must not be negative, got {p}")


class PairwiseOp(SchemaOp):
    """The distances of order p between each row of a and each row of b; leading dimensions are batches that broadcast."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, p: float = 2) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-1]:
            raise ValueError(f"shapes {list(left)} and {list(right)} must have at least 2 dimensions and the same number of columns")
        if element_of(a) != element_of(b):
            raise TypeError(f"both operands must have one element type, got {element_of(a)} and {element_of(b)}")
        require_order(p)
        require_category("a distance", a, b, at_least=2)
        return tensor(element_of(a), (*broadcast(left[:-2], right[:-2]), left[-2], right[-2]))

    @staticmethod
    def numpy(a: Array, b: Array, /, p: float) -> Array:
        return vector_norm(a[..., :, None, :] - b[..., None, :, :], p, -1, False, None)


@aten("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", core=True)
class CdistForwardOp(PairwiseOp):
    """The distances of order p between each row of a and each row of b."""


class RowDistancesOp(SchemaOp):
    """The distances of order p between the rows of a matrix, as a vector with each pair of rows once."""

    @staticmethod
    def infer(x: Tensor, /, p: float = 2) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 2:
            raise ValueError(f"the tensor must be a matrix, got shape {list(shape)}")
        require_order(p)
        require_category("a distance", x, at_least=2)
        return tensor(element_of(x), (shape[0] * (shape[0] - 1) // 2,))

    @staticmethod
    def numpy(x: Array, /, p: float) -> Array:
        first, second = np.triu_indices(x.shape[0], 1)
        return vector_norm(x[first] - x[second], p, -1, False, None)


@aten("_pdist_forward(Tensor self, float p=2.) -> Tensor", core=True)
class PdistForwardOp(RowDistancesOp):
    """The distances of order p between the rows of a matrix, as a vector with each pair of rows once; p is 2 by default."""
