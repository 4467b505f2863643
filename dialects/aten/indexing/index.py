"""Operators that read or replace the elements at the positions that index tensors select."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import imaginary
from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.indexing.embedding import require_in_range, require_indices, require_long
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import number_for
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.extents import differ, largest, unknown
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, is_float8, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import in_element, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

MASKS = (i1, ui8)
"""Element types of index tensors that are masks over as many dimensions as they have."""


def indexed_shape(shape: Sequence[int], indices: Sequence[Tensor | None]) -> tuple[int, ...]:
    """Returns the shape of `x[indices]`.

    The index tensors broadcast to one shape. If they index neighbouring dimensions, this shape replaces these dimensions; otherwise
    this shape comes first. A mask acts as one index tensor of unknown length for each dimension that it covers. There is one mask at
    most, and other index tensors beside a mask have one dimension at most. Raises IndexError, ValueError, TypeError.
    """
    places: list[tuple[int, ...] | None] = []
    given = [index for index in indices if index is not None]
    masks = sum(element_of(index) in MASKS for index in given)
    if masks > 1 or (masks and any(element_of(index) not in MASKS and len(shape_of(index)) > 1 for index in given)):
        raise ValueError(
            "there may be one mask, and beside it index tensors of one dimension at most: give `mask.nonzero(as_tuple=True)` instead"
        )
    for index in indices:
        if index is None:
            places.append(None)
        elif element_of(index) in MASKS:
            covered = shape[len(places) : len(places) + len(shape_of(index))]
            if any(map(differ, shape_of(index), covered)):
                raise IndexError(f"a mask of shape {list(shape_of(index))} does not fit the dimensions {list(covered)}")
            places += [(unknown(0, largest(math.prod(shape_of(index)))),)] * len(shape_of(index))
        elif element_of(index) in (i32, i64):
            places.append(shape_of(index))
        else:
            raise TypeError(f"an index tensor must be of int32, int64 or bool, got {dtype_of(element_of(index)).torch}")
    if len(places) > len(shape):
        raise IndexError(f"{len(places)} indices are too many for {len(shape)} dimensions")
    places += [None] * (len(shape) - len(places))
    chosen = [dim for dim, place in enumerate(places) if place is not None]
    if not chosen:
        raise ValueError("there must be an index tensor")
    result = broadcast(*(place for place in places if place is not None))
    kept = [extent for extent, place in zip(shape, places, strict=True) if place is None]
    front = chosen[0] if chosen[-1] - chosen[0] + 1 == len(chosen) else 0
    return (*kept[:front], *result, *kept[front:])


def numpy_index(indices: Sequence[Array | None]) -> Any:
    """Returns the indices as numpy takes them: a slice for each whole dimension, and masks of bools."""
    return tuple(slice(None) if index is None else index.astype(np.bool_) if index.dtype == np.uint8 else index for index in indices)


@aten("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", core=True)
class IndexTensorOp(SchemaOp):
    """The elements at the positions that index tensors select, as in numpy; a dimension without an index tensor stays whole."""

    stores = True
    looks_up = True

    @staticmethod
    def infer(x: Tensor, /, indices: list[Tensor | None]) -> Tensor:
        return tensor(element_of(x), indexed_shape(shape_of(x), indices))

    @staticmethod
    def numpy(x: Array, /, indices: list[Array | None]) -> Array:
        return np.asarray(x[numpy_index(indices)])

    @staticmethod
    def on_parts(x: Parts, /, indices: list[SSAValue | None]) -> SSAValue:
        # Masks give a size that only the run knows, and that two results would not be known to share.
        return aten.view_as_complex(aten.index.Tensor(aten.stack([x.real, imaginary(x)], -1), indices))


@aten("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
class UnsafeIndexTensorOp(SchemaOp):
    """`index` for indices that are known to be in range."""

    stores = True
    infer = staticmethod(IndexTensorOp.infer)
    numpy = staticmethod(IndexTensorOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /, indices: list[SSAValue | None]) -> SSAValue:
        return aten.index.Tensor(x, indices)


@aten("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", core=True)
class IndexPutOp(PartwiseOp):
    """The tensor with `values` at the positions that index tensors select; with `accumulate`, `values` are added to the elements there."""

    stores = True
    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, /, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
        if accumulate and is_float8(element_of(x)):
            raise TypeError(f"no sums are made in {dtype_of(element_of(x)).torch}: convert the tensors first")
        if element_of(x) != element_of(values):
            raise TypeError(f"values must have the element type {dtype_of(element_of(x)).torch} of the tensor")
        places = indexed_shape(shape_of(x), indices)
        if len(shape_of(values)) > len(places):
            raise ValueError(f"values {list(shape_of(values))} have more dimensions than what they replace, {list(places)}")
        common = broadcast(shape_of(values), places)
        if differ(math.prod(common), math.prod(places)):
            raise ValueError(f"values {list(shape_of(values))} do not broadcast to {list(places)}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, indices: list[Array | None], values: Array, accumulate: bool) -> Array:
        if not accumulate:
            result = x.copy()
            result[numpy_index(indices)] = values
            return result
        wide = widened(x).copy()
        np.add.at(wide, numpy_index(indices), widened(values))
        return wide.astype(x.dtype)


@aten("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
class UnsafeIndexPutOp(SchemaOp):
    """`index_put` for indices that are known to be in range."""

    stores = True
    infer = staticmethod(IndexPutOp.infer)
    numpy = staticmethod(IndexPutOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /, indices: list[SSAValue | None], values: SSAValue, accumulate: bool) -> SSAValue:
        return aten.index_put(x, indices, values, accumulate)


@aten("_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor")
class IndexPutImplOp(UnsafeIndexPutOp):
    """`index_put` with an argument `unsafe`: whether the indices are known to be in range."""


def vector_length(index: Tensor) -> int:
    """Returns the number of indices of a vector or a 0-d tensor. Raises ValueError, TypeError."""
    require_indices(index)
    if len(shape_of(index)) > 1:
        raise ValueError(f"index must be a vector, got shape {list(shape_of(index))}")
    return shape_of(index)[0] if shape_of(index) else 1


def vector_indices(x: SSAValue, dim: int, index: SSAValue) -> list[SSAValue | None]:
    """Returns the argument `indices` of `index_put` that selects the entries `index` of dimension `dim`."""
    return [*[None] * normalize_dim(dim, len(shape_of(x))), view(index, (-1,) if not shape_of(index) else shape_of(index))]


def check_source(x: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Raises ValueError unless the source has one entry of dimension `dim` per index."""
    shape = shape_of(x)
    if not shape:
        raise ValueError("a 0-d tensor has no dimension to index")
    dim = normalize_dim(dim, len(shape))
    expected = (*shape[:dim], vector_length(index), *shape[dim + 1 :])
    if shape_of(source) != expected:
        raise ValueError(f"source must have shape {list(expected)}, got {list(shape_of(source))}")


