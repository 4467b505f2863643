"""Operators that read the elements at given indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.indexing.embedding import require_in_range, require_indices, require_long, require_rows
from flambeau.dialects.aten.indexing.index import vector_length
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("index_select(Tensor self, int dim, Tensor index) -> Tensor", core=True)
class IndexSelectOp(PartwiseOp):
    """The entries of dimension `dim` at the indices in a vector."""

    stores = True
    looks_up = True

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor) -> Tensor:
        shape = shape_of(x)
        dim, length = normalize_dim(dim, len(shape)), vector_length(index)
        require_rows(shape, dim, length)
        return tensor(element_of(x), (*shape[:dim], length, *shape[dim + 1 :]) if shape else ())

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array) -> Array:
        flat = x.reshape(x.shape or (1,))
        require_in_range(index, flat.shape[dim])
        result = np.take(flat, index.reshape(-1), dim)
        return result if x.ndim else result.reshape(())


@aten("take(Tensor self, Tensor index) -> Tensor")
class TakeOp(SchemaOp):
    """The elements at the given indices of the flattened tensor, in the shape of `index`."""

    @staticmethod
    def infer(x: Tensor, /, index: Tensor) -> Tensor:
        require_long(index)
        return tensor(element_of(x), shape_of(index))

    @staticmethod
    def numpy(x: Array, /, index: Array) -> Array:
        return np.asarray(x.reshape(-1)[index])

    @staticmethod
    def decompose(x: SSAValue, /, index: SSAValue) -> SSAValue:
        return aten.index.Tensor(view(x, (math.prod(shape_of(x)),)), [index])


def check_gathered(shape: Sequence[int], dim: int, index: Tensor) -> None:
    """Raises ValueError when an index tensor is larger than the tensor outside dimension `dim`."""
    require_indices(index)
    dim = normalize_dim(dim, len(shape))
    own, other = tuple(shape) or (1,), shape_of(index) or (1,)
    if len(own) != len(other):
        raise ValueError(f"index {list(other)} must have as many dimensions as the tensor {list(own)}")
    if any(exceeds(a, b) for axis, (a, b) in enumerate(zip(other, own, strict=True)) if axis != dim):
        raise ValueError(f"index {list(other)} is larger than the tensor {list(own)} outside dimension {dim}")


@aten("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", core=True)
class GatherOp(PartwiseOp):
    """Element [i, j, …] of the result is the operand's element at [i, j, …] with coordinate `dim` replaced by index[i, j, …]."""

    looks_up = True

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor) -> Tensor:
        check_gathered(shape_of(x), dim, index)
        return tensor(element_of(x), shape_of(index))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array) -> Array:
        own, places = x.reshape(x.shape or (1,)), index.reshape(index.shape or (1,))
        axis = normalize_dim(dim, own.ndim)
        require_in_range(places, own.shape[axis])
        return own[places_along(places, axis)].reshape(index.shape)


def places_along(index: Array, dim: int) -> tuple[Array, ...]:
    """Returns the coordinates that an index tensor of full rank means: its values along `dim`, its own places elsewhere."""
    grid = np.ogrid[tuple(slice(extent) for extent in index.shape)]
    return tuple(index if axis == dim else places for axis, places in enumerate(grid))


@aten("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
class TakeAlongDimOp(SchemaOp):
    """`gather` with operands broadcast outside of `dim`; negative indices count from the end. Without `dim`, tensors are flattened."""

    @staticmethod
    def shapes(own: tuple[int, ...], other: tuple[int, ...], dim: int | None) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Returns the shapes of both operands for `gather`, and its dimension. Raises ValueError."""
        if dim is None:
            return (math.prod(own),), (math.prod(other),), 0
        axis = normalize_dim(dim, len(own))
        common = broadcast((*own[:axis], 1, *own[axis + 1 :]), (*other[:axis], 1, *other[axis + 1 :]))
        return (*common[:axis], own[axis], *common[axis + 1 :]), (*common[:axis], other[axis], *common[axis + 1 :]), axis

    @staticmethod
    def infer(x: Tensor, /, indices: Tensor, dim: int | None) -> Tensor:
        (require_indices if dim is None else require_long)(indices)
        if dim is not None and len(shape_of(x)) != len(shape_of(indices)):
            raise ValueError(f"indices {list(shape_of(indices))} must have as many dimensions as the tensor {list(shape_of(x))}")
        return tensor(element_of(x), TakeAlongDimOp.shapes(shape_of(x), shape_of(indices), dim)[1])

    @staticmethod
    def numpy(x: Array, /, indices: Array, dim: int | None) -> Array:
        own, other, axis = TakeAlongDimOp.shapes(x.shape, indices.shape, dim)
        if dim is None:
            return np.take(x.reshape(-1), indices.reshape(-1))
        return np.take_along_axis(np.broadcast_to(x, own), np.broadcast_to(indices % max(own[axis], 1), other), axis)

    @staticmethod
    def decompose(x: SSAValue, /, indices: SSAValue, dim: int | None) -> SSAValue:
        own, other, axis = TakeAlongDimOp.shapes(shape_of(x), shape_of(indices), dim)
        if dim is None:
            return aten.gather(view(x, own), 0, view(indices, other))
        return aten.gather(expand(x, own), axis, expand(aten.remainder.Scalar(indices, own[axis]), other))
