"""Nodes that move elements."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.mps.dialect.nodes import NodeOp, Numbers, mps, require_floats
from flambeau.dialects.aten.movement.pad import margins
from flambeau.dialects.aten.movement.pixel_shuffle import PixelShuffleOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, shape_of, tensor
from flambeau.dialects.schema.move_types import joined_type, permuted_type, reshaped_type
from flambeau.support.lazy import Array, np


@mps("Permute(Tensor input1, *, int[] perm) -> Tensor")
class PermuteNodeOp(NodeOp):
    """The dimensions in another order."""

    @staticmethod
    def infer(x: Tensor, /, perm: Numbers) -> Tensor:
        return permuted_type(x, perm)

    @staticmethod
    def numpy(x: Array, /, perm: Numbers) -> Array:
        return x.transpose(perm)


@mps("View(Tensor input1, *, int[] shape) -> Tensor")
class ViewNodeOp(NodeOp):
    """input1 in another shape."""

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        if min(shape, default=1) < 1:
            raise ValueError(f"the shape {list(shape)} is not of sizes from 1 on")
        return reshaped_type(x, shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(shape)


@mps("Expand(Tensor input1, *, int[] shape) -> Tensor")
class ExpandNodeOp(NodeOp):
    """input1 broadcast to a shape of as many dimensions."""

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        if len(shape) != len(shape_of(x)) or broadcast(shape_of(x), shape) != tuple(shape):
            raise ValueError(f"{list(shape_of(x))} is not broadcast to {list(shape)}")
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return np.broadcast_to(x, shape)


@mps("Cat(Tensor[] input, *, int dim) -> Tensor")
class CatNodeOp(NodeOp):
    """Tensors one after the other along a dimension."""

    @staticmethod
    def infer(tensors: Sequence[Tensor], /, dim: int) -> Tensor:
        require_floats(*tensors)
        return joined_type(tensors, dim)

    @staticmethod
    def numpy(tensors: Sequence[Array], /, dim: int) -> Array:
        return np.concatenate(tensors, dim)


def _without(shape: Sequence[int], gone: Sequence[int]) -> Sequence[int]:
    if any(not 0 <= dim < len(shape) for dim in gone):
        raise ValueError(f"{list(shape)} has no dimensions {list(gone)}")
    return [size for dim, size in enumerate(shape) if dim not in gone]


@mps("Squeeze(Tensor input1, *, int[] dims) -> Tensor")
class SqueezeNodeOp(NodeOp):
    """input1 without dimensions of one entry."""

    @staticmethod
    def infer(x: Tensor, /, dims: Numbers) -> Tensor:
        return reshaped_type(x, _without(shape_of(x), dims))

    @staticmethod
    def numpy(x: Array, /, dims: Numbers) -> Array:
        return x.squeeze(dims)


@mps("Unsqueeze(Tensor input1, *, int dim) -> Tensor")
class UnsqueezeNodeOp(NodeOp):
    """input1 with a new dimension of one entry."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> Tensor:
        shape = list(shape_of(x))
        if not 0 <= dim <= len(shape):
            raise ValueError(f"{shape} has no place {dim} for a dimension")
        return tensor(f32, (*shape[:dim], 1, *shape[dim:]))

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return np.expand_dims(x, dim)


@mps("Select(Tensor input1, *, int dim, int index) -> Tensor")
class SelectNodeOp(NodeOp):
    """One entry of a dimension, which the result lacks."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: int) -> Tensor:
        shape = shape_of(x)
        rest = _without(shape, (dim,))
        if not 0 <= index < shape[dim]:
            raise ValueError(f"dimension {dim} of {list(shape)} has no entry {index}")
        return tensor(f32, rest)

    @staticmethod
    def numpy(x: Array, /, dim: int, index: int) -> Array:
        return np.take(x, index, dim)


@mps("Slice(Tensor input1, *, int dim, int start, int end, int step) -> Tensor")
class SliceNodeOp(NodeOp):
    """Every `step`th entry of a dimension, from `start` on, before `end`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, start: int, end: int, step: int) -> Tensor:
        shape = list(shape_of(x))
        _without(shape, (dim,))
        if not 0 <= start < end <= shape[dim] or step < 1:
            raise ValueError(f"dimension {dim} of {shape} has no entries from {start} to {end} in steps of {step}")
        shape[dim] = len(range(start, end, step))
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, /, dim: int, start: int, end: int, step: int) -> Array:
        return x[(slice(None),) * dim + (slice(start, end, step),)]


@mps("SplitWithSizes(Tensor input1, *, int[] split_sizes, int dim) -> Tensor[]")
class SplitWithSizesNodeOp(NodeOp):
    """Consecutive parts along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, split_sizes: Numbers, dim: int) -> list[Tensor]:
        shape = shape_of(x)
        _without(shape, (dim,))
        if min(split_sizes, default=0) < 1 or sum(split_sizes) != shape[dim]:
            raise ValueError(f"parts of {list(split_sizes)} are not the {shape[dim]} entries of dimension {dim}")
        return [tensor(f32, (*shape[:dim], size, *shape[dim + 1 :])) for size in split_sizes]

    @staticmethod
    def numpy(x: Array, /, split_sizes: Numbers, dim: int) -> list[Array]:
        return np.split(x, np.cumsum(split_sizes)[:-1].tolist(), dim)


@mps("PixelShuffle(Tensor input1, *, int upscale_factor) -> Tensor")
class PixelShuffleNodeOp(NodeOp):
    """Images whose channels become the pixels of blocks."""

    @staticmethod
    def infer(x: Tensor, /, upscale_factor: int) -> Tensor:
        return PixelShuffleOp.infer(x, upscale_factor)

    @staticmethod
    def numpy(x: Array, /, upscale_factor: int) -> Array:
        return PixelShuffleOp.numpy(x, upscale_factor)


@mps("ConstantPadND(Tensor input1, *, int[] pad, float value) -> Tensor")
class ConstantPadNodeOp(NodeOp):
    """input1 with a number around it: pairs of `pad`, of the last dimension first, say how much is before and behind each."""

    @staticmethod
    def infer(x: Tensor, /, pad: Numbers) -> Tensor:
        shape = shape_of(x)
        if len(pad) % 2 or len(pad) > 2 * len(shape) or min(pad, default=0) < 0:
            raise ValueError(f"the padding {list(pad)} is not pairs of numbers from 0 on, of {len(shape)} dimensions at most")
        return tensor(f32, [low + size + high for size, (low, high) in zip(shape, margins(pad, len(shape)), strict=True)])

    @staticmethod
    def numpy(x: Array, /, pad: Numbers, value: float) -> Array:
        return np.pad(x, margins(pad, x.ndim), constant_values=np.float32(value))
