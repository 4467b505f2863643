"""Core views: another shape or a part of the same elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, aten
from flambeau.support.lazy import Array, np

NO_END = 2**63 - 1
"""What PyTorch writes as the end of a slice that goes on to the end of the tensor."""


def resolve_size(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """The shape that `view` to `size` gives: one -1 in `size` stands for what is left of the elements of `shape`.

    Raises ValueError when the elements do not fit. Of a dynamic `shape`, -1 stays a dynamic dimension.
    """
    inferred = [axis for axis, extent in enumerate(size) if extent == -1]
    if len(inferred) > 1 or any(extent < -1 for extent in size):
        raise ValueError(f"size {list(size)} may have one -1 and no other negative number")
    if DYNAMIC_INDEX in shape:
        return tuple(DYNAMIC_INDEX if extent == -1 else extent for extent in size)
    total = math.prod(shape)
    known = math.prod(extent for extent in size if extent != -1)
    if inferred and known and total % known == 0:
        return tuple(total // known if extent == -1 else extent for extent in size)
    if inferred or known != total:
        raise ValueError(f"{total} elements of shape {list(shape)} do not fit size {list(size)}")
    return tuple(size)


def expanded_shape(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """The shape that `expand` to `size` gives: -1 keeps a dimension, new ones come in front. Raises ValueError."""
    added = len(size) - len(shape)
    if added < 0:
        raise ValueError(f"size {list(size)} has fewer dimensions than shape {list(shape)}")
    result: list[int] = []
    for axis, extent in enumerate(size):
        old = 1 if axis < added else shape[axis - added]
        if extent == -1 and axis < added:
            raise ValueError(f"size {list(size)} keeps dimension {axis}, which shape {list(shape)} does not have")
        if extent != -1 and old not in (1, extent, DYNAMIC_INDEX):
            raise ValueError(f"shape {list(shape)} does not expand to size {list(size)}")
        result.append(old if extent == -1 else extent)
    return tuple(result)


def normalize_dims(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """`dims` counted from the front. Raises IndexError for one out of range and ValueError for one given twice."""
    result = tuple(normalize_dim(dim, rank) for dim in dims)
    if len(set(result)) < len(result):
        raise ValueError(f"dims {list(dims)} name a dimension twice")
    return result


def checked_permutation(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """`dims` counted from the front, each of `rank` dimensions once. Raises ValueError."""
    if len(dims) != rank:
        raise ValueError(f"dims {list(dims)} must name each of {rank} dimensions once")
    return normalize_dims(dims, rank)


def slice_range(extent: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    """Start, end and length of a slice of `extent` elements, clamped as PyTorch does. Raises ValueError for a step below 1."""
    if step < 1:
        raise ValueError(f"slice step must be at least 1, got {step}")
    first = 0 if start is None else start
    last = extent if end is None else end
    first = min(max(first + extent if first < 0 else first, 0), extent)
    last = min(max(last + extent if last < 0 else last, first), extent)
    return first, last, -(-(last - first) // step)


def sliced_shape(shape: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> tuple[int, ...]:
    """The shape of a slice. Raises IndexError, ValueError."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to slice")
    dim = normalize_dim(dim, len(shape))
    length = DYNAMIC_INDEX if shape[dim] == DYNAMIC_INDEX else slice_range(shape[dim], start, end, step)[2]
    return (*shape[:dim], length, *shape[dim + 1 :])


def selected_index(shape: Sequence[int], dim: int, index: int) -> int:
    """`index` counted from the front of dimension `dim`. Raises IndexError when it is out of range."""
    if not shape:
        raise IndexError("a 0-d tensor has no dimension to select from")
    extent = shape[normalize_dim(dim, len(shape))]
    if extent == DYNAMIC_INDEX:
        return index
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of range for dimension {dim} of size {extent}")
    return index % extent


