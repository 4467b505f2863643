"""Operators that move elements."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from flambeau.backends.onnxruntime.dialect.elements import require_places
from flambeau.backends.onnxruntime.dialect.operators import ALL, NUMBERS, Numbers, OnnxOp, onnx, require_one_type, require_type
from flambeau.dialects.aten.movement.concat import CatOp
from flambeau.dialects.aten.movement.pixel_shuffle import PixelShuffleOp
from flambeau.dialects.aten.movement.split import SplitWithSizesOp
from flambeau.dialects.ir.extents import exceeds, is_known, maximum, minimum, unknown
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import require_only
from flambeau.passes.delegation.lowering.reshapes import pattern_shape
from flambeau.support.lazy import Array, np


class MovingOnnxOp(OnnxOp):
    """An operator whose results have elements of its first operand."""

    takes = ALL


@onnx("Transpose(Tensor data, *, int[] perm) -> Tensor")
class TransposeOp(MovingOnnxOp):
    """The dimensions in another order: dimension i of the result is dimension perm[i] of the input."""

    @staticmethod
    def infer(x: Tensor, /, perm: Numbers) -> Tensor:
        shape = shape_of(x)
        if sorted(perm) != list(range(len(shape))):
            raise ValueError(f"perm {list(perm)} is no order of {len(shape)} dimensions")
        return tensor(element_of(x), tuple(shape[dim] for dim in perm))

    @staticmethod
    def numpy(x: Array, /, perm: Numbers) -> Array:
        return x.transpose(perm)


@onnx("Reshape(Tensor data, int[] shape, *, bool allowzero=False) -> Tensor")
class ReshapeOp(MovingOnnxOp):
    """The same elements in another shape, in which 0 is the size that stays at its place, and -1 the one that follows."""

    @staticmethod
    def infer(x: Tensor, shape: Numbers, /, allowzero: bool) -> Tensor:
        require_only("allowzero", allowzero, False)
        return tensor(element_of(x), pattern_shape(shape_of(x), shape, True))

    @staticmethod
    def numpy(x: Array, shape: Numbers, /) -> Array:
        return x.reshape(pattern_shape(x.shape, shape, True))


@onnx("Squeeze(Tensor data, int[] axes) -> Tensor")
class SqueezeOp(MovingOnnxOp):
    """The input without the dimensions `axes`, each of which must have one entry."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /) -> Tensor:
        shape = shape_of(x)
        dims = {normalize_dim(axis, len(shape)) for axis in axes}
        if any(shape[dim] != 1 for dim in dims):
            raise ValueError(f"axes {list(axes)} of {list(shape)} have more than one entry")
        return tensor(element_of(x), [size for dim, size in enumerate(shape) if dim not in dims])

    @staticmethod
    def numpy(x: Array, axes: Numbers, /) -> Array:
        return x.squeeze(tuple(axes))


