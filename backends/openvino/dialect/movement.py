"""Layers that move elements, or interpolate between them."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino, require_floats
from flambeau.dialects.aten.images.upsample import UpsampleBilinear2dVecOp, UpsampleNearest2dVecOp
from flambeau.dialects.aten.movement.concat import CatOp
from flambeau.dialects.aten.movement.pixel_shuffle import PixelShuffleOp
from flambeau.dialects.aten.movement.split import SplitWithSizesOp
from flambeau.dialects.ir.extents import exceeds, is_known, maximum, minimum
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import require_only, require_rank
from flambeau.passes.delegation.lowering.reshapes import pattern_shape
from flambeau.support.lazy import Array, np


@openvino("Transpose(Tensor arg, int[] input_order) -> Tensor")
class TransposeLayerOp(LayerOp):
    """The dimensions in another order: dimension i of the result is dimension input_order[i] of the input."""

    @staticmethod
    def infer(x: Tensor, order: Numbers, /) -> Tensor:
        shape = shape_of(x)
        if sorted(order) != list(range(len(shape))):
            raise ValueError(f"input_order {list(order)} is no order of {len(shape)} dimensions")
        return tensor(f32, tuple(shape[dim] for dim in order))

    @staticmethod
    def numpy(x: Array, order: Numbers, /) -> Array:
        return x.transpose(order)


@openvino("Reshape(Tensor data, int[] pattern, *, bool special_zero=False) -> Tensor")
class ReshapeLayerOp(LayerOp):
    """The same elements in another shape."""

    @staticmethod
    def infer(x: Tensor, pattern: Numbers, /, special_zero: bool) -> Tensor:
        return tensor(f32, pattern_shape(shape_of(x), pattern, special_zero))

    @staticmethod
    def numpy(x: Array, pattern: Numbers, /, special_zero: bool) -> Array:
        return x.reshape(pattern_shape(x.shape, pattern, special_zero))


@openvino("Squeeze(Tensor data, int[] axes) -> Tensor")
class SqueezeLayerOp(LayerOp):
    """The input without the dimensions `axes`, each of which must have one entry."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /) -> Tensor:
        shape = shape_of(x)
        dims = {normalize_dim(axis, len(shape)) for axis in axes}
        if any(shape[dim] != 1 for dim in dims):
            raise ValueError(f"axes {list(axes)} of {list(shape)} have more than one entry")
        return tensor(f32, tuple(extent for dim, extent in enumerate(shape) if dim not in dims))

    @staticmethod
    def numpy(x: Array, axes: Numbers, /) -> Array:
        return x.squeeze(axes)