@aten("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")
class IndexAddOp(SchemaOp):
    """The tensor with alpha times the entries of `source` added to the entries of dimension `dim` at the indices in a vector."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, source: Tensor) -> Tensor:
        require_same_element(x, source)
        check_source(x, dim, index, source)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, source: Array, alpha: float) -> Array:
        require_in_range(index, x.shape[dim])
        wide = widened(x).copy()
        np.add.at(np.moveaxis(wide, dim, 0), index.reshape(-1), np.moveaxis(widened(source), dim, 0) * wide.dtype.type(alpha))
        return wide.astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, source: SSAValue, alpha: float) -> SSAValue:
        scaled = source if alpha == 1 else aten.mul.Scalar(source, in_element(alpha, element_of(x)))
        return aten.index_put(x, vector_indices(x, dim, index), scaled, True)


@aten("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor")
class IndexCopyOp(SchemaOp):
    """The tensor with the entries of dimension `dim` at the indices in a vector replaced by the entries of `source`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, source: Tensor) -> Tensor:
        require_long(index)
        return IndexAddOp.infer(x, dim, index, source)

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, source: Array) -> Array:
        require_in_range(index, x.shape[dim])
        result = x.copy()
        np.moveaxis(result, dim, 0)[index.reshape(-1)] = np.moveaxis(source, dim, 0)
        return result

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, source: SSAValue) -> SSAValue:
        return aten.index_put(x, vector_indices(x, dim, index), source)


@aten("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")
class IndexFillIntScalarOp(SchemaOp):
    """The tensor with the entries of dimension `dim` at the indices in a vector filled with a number."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor) -> Tensor:
        require_long(index)
        vector_length(index)
        normalize_dim(dim, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, value: float) -> Array:
        result = np.atleast_1d(x).copy()
        np.moveaxis(result, dim, 0)[index.reshape(-1)] = value
        return result.reshape(x.shape)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, value: float) -> SSAValue:
        line = x if shape_of(x) else aten.unsqueeze(x, 0)
        found = aten.index_put(line, vector_indices(line, dim, index), number_for(value, element_of(x)))
        return found if shape_of(x) else aten.squeeze.dim(found, 0)
