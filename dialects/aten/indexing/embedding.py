"""Operators that look up rows of a table by index."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.extents import differ, provably_equal, unknown
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def require_indices(indices: Tensor) -> None:
    """Raises TypeError unless the elements are int32 or int64."""
    if element_of(indices) not in (i32, i64):
        raise TypeError(f"indices must be int32 or int64, got {dtype_of(element_of(indices)).torch}")


def require_long(indices: Tensor) -> None:
    """Raises TypeError unless the elements are int64."""
    if element_of(indices) != i64:
        raise TypeError(f"indices must be int64, got {dtype_of(element_of(indices)).torch}")


def require_rows(shape: Sequence[int], dim: int, count: int) -> None:
    """Raises ValueError when `count` entries are chosen along a dimension that has none."""
    if shape and provably_equal(shape[dim], 0) and differ(count, 0):
        raise ValueError(f"dimension {dim} of shape {list(shape)} has no entries to choose")


def require_in_range(indices: Array, extent: int) -> None:
    """Raises IndexError when an index is negative or too large."""
    outside = (indices < 0) | (indices >= extent)
    if outside.any():
        raise IndexError(f"index {indices[outside].flat[0]} is out of range for {extent} entries")


@aten(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    core=True,
)
class EmbeddingOp(SchemaOp):
    """The rows of `weight` at `indices`: [*indices.shape, features]."""

    stores = True
    looks_up = True

    @staticmethod
    def infer(weight: Tensor, indices: Tensor) -> Tensor:
        require_indices(indices)
        shape = shape_of(weight)
        if len(shape) != 2:
            raise ValueError(f"weight must have 2 dimensions, got shape {list(shape)}")
        require_rows(shape, 0, math.prod(shape_of(indices)))
        return tensor(element_of(weight), (*shape_of(indices), shape[1]))

    @staticmethod
    def numpy(weight: Array, indices: Array) -> Array:
        require_in_range(indices, weight.shape[0])
        return weight[indices]


@aten("one_hot(Tensor self, int num_classes=-1) -> Tensor")
class OneHotOp(SchemaOp):
    """The one-hot encoding of each element in a new last dimension: 1 at the index that the element holds, 0 elsewhere."""

    @staticmethod
    def infer(x: Tensor, /, num_classes: int) -> Tensor:
        if element_of(x) != i64:
            raise TypeError(f"one_hot takes int64 numbers, got {dtype_of(element_of(x)).torch}")
        # Without a number of classes it depends on the content.
        return tensor(i64, (*shape_of(x), unknown() if num_classes == -1 else num_classes))

    @staticmethod
    def numpy(x: Array, /, num_classes: int) -> Array:
        count = int(x.max()) + 1 if num_classes == -1 else num_classes
        require_in_range(x, count)
        return (x[..., None] == np.arange(count)).astype(np.int64)

    @staticmethod
    def decompose(x: SSAValue, /, num_classes: int) -> SSAValue:
        if num_classes == -1:
            raise ValueError("one_hot needs num_classes: without it the shape depends on the content")
        hot = aten.eq.Tensor(aten.unsqueeze(x, -1), aten.arange.start_step(0, num_classes, 1, dtype=i64))
        return to_element(hot, i64)