@openvino("Unsqueeze(Tensor data, int[] axes) -> Tensor")
class UnsqueezeLayerOp(LayerOp):
    """The input with additional dimensions of one entry, at the given places of the result."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /) -> Tensor:
        shape = list(shape_of(x))
        for dim in sorted(normalize_dim(axis, len(shape) + len(axes)) for axis in axes):
            shape.insert(dim, 1)
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, axes: Numbers, /) -> Array:
        return np.expand_dims(x, axes)


@openvino("Broadcast(Tensor data, int[] target_shape, *, str mode='bidirectional') -> Tensor")
class BroadcastLayerOp(LayerOp):
    """The input, broadcast to the shape to which its shape and the target shape broadcast."""

    opset = 3

    @staticmethod
    def infer(x: Tensor, target: Numbers, /, mode: str) -> Tensor:
        require_only("mode", mode, "bidirectional")
        if min(target, default=1) < 1:
            raise ValueError(f"target_shape {list(target)} must be positive")
        return tensor(f32, broadcast(shape_of(x), target))

    @staticmethod
    def numpy(x: Array, target: Numbers, /) -> Array:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, target))


@openvino("Concat(Tensor[] tensors, *, int axis) -> Tensor")
class ConcatLayerOp(LayerOp):
    """The inputs one after another along a dimension."""

    @staticmethod
    def infer(tensors: list[Tensor], /, axis: int) -> Tensor:
        require_floats(*tensors)
        if any(len(shape_of(x)) != len(shape_of(tensors[0])) for x in tensors):
            raise ValueError("its inputs must have the same number of dimensions")
        return tensor(f32, shape_of(CatOp.infer(tensors, axis)))

    @staticmethod
    def numpy(tensors: list[Array], /, axis: int) -> Array:
        return np.concatenate(tensors, axis)


@openvino("VariadicSplit(Tensor data, int axis, int[] split_lengths) -> Tensor[]")
class VariadicSplitLayerOp(LayerOp):
    """Consecutive parts along a dimension."""

    @staticmethod
    def infer(x: Tensor, axis: int, lengths: Numbers, /) -> list[Tensor]:
        return SplitWithSizesOp.infer(x, lengths, axis)

    @staticmethod
    def numpy(x: Array, axis: int, lengths: Numbers, /) -> list[Array]:
        return SplitWithSizesOp.numpy(x, lengths, axis)


@openvino("Slice(Tensor data, int[] start, int[] stop, int[] step, int[] axes) -> Tensor")
class SliceLayerOp(LayerOp):
    """The entries from `start` to before `stop` of some dimensions."""

    opset = 8

    @staticmethod
    def infer(x: Tensor, start: Numbers, stop: Numbers, step: Numbers, axes: Numbers, /) -> Tensor:
        shape = list(shape_of(x))
        if not len(start) == len(stop) == len(step) == len(axes) or min(step, default=1) < 1 or min((*start, *stop), default=0) < 0:
            raise ValueError(
                "start, stop and step have a number for each of the axes; no negative ones are supported here, nor a step of 0"
            )
        for first, end, gap, axis in zip(start, stop, step, axes, strict=True):
            dim = normalize_dim(axis, len(shape))
            shape[dim] = maximum(0, (minimum(end, shape[dim]) - first + gap - 1) // gap)
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, start: Numbers, stop: Numbers, step: Numbers, axes: Numbers, /) -> Array:
        parts = [slice(None)] * x.ndim
        for first, end, gap, axis in zip(start, stop, step, axes, strict=True):
            parts[axis] = slice(first, end, gap)
        return x[tuple(parts)]


@openvino("Gather(Tensor data, int indices, int axis, *, int batch_dims=0) -> Tensor")
class GatherLayerOp(LayerOp):
    """One entry of a dimension, which the result lacks. A negative index counts from the end."""

    opset = 8

    @staticmethod
    def infer(x: Tensor, index: int, axis: int, /, batch_dims: int) -> Tensor:
        require_only("batch_dims", batch_dims, 0)
        shape = list(shape_of(x))
        extent = shape.pop(normalize_dim(axis, len(shape)))
        if exceeds(index + 1, extent) or exceeds(-index, extent):
            raise ValueError(f"dimension {axis} of {list(shape_of(x))} has no entry {index}")
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, index: int, axis: int, /) -> Array:
        return np.take(x, index, axis)


@openvino("Pad(Tensor arg, int[] pads_begin, int[] pads_end, float arg_pad_value, *, str pad_mode='constant') -> Tensor")
class PadLayerOp(LayerOp):
    """The input, padded with a number at the start and at the end of each dimension."""

    @staticmethod
    def infer(x: Tensor, before: Numbers, behind: Numbers, /, pad_mode: str) -> Tensor:
        require_only("pad_mode", pad_mode, "constant")
        shape = shape_of(x)
        if not len(before) == len(behind) == len(shape) or min((0, *before, *behind)) < 0:
            raise ValueError(f"pads {list(before)} and {list(behind)} do not fit the shape {list(shape)}")
        return tensor(f32, tuple(low + extent + high for low, extent, high in zip(before, shape, behind, strict=True)))

    @staticmethod
    def numpy(x: Array, before: Numbers, behind: Numbers, value: float, /) -> Array:
        return np.pad(x, list(zip(before, behind, strict=True)), constant_values=np.float32(value))


@openvino("DepthToSpace(Tensor data, *, str mode='depth_first', int block_size=1) -> Tensor")
class DepthToSpaceLayerOp(LayerOp):
    """Images whose channels become the pixels of blocks."""

    @staticmethod
    def infer(x: Tensor, /, mode: str, block_size: int) -> Tensor:
        require_rank("data", shape_of(x), 4)
        require_only("mode", mode, "depth_first")
        return PixelShuffleOp.infer(x, block_size)

    @staticmethod
    def numpy(x: Array, /, block_size: int) -> Array:
        return PixelShuffleOp.numpy(x, block_size)


_INTERPOLATION = (
    "str mode, str shape_calculation_mode='sizes', str coordinate_transformation_mode, str nearest_mode='floor', bool antialias=False, "
    "int[] pads_begin=[0], int[] pads_end=[0], float cube_coeff=-0.75"
)


@openvino(f"Interpolate(Tensor data, int[] output_shape, float[] scales, int[] axes, *, {_INTERPOLATION}) -> Tensor")
class InterpolateLayerOp(LayerOp):
    """Images resized to the nearest pixel, or by interpolation between four."""

    opset = 4

    @staticmethod
    def infer(
        x: Tensor,
        output_shape: Numbers,
        scales: tuple[float, ...],
        axes: Numbers,
        /,
        mode: str,
        shape_calculation_mode: str,
        coordinate_transformation_mode: str,
        nearest_mode: str,
        antialias: bool,
        pads_begin: Numbers,
        pads_end: Numbers,
    ) -> Tensor:
        shape = shape_of(x)
        require_rank("data", shape, 4)
        known = {"nearest": ("asymmetric",), "linear_onnx": ("align_corners", "pytorch_half_pixel")}
        if coordinate_transformation_mode not in known.get(mode, ()):
            raise ValueError(f"mode {mode!r} with the coordinates {coordinate_transformation_mode!r} is not supported here")
        for what, found, only in (
            ("shape_calculation_mode", shape_calculation_mode, "sizes"),
            ("nearest_mode", nearest_mode, "floor"),
            ("antialias", antialias, False),
            ("pads", (*pads_begin, *pads_end), (0, 0)),
            ("axes", axes, (2, 3)),
        ):
            require_only(what, found, only)
        if len(output_shape) != 2 or len(scales) != 2 or min(output_shape) < 1 or not all(map(is_known, shape[2:])):
            raise ValueError(f"output_shape {list(output_shape)} must be a height and a width, of images of known sizes")
        return tensor(f32, (*shape[:2], *output_shape))

    @staticmethod
    def numpy(x: Array, output_shape: Numbers, /, mode: str, coordinate_transformation_mode: str) -> Array:
        if mode == "nearest":
            return UpsampleNearest2dVecOp.numpy(x, output_shape, None)
        return UpsampleBilinear2dVecOp.numpy(x, output_shape, coordinate_transformation_mode == "align_corners", None)
