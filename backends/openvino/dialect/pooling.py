"""Pools of images."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino
from flambeau.backends.openvino.dialect.products import check_window
from flambeau.dialects.aten.images.pool import AdaptiveAvgPool2dCoreOp
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.ir.tensor_types import Tensor, f32, shape_of, tensor
from flambeau.dialects.schema.families import require_only, require_rank
from flambeau.support.lazy import Array, np

_POOL = "int[] strides, int[] pads_begin, int[] pads_end, int[] kernel, str rounding_type='floor', str auto_pad='explicit'"


class PoolLayerOp(LayerOp):
    """A pool over the dimensions of images."""

    @staticmethod
    def infer(
        x: Tensor, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, kernel: Numbers, rounding_type: str, auto_pad: str
    ) -> Tensor:
        shape = shape_of(x)
        require_rank("data", shape, 4)
        require_only("rounding_type", rounding_type, "floor")
        check_window(2, strides, pads_begin, pads_end, kernel, auto_pad)
        if any(pad >= size for pads in (pads_begin, pads_end) for pad, size in zip(pads, kernel, strict=True)):
            raise ValueError(f"pads are as large as the window {list(kernel)}: some windows hold nothing")
        numbers = zip(shape[2:], pads_begin, pads_end, kernel, strides, strict=True)
        return tensor(
            f32, (*shape[:2], *(window_count(extent + low + high, size, step, 0, 1) for extent, low, high, size, step in numbers))
        )


def _windows(x: Array, strides: Numbers, before: Numbers, behind: Numbers, kernel: Numbers, outside: float) -> Array:
    """Returns the windows of images padded with `outside`: [batch, channels, height, width, window height, window width]."""
    padded = np.pad(x, [(0, 0), (0, 0), *zip(before, behind, strict=True)], constant_values=np.float32(outside))
    views = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))
    return views[:, :, :: strides[0], :: strides[1]]


@openvino(f"MaxPool(Tensor data, *, {_POOL}) -> Tensor")
class MaxPoolLayerOp(PoolLayerOp):
    """The largest element of each window."""

    @staticmethod
    def numpy(x: Array, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, kernel: Numbers) -> Array:
        return _windows(x, strides, pads_begin, pads_end, kernel, -np.inf).max((-2, -1))


@openvino(f"AvgPool(Tensor data, *, {_POOL}, bool exclude_pad) -> Tensor")
class AvgPoolLayerOp(PoolLayerOp):
    """The mean of each window, without the padding if it is excluded."""

    @staticmethod
    def numpy(x: Array, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, kernel: Numbers, exclude_pad: bool) -> Array:
        inside = _windows(np.ones_like(x), strides, pads_begin, pads_end, kernel, 0 if exclude_pad else 1)
        return _windows(x, strides, pads_begin, pads_end, kernel, 0).sum((-2, -1)) / inside.sum((-2, -1))


@openvino("AdaptiveAvgPool(Tensor data, int[] output_shape) -> Tensor")
class AdaptiveAvgPoolLayerOp(LayerOp):
    """The means of the windows into which the result's sizes divide the image."""

    opset = 8

    @staticmethod
    def infer(x: Tensor, output_shape: Numbers, /) -> Tensor:
        shape = shape_of(x)
        require_rank("data", shape, 4)
        if len(output_shape) != 2 or min(output_shape) < 1:
            raise ValueError(f"output_shape {list(output_shape)} must be a height and a width")
        return tensor(f32, (*shape[:2], *output_shape))

    @staticmethod
    def numpy(x: Array, output_shape: Numbers, /) -> Array:
        return AdaptiveAvgPool2dCoreOp.numpy(x, output_shape)
