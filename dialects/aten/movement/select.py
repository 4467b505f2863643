"""Operators that read a part of a tensor, or replace a part by another tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.ir.extents import differ, exceeds, maximum, minimum, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, may_equal, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

NO_END = 2**63 - 1
"""PyTorch's end of a slice that goes on to the end of the tensor."""


def slice_range(extent: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    """Returns start, end and length of a slice of `extent` elements, clamped as PyTorch does. Raises ValueError for a step below 1."""
    if step < 1:
        raise ValueError(f"slice step must be at least 1, got {step}")
    first = 0 if start is None else start + extent if start < 0 else start
    first = minimum(maximum(first, 0), extent)
    last = extent if end is None or provably_equal(end, NO_END) else end + extent if end < 0 else end
    last = minimum(maximum(last, first), extent)
    return first, last, -(-(last - first) // step)


def sliced_shape(shape: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> tuple[int, ...]:
    """Returns the shape of a slice. Raises IndexError, ValueError."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to slice")
    dim = normalize_dim(dim, len(shape))
    length = slice_range(shape[dim], start, end, step)[2]
    return (*shape[:dim], length, *shape[dim + 1 :])


def selected_index(shape: Sequence[int], dim: int, index: int) -> int:
    """Returns `index` counted from the front of dimension `dim`. Raises IndexError when it is out of range."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to select from")
    extent = shape[normalize_dim(dim, len(shape))]
    if exceeds(-extent, index) or exceeds(index + 1, extent):
        raise IndexError(f"index {index} is out of range for dimension {dim} of size {extent}")
    return index % extent


@aten("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", core=True)
class SelectIntOp(PartwiseOp):
    """The entry `index` of dimension `dim`; the result lacks this dimension."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: int) -> Tensor:
        shape = shape_of(x)
        selected_index(shape, dim, index)
        dim = normalize_dim(dim, len(shape))
        return tensor(element_of(x), (*shape[:dim], *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: int) -> Array:
        return np.moveaxis(x, dim, 0)[selected_index(x.shape, dim, index), ...]


@aten("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", core=True)
class SliceTensorOp(PartwiseOp):
    """Entries start, start + step, … before end of dimension `dim`; negative bounds count from the end, and all are clamped."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
        return tensor(element_of(x), sliced_shape(shape_of(x), dim, start, end, step))

    @staticmethod
    def numpy(x: Array, /, dim: int, start: int | None, end: int | None, step: int) -> Array:
        dim = normalize_dim(dim, x.ndim)
        first, last, _ = slice_range(x.shape[dim], start, end, step)
        return x[(slice(None),) * dim + (slice(first, last, step),)]


@aten("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
class NarrowOp(SchemaOp):
    """`length` entries from `start` of dimension `dim`."""

    @staticmethod
    def checked_start(shape: Sequence[int], dim: int, start: int, length: int) -> int:
        """Returns `start` counted from the front. Raises ValueError when the entries are not there."""
        if not shape:
            raise ValueError("a 0-d tensor has no dimension to narrow")
        extent = shape[normalize_dim(dim, len(shape))]
        first = start + extent if start < 0 else start
        if exceeds(0, length) or exceeds(0, first) or exceeds(first + length, extent):
            raise ValueError(f"{length} entries from {start} are out of range for dimension {dim} of size {extent}")
        return first

    @staticmethod
    def infer(x: Tensor, /, dim: int, start: int, length: int) -> Tensor:
        shape = shape_of(x)
        NarrowOp.checked_start(shape, dim, start, length)
        dim = normalize_dim(dim, len(shape))
        return tensor(element_of(x), (*shape[:dim], length, *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, /, dim: int, start: int, length: int) -> Array:
        first = NarrowOp.checked_start(x.shape, dim, start, length)
        return SliceTensorOp.numpy(x, dim, first, first + length, 1)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, start: int, length: int) -> SSAValue:
        first = NarrowOp.checked_start(shape_of(x), dim, start, length)
        return aten.slice.Tensor(x, dim, first, first + length)


@aten("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", core=True)
class AsStridedOp(PartwiseOp):
    """The tensor whose element at `index` is element storage_offset + sum(index[i] * stride[i]) of the operand in row-major order."""

    @staticmethod
    def infer(x: Tensor, /, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Tensor:
        if len(size) != len(stride):
            raise ValueError(f"size {list(size)} and stride {list(stride)} must have one entry per dimension")
        if any(number < 0 for number in (*stride, storage_offset or 0)):
            raise ValueError("strides and the storage offset must not be negative")
        shape = shape_of(x)
        last = (storage_offset or 0) + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if all(differ(extent, 0) for extent in size) and exceeds(last + 1, math.prod(shape)):
            raise ValueError(f"element {last} is beyond the {math.prod(shape)} elements of the operand")
        return tensor(element_of(x), size)

    @staticmethod
    def numpy(x: Array, /, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Array:
        flat = np.ascontiguousarray(x).reshape(-1)[storage_offset or 0 :]
        return np.lib.stride_tricks.as_strided(flat, size, [step * x.itemsize for step in stride])


@aten("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", keep=True)
class UnfoldOp(PartwiseOp):
    """Windows of `size` entries, `step` apart, along `dimension`; a new last dimension holds the entries of a window."""

    @staticmethod
    def infer(x: Tensor, /, dimension: int, size: int, step: int) -> Tensor:
        shape = shape_of(x) or (1,)
        dim = normalize_dim(dimension, len(shape))
        if step < 1 or size < 0 or exceeds(size, shape[dim]):
            raise ValueError(f"windows of {size} every {step} do not fit a dimension of size {shape[dim]}")
        windows = (shape[dim] - size) // step + 1
        return tensor(element_of(x), (*shape[:dim], windows, *shape[dim + 1 :], size) if shape_of(x) else (size,))

    @staticmethod
    def numpy(x: Array, /, dimension: int, size: int, step: int) -> Array:
        if not x.ndim:
            return x.reshape(1)[:size]
        dim = normalize_dim(dimension, x.ndim)
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim) if size else x[..., None][..., :0]
        return windows[(slice(None),) * dim + (slice(None, None, step),)]

    @staticmethod
    def decompose(x: SSAValue, /, dimension: int, size: int, step: int) -> SSAValue:
        shape = shape_of(x)
        if not shape:
            return aten.slice.Tensor(aten.view(x, (1,)), 0, 0, size)
        dim = normalize_dim(dimension, len(shape))
        # Place k of all windows is one strided slice.
        span = ((shape[dim] - size) // step) * step + 1

        places = [aten.unsqueeze(aten.slice.Tensor(x, dim, k, k + span, step), -1) for k in range(size)]
        return aten.cat(places, -1)


def _inserted(x: Array, source: Array) -> tuple[Array, Array]:
    """Returns a copy of `x` to write to, and `source` in its type."""
    return x.copy(), cast_to(source, element_of_array(x))


@aten("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", core=True)
class SliceScatterOp(PartwiseOp):
    """The tensor with a slice replaced by `src`."""

    numbers = 2
    stores = True
    inplace = (0,)
    computes_in = "result"

    @staticmethod
    def infer(x: Tensor, /, src: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
        place = shape_of(SliceTensorOp.infer(x, dim, start, end, step))
        if not may_equal(shape_of(src), place):
            raise ValueError(f"src has shape {list(shape_of(src))}, the slice {list(place)}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, src: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
        result, source = _inserted(x, src)
        SliceTensorOp.numpy(result, dim, start, end, step)[...] = source
        return result


@aten("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", core=True)
class SelectScatterOp(PartwiseOp):
    """The tensor with entry `index` of dimension `dim` replaced by `src`."""

    numbers = 2
    stores = True
    inplace = (0,)
    computes_in = "result"

    @staticmethod
    def infer(x: Tensor, /, src: Tensor, dim: int, index: int) -> Tensor:
        shape = shape_of(x)
        selected_index(shape, dim, index)
        dim = normalize_dim(dim, len(shape))
        place = (*shape[:dim], *shape[dim + 1 :])
        if not may_equal(shape_of(src), place):
            raise ValueError(f"src has shape {list(shape_of(src))}, the entry {list(place)}")
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, /, src: Array, dim: int, index: int) -> Array:
        result, source = _inserted(x, src)
        np.moveaxis(result, dim, 0)[index] = source
        return result