@onnx("Unsqueeze(Tensor data, int[] axes) -> Tensor")
class UnsqueezeOp(MovingOnnxOp):
    """The input with additional dimensions of one entry, at the given places of the result."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /) -> Tensor:
        shape, rank = list(shape_of(x)), len(shape_of(x)) + len(axes)
        dims = sorted(normalize_dim(axis, rank) for axis in axes)
        if len(set(dims)) < len(dims):
            raise ValueError(f"axes {list(axes)} name a dimension twice")
        for dim in dims:
            shape.insert(dim, 1)
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, axes: Numbers, /) -> Array:
        return np.expand_dims(x, tuple(axes))


@onnx("Expand(Tensor input, int[] shape) -> Tensor")
class ExpandOp(MovingOnnxOp):
    """The input, broadcast to the shape to which its shape and `shape` broadcast."""

    @staticmethod
    def infer(x: Tensor, shape: Numbers, /) -> Tensor:
        if min(shape, default=1) < 1:
            raise ValueError(f"shape {list(shape)} must be positive")
        return tensor(element_of(x), broadcast(shape_of(x), shape))

    @staticmethod
    def numpy(x: Array, shape: Numbers, /) -> Array:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))


@onnx("Tile(Tensor input, int[] repeats) -> Tensor")
class TileOp(MovingOnnxOp):
    """Copies of the input one after another along each dimension."""

    @staticmethod
    def infer(x: Tensor, repeats: Numbers, /) -> Tensor:
        shape = shape_of(x)
        if len(repeats) != len(shape) or min(repeats, default=1) < 1:
            raise ValueError(f"repeats {list(repeats)} must be a positive number for each dimension of {list(shape)}")
        return tensor(element_of(x), [size * count for size, count in zip(shape, repeats, strict=True)])

    @staticmethod
    def numpy(x: Array, repeats: Numbers, /) -> Array:
        return np.tile(x, repeats)


@onnx("Concat(Tensor[] inputs, *, int axis) -> Tensor")
class ConcatOp(MovingOnnxOp):
    """The inputs one after another along a dimension."""

    @staticmethod
    def infer(inputs: list[Tensor], /, axis: int) -> Tensor:
        require_one_type(*inputs)
        if any(len(shape_of(x)) != len(shape_of(inputs[0])) for x in inputs):
            raise ValueError("its inputs must have the same number of dimensions")
        return tensor(element_of(inputs[0]), shape_of(CatOp.infer(inputs, axis)))

    @staticmethod
    def numpy(inputs: list[Array], /, axis: int) -> Array:
        return np.concatenate(inputs, axis)


@onnx("Split(Tensor input, int[] split, *, int axis=0) -> Tensor[]")
class SplitOp(MovingOnnxOp):
    """Consecutive parts along a dimension."""

    @staticmethod
    def infer(x: Tensor, split: Numbers, /, axis: int) -> list[Tensor]:
        if not split:
            raise ValueError("it has no parts")
        return [tensor(element_of(x), shape_of(kind)) for kind in SplitWithSizesOp.infer(x, split, axis)]

    @staticmethod
    def numpy(x: Array, split: Numbers, /, axis: int) -> list[Array]:
        return SplitWithSizesOp.numpy(x, split, axis)


@onnx("Slice(Tensor data, int[] starts, int[] ends, int[] axes, int[] steps) -> Tensor")
class SliceOp(MovingOnnxOp):
    """From each dimension in `axes`, the entries from `starts` on, before `ends`, in steps. Negative numbers count from the end."""

    @staticmethod
    def infer(x: Tensor, starts: Numbers, ends: Numbers, axes: Numbers, steps: Numbers, /) -> Tensor:
        shape = list(shape_of(x))
        dims = [normalize_dim(axis, len(shape)) for axis in axes]
        if len({len(numbers) for numbers in (starts, ends, axes, steps)}) > 1 or len(set(dims)) < len(dims):
            raise ValueError(f"starts, ends and steps must have a number for each of the axes {list(axes)}, which differ")
        for dim, start, end, step in zip(dims, starts, ends, steps, strict=True):
            if is_known(shape[dim]):
                shape[dim] = len(range(shape[dim])[_entries(start, end, step)])
                continue
            if step < 1:
                raise ValueError(f"steps {list(steps)} must be positive along a size that only the run knows")
            first, last = (_from_start(number, shape[dim]) for number in (start, end))
            shape[dim] = maximum(last - first + step - 1, 0) // step
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, starts: Numbers, ends: Numbers, axes: Numbers, steps: Numbers, /) -> Array:
        places = [slice(None)] * x.ndim
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            places[axis] = _entries(start, end, step)
        return x[tuple(places)]


def _entries(start: int, end: int, step: int) -> slice:
    """Returns Python's slice. An end far before the start of a dimension includes its first entry, where steps are negative."""
    return slice(start, None if step < 0 and end < -(2**31) else end, step)


def _from_start(number: int, size: int) -> int:
    """Returns a place counted from the start, within a size."""
    place = number + size if exceeds(0, number) else number
    return minimum(maximum(place, 0), size)


@onnx("Gather(Tensor data, Tensor indices, *, int axis=0) -> Tensor")
class GatherOp(MovingOnnxOp):
    """The entries of a dimension at the given places."""

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, axis: int) -> Tensor:
        require_places(indices)
        shape = shape_of(x)
        dim = normalize_dim(axis, len(shape))
        if not shape:
            raise ValueError("a number has no entries")
        return tensor(element_of(x), (*shape[:dim], *shape_of(indices), *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, indices: Array, /, axis: int) -> Array:
        return np.take(x, indices, axis)


@onnx("GatherElements(Tensor data, Tensor indices, *, int axis=0) -> Tensor")
class GatherElementsOp(MovingOnnxOp):
    """For each index, the element at its place, but for that along a dimension, which the index says."""

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, axis: int) -> Tensor:
        require_places(indices)
        shape, wanted = shape_of(x), shape_of(indices)
        dim = normalize_dim(axis, len(shape))
        if len(wanted) != len(shape) or any(exceeds(a, b) for k, (a, b) in enumerate(zip(wanted, shape, strict=True)) if k != dim):
            raise ValueError(f"indices {list(wanted)} do not lie in {list(shape)}")
        return tensor(element_of(x), wanted)

    @staticmethod
    def numpy(x: Array, indices: Array, /, axis: int) -> Array:
        inside = tuple(slice(None) if dim == axis % x.ndim else slice(size) for dim, size in enumerate(indices.shape))
        return np.take_along_axis(x[inside], indices.astype(np.int64), axis)


