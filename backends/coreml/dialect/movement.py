"""Operators that move elements, or interpolate between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import ClassVar

from xdsl.dialects.builtin import f16

from flambeau.backends.coreml.dialect.operators import MilOp, Numbers, coreml, like, require_like, widened
from flambeau.dialects.aten.images.upsample import UpsampleBilinear2dVecOp, UpsampleNearest2dVecOp
from flambeau.dialects.aten.movement.pixel_shuffle import PixelShuffleOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, i1, i32, normalize_dim, shape_of
from flambeau.dialects.schema.move_types import joined_type, of_each_dimension, padded_type, permuted_type, reshaped_type
from flambeau.support.lazy import Array, np


class MoveMilOp(MilOp):
    """An operator that only moves elements."""

    takes = frozenset((f16, f32, i32, i1))


class NumberMoveMilOp(MilOp):
    """An operator that only moves elements, which are numbers."""

    takes = frozenset((f16, f32, i32))


@coreml("reshape(Tensor x, *, int[] shape) -> Tensor")
class ReshapeMilOp(MoveMilOp):
    """x in another shape."""

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        if min(shape, default=1) < 1:
            raise ValueError(f"the shape {list(shape)} is not of sizes from 1 on")
        return like(reshaped_type(x, shape), shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(shape)


@coreml("transpose(Tensor x, *, int[] perm) -> Tensor")
class TransposeMilOp(MoveMilOp):
    """The dimensions in another order: dimension i of the result is dimension perm[i] of x."""

    @staticmethod
    def infer(x: Tensor, /, perm: Numbers) -> Tensor:
        return permuted_type(x, perm)

    @staticmethod
    def numpy(x: Array, /, perm: Numbers) -> Array:
        return x.transpose(perm)


@coreml("expand_dims(Tensor x, *, int[] axes) -> Tensor")
class ExpandDimsMilOp(MoveMilOp):
    """x with additional dimensions of one entry, at these places of the result."""

    @staticmethod
    def infer(x: Tensor, /, axes: Numbers) -> Tensor:
        shape = list(shape_of(x))
        for dim in sorted(normalize_dim(axis, len(shape) + len(axes)) for axis in axes):
            shape.insert(dim, 1)
        return like(x, shape)

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return np.expand_dims(x, axes)


@coreml("squeeze(Tensor x, *, int[] axes) -> Tensor")
class SqueezeMilOp(MoveMilOp):
    """x without these dimensions, each of one entry."""

    @staticmethod
    def infer(x: Tensor, /, axes: Numbers) -> Tensor:
        shape = shape_of(x)
        dims = {normalize_dim(axis, len(shape)) for axis in axes}
        if not dims or any(shape[dim] != 1 for dim in dims):
            raise ValueError(f"axes {list(axes)} of {list(shape)} are none, or have more than one entry")
        return like(x, [size for dim, size in enumerate(shape) if dim not in dims])

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return x.squeeze(axes)


@coreml("concat(Tensor[] values, *, int axis, bool interleave=False) -> Tensor")
class ConcatMilOp(NumberMoveMilOp):
    """Tensors one after the other along a dimension."""

    @staticmethod
    def infer(values: Sequence[Tensor], /, axis: int, interleave: bool) -> Tensor:
        require_like(*values)
        if interleave:
            raise ValueError("the entries of its tensors take turns, which is not supported here")
        return joined_type(values, axis)

    @staticmethod
    def numpy(values: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(values, axis)


@coreml("stack(Tensor[] values, *, int axis) -> Tensor")
class StackMilOp(NumberMoveMilOp):
    """Tensors of one shape along a new dimension."""

    @staticmethod
    def infer(values: Sequence[Tensor], /, axis: int) -> Tensor:
        require_like(*values)
        if len({shape_of(value) for value in values}) != 1:
            raise ValueError(f"its tensors have the shapes {[list(shape_of(value)) for value in values]}, not one")
        shape = list(shape_of(values[0]))
        shape.insert(normalize_dim(axis, len(shape) + 1), len(values))
        return like(values[0], shape)

    @staticmethod
    def numpy(values: Sequence[Array], /, axis: int) -> Array:
        return np.stack(values, axis)


@coreml("split(Tensor x, *, int[] split_sizes, int axis) -> Tensor[]")
class SplitMilOp(MoveMilOp):
    """Consecutive parts along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, split_sizes: Numbers, axis: int) -> list[Tensor]:
        shape = shape_of(x)
        dim = normalize_dim(axis, len(shape))
        if len(split_sizes) < 2 or min(split_sizes) < 1 or sum(split_sizes) != shape[dim]:
            raise ValueError(f"parts of {list(split_sizes)} are not the {shape[dim]} entries, in two parts or more")
        return [like(x, (*shape[:dim], size, *shape[dim + 1 :])) for size in split_sizes]

    @staticmethod
    def numpy(x: Array, /, split_sizes: Numbers, axis: int) -> list[Array]:
        return np.split(x, np.cumsum(split_sizes)[:-1].tolist(), axis)