def squeezed_shape(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """`shape` without those of `dims` that have size 1."""
    removed = {dim for dim in normalize_dims(dims, len(shape)) if dim < len(shape) and shape[dim] == 1}
    return tuple(extent for dim, extent in enumerate(shape) if dim not in removed)


@aten("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", core=True)
class ViewOp(SchemaOp):
    """The elements, in order, under another shape; one -1 in `size` is inferred."""

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), resolve_size(shape_of(x), size))

    @staticmethod
    def numpy(x: Array, size: tuple[int, ...]) -> Array:
        return x.reshape(resolve_size(x.shape, size))


@aten("permute(Tensor(a) self, int[] dims) -> Tensor(a)", core=True)
class PermuteOp(SchemaOp):
    """Dimension i of the result is dimension dims[i] of the operand."""

    @staticmethod
    def infer(x: Tensor, dims: tuple[int, ...]) -> Tensor:
        shape = shape_of(x)
        return tensor(element_of(x), [shape[dim] for dim in checked_permutation(dims, len(shape))])

    @staticmethod
    def numpy(x: Array, dims: tuple[int, ...]) -> Array:
        return x.transpose(checked_permutation(dims, x.ndim))


@aten("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", core=True)
class ExpandOp(SchemaOp):
    """Dimensions of size 1 repeated, and new ones in front; -1 keeps a dimension."""

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...], implicit: bool) -> Tensor:
        return tensor(element_of(x), expanded_shape(shape_of(x), size))

    @staticmethod
    def numpy(x: Array, size: tuple[int, ...], implicit: bool) -> Array:
        return np.broadcast_to(x, expanded_shape(x.shape, size))


@aten("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", core=True)
class SqueezeDimOp(SchemaOp):
    """Without dimension `dim` if its size is 1."""

    @staticmethod
    def infer(x: Tensor, dim: int) -> Tensor:
        return tensor(element_of(x), squeezed_shape(shape_of(x), (dim,)))

    @staticmethod
    def numpy(x: Array, dim: int) -> Array:
        return x.reshape(squeezed_shape(x.shape, (dim,)))


@aten("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", core=True)
class SqueezeDimsOp(SchemaOp):
    """Without those of the dimensions `dim` whose size is 1."""

    @staticmethod
    def infer(x: Tensor, dim: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), squeezed_shape(shape_of(x), dim))

    @staticmethod
    def numpy(x: Array, dim: tuple[int, ...]) -> Array:
        return x.reshape(squeezed_shape(x.shape, dim))


@aten("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", core=True)
class UnsqueezeOp(SchemaOp):
    """With a new dimension of size 1 at `dim`."""

    @staticmethod
    def infer(x: Tensor, dim: int) -> Tensor:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape) + 1)
        return tensor(element_of(x), (*shape[:dim], 1, *shape[dim:]))

    @staticmethod
    def numpy(x: Array, dim: int) -> Array:
        return np.expand_dims(x, normalize_dim(dim, x.ndim + 1))