@onnx("GatherND(Tensor data, Tensor indices, *, int batch_dims=0) -> Tensor")
class GatherNDOp(MovingOnnxOp):
    """The entries at places that the last dimension of the indices says."""

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, batch_dims: int) -> Tensor:
        require_type("indices", indices, i64)
        require_only("batch_dims", batch_dims, 0)
        shape, wanted = shape_of(x), shape_of(indices)
        if not wanted or not is_known(wanted[-1]) or not 1 <= wanted[-1] <= len(shape):
            raise ValueError(f"indices {list(wanted)} do not name places of {list(shape)}")
        return tensor(element_of(x), (*wanted[:-1], *shape[wanted[-1] :]))

    @staticmethod
    def numpy(x: Array, indices: Array, /) -> Array:
        return x[tuple(indices[..., place] for place in range(indices.shape[-1]))]


@onnx("Pad(Tensor data, int[] pads, float? constant_value=None, int[]? axes=None, *, str mode='constant') -> Tensor")
class PadOp(MovingOnnxOp):
    """The input with more elements at each dimension: `constant_value`, those at the ends (`edge`), or mirrored ones (`reflect`)."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, pads: Numbers, constant_value: float | None, axes: Numbers | None, /, mode: str) -> Tensor:
        shape = shape_of(x)
        require_only("axes", axes, None)
        if mode not in ("constant", "edge", "reflect") or len(pads) != 2 * len(shape):
            raise ValueError(f"mode {mode!r} or the pads {list(pads)} of {list(shape)} are not supported here")
        found = [before + size + behind for before, size, behind in zip(pads, shape, pads[len(shape) :], strict=False)]
        if any(exceeds(0, size) for size in found) or (mode != "constant" and min(pads) < 0):
            raise ValueError(f"pads {list(pads)} cut more than there is of {list(shape)}")
        return tensor(element_of(x), found)

    @staticmethod
    def numpy(x: Array, pads: Numbers, constant_value: float | None, /, mode: str) -> Array:
        pairs = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
        kept = x[tuple(slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(pairs, x.shape, strict=True))]
        grown = [(max(low, 0), max(high, 0)) for low, high in pairs]
        if mode == "constant":
            return np.pad(kept, grown, constant_values=x.dtype.type(constant_value or 0))
        return np.pad(kept, grown, "edge" if mode == "edge" else "reflect")


@onnx("DepthToSpace(Tensor input, *, int blocksize, str mode='DCR') -> Tensor")
class DepthToSpaceOp(OnnxOp):
    """[N, C·r², H, W] to [N, C, H·r, W·r]: channels become the places of an r × r block, the last ones first in the mode `CRD`."""

    @staticmethod
    def infer(x: Tensor, /, blocksize: int, mode: str) -> Tensor:
        require_only("mode", mode, "CRD")
        return PixelShuffleOp.infer(x, blocksize)

    @staticmethod
    def numpy(x: Array, /, blocksize: int) -> Array:
        return PixelShuffleOp.numpy(x, blocksize)


@onnx("Trilu(Tensor input, int k=0, *, bool upper=True) -> Tensor")
class TriluOp(MovingOnnxOp):
    """The elements of matrices on and above, or on and below, a diagonal; zeros elsewhere."""

    @staticmethod
    def infer(x: Tensor, k: int, /) -> Tensor:
        if len(shape_of(x)) < 2:
            raise ValueError("it is of matrices")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, k: int, /, upper: bool) -> Array:
        return np.triu(x, k) if upper else np.tril(x, k)


@onnx("Shape(Tensor data, *, int? end=None, int start=0) -> Tensor")
class ShapeOp(MovingOnnxOp):
    """The sizes of the dimensions from `start` on, before `end`."""

    @staticmethod
    def infer(x: Tensor, /, end: int | None, start: int) -> Tensor:
        return tensor(i64, (len(shape_of(x)[start:end]),))

    @staticmethod
    def numpy(x: Array, /, end: int | None, start: int) -> Array:
        return np.array(x.shape[start:end], np.int64)


@onnx("Range(Tensor start, Tensor limit, Tensor delta) -> Tensor")
class RangeOp(OnnxOp):
    """The numbers from `start` in steps of `delta`, before `limit`: how many there are follows from the three numbers."""

    takes = frozenset((i64,))

    @staticmethod
    def infer(start: Tensor, limit: Tensor, delta: Tensor, /) -> Tensor:
        require_one_type(start, limit, delta)
        if any(shape_of(item) for item in (start, limit, delta)):
            raise ValueError("start, limit and delta must be numbers")
        return tensor(i64, (unknown(),))

    @staticmethod
    def numpy(start: Array, limit: Array, delta: Array, /) -> Array:
        return np.arange(int(start), int(limit), int(delta), dtype=np.int64)
