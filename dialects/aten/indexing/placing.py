"""Operators that put or reduce elements at given indices, list indices in a fixed size, or resize."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.indexing.embedding import require_indices, require_long
from flambeau.dialects.aten.indexing.scatter import ScatterReduceTwoOp
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.aten.movement.select import AsStridedOp
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import require_category, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
class PutOp(SchemaOp):
    """The tensor with the elements of `source` put at, or with `accumulate` added to, the flat indices in `index`."""

    @staticmethod
    def infer(x: Tensor, /, index: Tensor, source: Tensor) -> Tensor:
        require_long(index)
        require_same_element(x, source)
        if differ(math.prod(shape_of(index)), math.prod(shape_of(source))):
            raise ValueError(f"index {list(shape_of(index))} and source {list(shape_of(source))} must have as many elements")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, index: Array, source: Array, accumulate: bool) -> Array:
        flat: Array = x.reshape(-1).copy()
        if accumulate:
            np.add.at(flat, index.reshape(-1), source.reshape(-1))
        else:
            flat[index.reshape(-1)] = source.reshape(-1)
        return np.asarray(flat.reshape(x.shape))

    @staticmethod
    def decompose(x: SSAValue, /, index: SSAValue, source: SSAValue, accumulate: bool) -> SSAValue:
        flat, places, values = (view(part, (math.prod(shape_of(part)),)) for part in (x, index, source))
        return view(aten.index_put(flat, [places], values, accumulate), shape_of(x))


@aten("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor")
class IndexReduceOp(SchemaOp):
    """The tensor with the prod, mean, amax or amin of the entries of `source` that the index brings to each entry of dimension `dim`."""

    @staticmethod
    def places(source: Sequence[int], dim: int) -> tuple[int, ...]:
        """Returns the shape of an index beside a source."""
        return tuple(size if axis == normalize_dim(dim, len(source)) else 1 for axis, size in enumerate(source))

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, source: Tensor, reduce: str) -> Tensor:
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise ValueError(f'reduce must be prod, mean, amax or amin, got "{reduce}"')
        require_category("a reduction by an index", x, at_least=1, at_most=2)
        require_indices(index)
        if len(shape_of(index)) > 1:
            raise ValueError(f"the index must have one dimension, got {len(shape_of(index))}")
        own, other = shape_of(x) or (1,), shape_of(source) or (1,)
        axis = normalize_dim(dim, len(own))
        if len(own) != len(other) or any(differ(a, b) for place, (a, b) in enumerate(zip(own, other, strict=True)) if place != axis):
            raise ValueError(f"source {list(other)} must have the shape {list(own)} of the tensor outside of dimension {axis}")
        if differ(math.prod(shape_of(index)), other[axis]):
            raise ValueError(f"the index has {math.prod(shape_of(index))} entries, and dimension {axis} of the source {other[axis]}")
        require_same_element(x, source)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, source: Array, reduce: str, include_self: bool) -> Array:
        entries = np.atleast_1d(source)
        places = np.broadcast_to(index.reshape(IndexReduceOp.places(entries.shape, dim)), entries.shape)
        found = ScatterReduceTwoOp.numpy(np.atleast_1d(x), dim, places, entries, reduce, include_self)
        return found.reshape(x.shape)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, source: SSAValue, reduce: str, include_self: bool) -> SSAValue:
        line, entries = (part if shape_of(part) else view(part, (1,)) for part in (x, source))
        shape = shape_of(entries)
        places = expand(view(index, IndexReduceOp.places(shape, dim)), shape)
        return view(aten.scatter_reduce.two(line, dim, places, entries, reduce, include_self=include_self), shape_of(x))


@aten("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor")
class NonzeroStaticOp(SchemaOp):
    """The coordinates of the first `size` elements that are not 0, one row per element; surplus rows hold `fill_value`."""

    @staticmethod
    def infer(x: Tensor, /, size: int) -> Tensor:
        return tensor(i64, (size, len(shape_of(x))))

    @staticmethod
    def numpy(x: Array, /, size: int, fill_value: int) -> Array:
        found = np.full((size, x.ndim), fill_value, np.int64)
        rows = np.argwhere(x)[:size] if x.ndim else found[:0]
        found[: len(rows)] = rows
        return found

    @staticmethod
    def decompose(x: SSAValue, /, size: int, fill_value: int) -> SSAValue:
        shape = shape_of(x)
        count = math.prod(shape)
        if is_empty((count, size)) or not shape:
            return aten.full((size, len(shape)), fill_value, i64)
        is_set = view(aten.ne.Scalar(x, 0), (count,))
        order = aten.sub.Scalar(aten.cumsum(to_element(is_set, i64), 0), 1)
        # Places that nothing is asked of go to a row behind the last one.
        is_wanted = aten.logical_and(is_set, aten.lt.Scalar(order, size))
        rows = aten.where.self(is_wanted, order, as_operand(size, i64))
        found = aten.scatter.src(aten.full((size + 1,), -1, i64), 0, rows, aten.arange.start_step(0, count))
        found = aten.slice.Tensor(found, 0, 0, size)
        coordinates: list[SSAValue] = []
        for axis, extent in enumerate(shape):
            step = math.prod(shape[axis + 1 :])
            coordinates.append(aten.remainder.Scalar(aten.div.Tensor_mode(found, as_operand(step, i64), rounding_mode="floor"), extent))
        is_found = aten.unsqueeze(aten.ge.Scalar(found, 0), 1)
        return aten.where.self(is_found, aten.stack(coordinates, 1), as_operand(fill_value, i64))


@aten("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor")
class AsStridedScatterOp(SchemaOp):
    """The tensor with the elements that `as_strided` would read replaced by `src`."""

    @staticmethod
    def infer(x: Tensor, /, src: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Tensor:
        require_same_element(x, src)
        read = shape_of(AsStridedOp.infer(x, size, stride, storage_offset))
        if shape_of(src) != read:
            raise ValueError(f"src must have shape {list(read)}, got {list(shape_of(src))}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, src: Array, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Array:
        result = np.array(x, order="C")
        AsStridedOp.numpy(result, size, stride, storage_offset)[...] = src
        return result

    @staticmethod
    def decompose(x: SSAValue, /, src: SSAValue, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> SSAValue:
        count = math.prod(size)
        if not count:
            return x
        places = aten.full(size, storage_offset or 0, i64)
        for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
            line = aten.mul.Scalar(aten.arange.start_step(0, extent), step)
            places = aten.add.Tensor(places, view(line, tuple(extent if place == axis else 1 for place in range(len(size)))))
        return aten.put(x, places, src)


@aten("resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor")
class ResizeOp(SchemaOp):
    """The first elements of the tensor in the shape `size`; additional elements, which PyTorch leaves uninitialised, are 0."""

    @staticmethod
    def infer(x: Tensor, /, size: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), size)

    @staticmethod
    def numpy(x: Array, /, size: tuple[int, ...]) -> Array:
        flat = np.zeros(math.prod(size), x.dtype)
        kept = min(flat.size, x.size)
        flat[:kept] = x.reshape(-1)[:kept]
        return flat.reshape(size)

    @staticmethod
    def decompose(x: SSAValue, /, size: tuple[int, ...]) -> SSAValue:
        own, count = math.prod(shape_of(x)), math.prod(size)
        flat = view(x, (own,))
        if count > own:
            flat = aten.cat([flat, aten.full((count - own,), 0, element_of(x))])
        return view(aten.slice.Tensor(flat, 0, 0, count) if count < own else flat, size)


@aten("resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor")
class ResizeAsOp(SchemaOp):
    """The first elements of the tensor in the shape of `the_template`; additional elements are 0."""

    @staticmethod
    def infer(x: Tensor, like: Tensor, /) -> Tensor:
        return ResizeOp.infer(x, shape_of(like))

    @staticmethod
    def numpy(x: Array, like: Array, /) -> Array:
        return ResizeOp.numpy(x, like.shape)

    @staticmethod
    def decompose(x: SSAValue, like: SSAValue, /) -> SSAValue:
        return aten.resize(x, shape_of(like))