@aten("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", core=True)
class SelectIntOp(SchemaOp):
    """The entry `index` of dimension `dim`, which disappears."""

    @staticmethod
    def infer(x: Tensor, dim: int, index: int) -> Tensor:
        shape = shape_of(x)
        selected_index(shape, dim, index)
        dim = normalize_dim(dim, len(shape))
        return tensor(element_of(x), (*shape[:dim], *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, dim: int, index: int) -> Array:
        return np.moveaxis(x, dim, 0)[selected_index(x.shape, dim, index), ...]


@aten("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", core=True)
class SliceTensorOp(SchemaOp):
    """Entries start, start + step, … before end of dimension `dim`; negative bounds count from the end, and all are clamped."""

    @staticmethod
    def infer(x: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
        return tensor(element_of(x), sliced_shape(shape_of(x), dim, start, end, step))

    @staticmethod
    def numpy(x: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
        dim = normalize_dim(dim, x.ndim)
        first, last, _ = slice_range(x.shape[dim], start, end, step)
        return x[(slice(None),) * dim + (slice(first, last, step),)]


@aten("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", core=True)
class AsStridedOp(SchemaOp):
    """The elements at storage_offset + sum(index[i] * stride[i]) of the operand in row-major order."""

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Tensor:
        if len(size) != len(stride):
            raise ValueError(f"size {list(size)} and stride {list(stride)} must have one entry per dimension")
        if any(number < 0 for number in (*stride, storage_offset or 0)):
            raise ValueError("strides and the storage offset must not be negative")
        shape = shape_of(x)
        last = (storage_offset or 0) + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if DYNAMIC_INDEX not in (*shape, *size) and 0 not in size and last >= math.prod(shape):
            raise ValueError(f"element {last} is beyond the {math.prod(shape)} elements of the operand")
        return tensor(element_of(x), size)

    @staticmethod
    def numpy(x: Array, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Array:
        flat = np.ascontiguousarray(x).reshape(-1)[storage_offset or 0 :]
        return np.lib.stride_tricks.as_strided(flat, size, [step * x.itemsize for step in stride])


def diagonal_shape(shape: Sequence[int], offset: int, dim1: int, dim2: int) -> tuple[int, ...]:
    """The shape of a diagonal: the two dimensions go, the diagonal comes last. Raises ValueError, IndexError."""
    first, second = normalize_dims((dim1, dim2), len(shape))
    rest = [extent for dim, extent in enumerate(shape) if dim not in (first, second)]
    if DYNAMIC_INDEX in (shape[first], shape[second]):
        return (*rest, DYNAMIC_INDEX)
    length = min(shape[first], shape[second] - offset) if offset >= 0 else min(shape[first] + offset, shape[second])
    return (*rest, max(length, 0))


@aten("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", core=True)
class DiagonalOp(SchemaOp):
    """The diagonal of dimensions dim1 and dim2, `offset` above the main one, as a new last dimension."""

    @staticmethod
    def infer(x: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        return tensor(element_of(x), diagonal_shape(shape_of(x), offset, dim1, dim2))

    @staticmethod
    def numpy(x: Array, offset: int, dim1: int, dim2: int) -> Array:
        return np.diagonal(x, offset, dim1, dim2)


@aten("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", keep=True)
class UnfoldOp(SchemaOp):
    """Windows of `size` entries every `step` along `dimension`; the place in the window is a new last dimension."""

    @staticmethod
    def infer(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
        shape = shape_of(x) or (1,)
        dim = normalize_dim(dimension, len(shape))
        if step < 1 or size < 0 or (shape[dim] != DYNAMIC_INDEX and size > shape[dim]):
            raise ValueError(f"windows of {size} every {step} do not fit a dimension of size {shape[dim]}")
        windows = DYNAMIC_INDEX if shape[dim] == DYNAMIC_INDEX else (shape[dim] - size) // step + 1
        return tensor(element_of(x), (*shape[:dim], windows, *shape[dim + 1 :], size) if shape_of(x) else (size,))

    @staticmethod
    def numpy(x: Array, dimension: int, size: int, step: int) -> Array:
        if not x.ndim:
            return x.reshape(1)[:size]
        dim = normalize_dim(dimension, x.ndim)
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim) if size else x[..., None][..., :0]
        return windows[(slice(None),) * dim + (slice(None, None, step),)]

    @staticmethod
    def decompose(x: SSAValue, dimension: int, size: int, step: int) -> SSAValue:
        shape = shape_of(x)
        if not shape:
            return SliceTensorOp(ViewOp(x, (1,)).result, 0, 0, size).result
        dim = normalize_dim(dimension, len(shape))
        # Place k of all windows is one strided slice.
        span = ((shape[dim] - size) // step) * step + 1
        from flambeau.dialects.aten.concat import CatOp

        places = [UnsqueezeOp(SliceTensorOp(x, dim, k, k + span, step).result, -1).result for k in range(size)]
        return CatOp(places, -1).result