@coreml("slice_by_index(Tensor x, *, int[] begin, int[] end, int[] stride) -> Tensor")
class SliceByIndexMilOp(MoveMilOp):
    """In each dimension every `stride`th entry from `begin` on, before `end`."""

    @staticmethod
    def infer(x: Tensor, /, begin: Numbers, end: Numbers, stride: Numbers) -> Tensor:
        shape = of_each_dimension(x, "a part", begin, end, stride)
        if min(stride, default=1) < 1 or any(not 0 <= low < high <= size for low, high, size in zip(begin, end, shape, strict=True)):
            raise ValueError(f"{list(shape)} has no entries from {list(begin)} to {list(end)} in steps of {list(stride)}")
        return like(x, [-(-(high - low) // step) for low, high, step in zip(begin, end, stride, strict=True)])

    @staticmethod
    def numpy(x: Array, /, begin: Numbers, end: Numbers, stride: Numbers) -> Array:
        return x[tuple(slice(*limits) for limits in zip(begin, end, stride, strict=True))]


@coreml("tile(Tensor x, *, int[] reps) -> Tensor")
class TileMilOp(MoveMilOp):
    """x, so many times in each dimension."""

    @staticmethod
    def infer(x: Tensor, /, reps: Numbers) -> Tensor:
        shape = of_each_dimension(x, "repetitions", reps)
        if min(reps, default=1) < 1:
            raise ValueError(f"repetitions {list(reps)} are not from 1 on")
        return like(x, [size * count for size, count in zip(shape, reps, strict=True)])

    @staticmethod
    def numpy(x: Array, /, reps: Numbers) -> Array:
        return np.tile(x, reps)


@coreml("pad(Tensor x, *, int[] pad, str mode='constant', float constant_val) -> Tensor")
class PadMilOp(MilOp):
    """x with a number before and behind each dimension: `pad` has both for each."""

    @staticmethod
    def infer(x: Tensor, /, pad: Numbers, mode: str) -> Tensor:
        if mode != "constant":
            raise ValueError(f"mode is {mode!r}, and 'constant' is supported here")
        return padded_type(x, pad)

    @staticmethod
    @widened
    def numpy(x: Array, /, pad: Numbers, constant_val: float) -> Array:
        return np.pad(x, list(zip(pad[::2], pad[1::2], strict=True)), constant_values=np.float32(constant_val))


@coreml("pixel_shuffle(Tensor x, *, int upscale_factor) -> Tensor")
class PixelShuffleMilOp(MilOp):
    """Images whose channels become the pixels of blocks."""

    @staticmethod
    def infer(x: Tensor, /, upscale_factor: int) -> Tensor:
        if len(shape_of(x)) != 4:
            raise ValueError(f"{list(shape_of(x))} is no image of four dimensions")
        return PixelShuffleOp.infer(x, upscale_factor)

    @staticmethod
    def numpy(x: Array, /, upscale_factor: int) -> Array:
        return PixelShuffleOp.numpy(x, upscale_factor)


@coreml("gather(Tensor x, Tensor indices, *, int axis=0, int batch_dims=0, bool validate_indices=False) -> Tensor")
class GatherMilOp(NumberMoveMilOp):
    """The entries of a dimension that `indices` name."""

    newer: ClassVar[Mapping[str, int]] = {"batch_dims": 16, "validate_indices": 17}

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, axis: int, batch_dims: int, validate_indices: bool) -> Tensor:
        if batch_dims or validate_indices:
            raise ValueError("batch_dims is 0, and validate_indices false, in what is supported here")
        if element_of(indices) != i32:
            raise TypeError(f"its indices are of {element_of(indices)}, not of i32")
        shape = shape_of(x)
        dim = normalize_dim(axis, len(shape))
        return like(x, (*shape[:dim], *shape_of(indices), *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, indices: Array, /, axis: int) -> Array:
        return np.take(x, indices, axis)


@coreml("gather_nd(Tensor x, Tensor indices, *, int batch_dims=0, bool validate_indices=False) -> Tensor")
class GatherNdMilOp(NumberMoveMilOp):
    """Parts of x: the last dimension of `indices` names an entry of each of the first dimensions of x."""

    newer: ClassVar[Mapping[str, int]] = {"batch_dims": 16, "validate_indices": 17}

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, batch_dims: int, validate_indices: bool) -> Tensor:
        if batch_dims or validate_indices:
            raise ValueError("batch_dims is 0, and validate_indices false, in what is supported here")
        shape, places = shape_of(x), shape_of(indices)
        if element_of(indices) != i32 or not places or not 1 <= places[-1] <= len(shape):
            raise ValueError(f"its indices {indices} do not name entries of {list(shape)} by integers of i32")
        return like(x, (*places[:-1], *shape[places[-1] :]))

    @staticmethod
    def numpy(x: Array, indices: Array, /) -> Array:
        return x[tuple(np.moveaxis(indices, -1, 0))]


@coreml("scatter(Tensor data, Tensor indices, Tensor updates, *, int axis=0, str mode='update', bool validate_indices=False) -> Tensor")
class ScatterMilOp(NumberMoveMilOp):
    """`data` with other entries of a dimension, those that `indices` name."""

    newer: ClassVar[Mapping[str, int]] = {"validate_indices": 17}

    @staticmethod
    def infer(data: Tensor, indices: Tensor, updates: Tensor, /, axis: int, mode: str, validate_indices: bool) -> Tensor:
        require_like(data, updates)
        shape = shape_of(data)
        dim = normalize_dim(axis, len(shape))
        wanted = (*shape[:dim], *shape_of(indices), *shape[dim + 1 :])
        if element_of(indices) != i32 or shape_of(updates) != wanted or mode != "update" or validate_indices:
            raise ValueError(
                f"its updates {list(shape_of(updates))} by {indices} are not {list(wanted)}, or its mode is not 'update' without a check"
            )
        return like(data, shape)

    @staticmethod
    def numpy(data: Array, indices: Array, updates: Array, /, axis: int) -> Array:
        result = data.copy()
        result[(slice(None),) * (axis % data.ndim) + (indices,)] = updates
        return result


_FACTORS = "float scale_factor_height, float scale_factor_width"


class UpsampleMilOp(MilOp):
    """Images whose last two dimensions become larger by factors."""

    wide = ("scale_factor_height", "scale_factor_width")

    @staticmethod
    def infer(x: Tensor, /, scale_factor_height: float, scale_factor_width: float) -> Tensor:
        return like(x, _resized(shape_of(x), scale_factor_height, scale_factor_width))


def _resized(shape: Sequence[int], *factors: float) -> Sequence[int]:
    sizes = [floor(size * float(np.float32(factor))) for size, factor in zip(shape[2:], factors, strict=False)]
    if len(shape) != 4 or not all(0 < factor < 1 << 16 for factor in factors) or min(sizes) < 1:
        raise ValueError(f"{list(shape)} is no image that becomes larger by {list(factors)}")
    return (*shape[:2], *sizes)


@coreml(f"upsample_nearest_neighbor(Tensor x, *, {_FACTORS}) -> Tensor")
class UpsampleNearestNeighborMilOp(UpsampleMilOp):
    """Each element is the nearest one before it."""

    @staticmethod
    def numpy(x: Array, /, scale_factor_height: float, scale_factor_width: float) -> Array:
        return UpsampleNearest2dVecOp.numpy(x, _resized(x.shape, scale_factor_height, scale_factor_width)[2:], None)


@coreml(f"upsample_bilinear(Tensor x, *, {_FACTORS}, bool align_corners) -> Tensor")
class UpsampleBilinearMilOp(UpsampleMilOp):
    """Each element is interpolated between four; with `align_corners`, those in the corners stay."""

    @staticmethod
    @widened
    def numpy(x: Array, /, scale_factor_height: float, scale_factor_width: float, align_corners: bool) -> Array:
        return UpsampleBilinear2dVecOp.numpy(x, _resized(x.shape, scale_factor_height, scale_factor_width)[2:], align_corners, None)


@coreml("identity(Tensor x) -> Tensor")
class IdentityMilOp(MoveMilOp):
    """x itself, under another name."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x
