"""Products, convolutions and pools."""

from __future__ import annotations

from flambeau.backends.mps.dialect.nodes import OF_TWO, NodeOp, mps, require_floats
from flambeau.dialects.aten.layers.convolution import cross_correlate
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, shape_of, tensor
from flambeau.support.lazy import Array, np

_PADS = "int padding_left, int padding_right, int padding_top, int padding_bottom"
_WINDOW = f"int stride_x, int stride_y, int dilation_x, int dilation_y, int groups, {_PADS}"
_POOL = (
    f"int kernel_height, int kernel_width, int stride_height, int stride_width, {_PADS}, int dilation_height, int dilation_width, "
    "bool ceil_mode=False, bool count_include_pad, int divisor_override=0"
)


def _product(x: Tensor, y: Tensor) -> tuple[int, ...]:
    require_floats(y)
    left, right = shape_of(x), shape_of(y)
    if min(len(left), len(right)) < 2 or left[-1] != right[-2]:
        raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
    return (*broadcast(left[:-2], right[:-2]), left[-2], right[-1])


@mps(f"MatMul{OF_TWO}")
class MatMulNodeOp(NodeOp):
    """The product of matrices, with batches broadcast."""

    @staticmethod
    def infer(x: Tensor, y: Tensor, /) -> Tensor:
        return tensor(f32, _product(x, y))

    @staticmethod
    def numpy(x: Array, y: Array, /) -> Array:
        return np.matmul(x, y)


@mps("Addmm(Tensor input1, Tensor input2, Tensor input3, *, float beta=1.0, float alpha=1.0) -> Tensor")
class AddmmNodeOp(NodeOp):
    """beta * input1 + alpha * input2 @ input3."""

    @staticmethod
    def infer(bias: Tensor, x: Tensor, y: Tensor, /) -> Tensor:
        require_floats(x)
        shape = _product(x, y)
        if broadcast(shape, shape_of(bias)) != shape:
            raise ValueError(f"the addend {list(shape_of(bias))} is not broadcast to {list(shape)}")
        return tensor(f32, shape)

    @staticmethod
    def numpy(bias: Array, x: Array, y: Array, /, beta: float, alpha: float) -> Array:
        return np.float32(beta) * bias + np.float32(alpha) * np.matmul(x, y)


class ConvolutionNodeOp(NodeOp):
    """A convolution of images by a weight [outputs, inputs of a group, height, width]."""

    @staticmethod
    def infer(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        /,
        stride_x: int,
        stride_y: int,
        dilation_x: int,
        dilation_y: int,
        groups: int,
        padding_left: int,
        padding_right: int,
        padding_top: int,
        padding_bottom: int,
    ) -> Tensor:
        require_floats(weight, bias)
        image, kernels = shape_of(x), shape_of(weight)
        if len(image) != 4 or len(kernels) != 4 or groups < 1 or kernels[0] % groups or image[1] != kernels[1] * groups:
            raise ValueError(f"the image {list(image)} does not fit the weight {list(kernels)} in {groups} groups")
        if bias is not None and shape_of(bias) != kernels[:1]:
            raise ValueError(f"the bias {list(shape_of(bias))} is not one number for each of {kernels[0]} outputs")
        if min(stride_x, stride_y, dilation_x, dilation_y) < 1 or min(padding_left, padding_right, padding_top, padding_bottom) < 0:
            raise ValueError("strides and dilations must be positive, and pads must not be negative")
        height = window_count(image[2] + padding_top + padding_bottom, kernels[2], stride_y, 0, dilation_y)
        return tensor(
            f32,
            (image[0], kernels[0], height, window_count(image[3] + padding_left + padding_right, kernels[3], stride_x, 0, dilation_x)),
        )

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array | None,
        /,
        stride_x: int,
        stride_y: int,
        dilation_x: int,
        dilation_y: int,
        groups: int,
        padding_left: int,
        padding_right: int,
        padding_top: int,
        padding_bottom: int,
    ) -> Array:
        padded = np.pad(x, ((0, 0), (0, 0), (padding_top, padding_bottom), (padding_left, padding_right)))
        result = cross_correlate(padded, weight, (stride_y, stride_x), (0, 0), (dilation_y, dilation_x), groups)
        return result if bias is None else result + bias.reshape(-1, 1, 1)


@mps(f"Conv2D(Tensor input1, Tensor input2, Tensor? input3=None, *, {_WINDOW}) -> Tensor")
class Conv2DNodeOp(ConvolutionNodeOp):
    """A convolution in groups of channels."""


@mps(f"DepthwiseConv2D(Tensor input1, Tensor input2, Tensor? input3=None, *, {_WINDOW}) -> Tensor")
class DepthwiseConv2DNodeOp(ConvolutionNodeOp):
    """A convolution of each channel alone: a group has one input."""


class PoolNodeOp(NodeOp):
    """A pool of images."""

    @staticmethod
    def infer(
        x: Tensor,
        /,
        kernel_height: int,
        kernel_width: int,
        stride_height: int,
        stride_width: int,
        padding_left: int,
        padding_right: int,
        padding_top: int,
        padding_bottom: int,
        dilation_height: int,
        dilation_width: int,
        ceil_mode: bool,
        divisor_override: int,
    ) -> Tensor:
        image = shape_of(x)
        if len(image) != 4 or ceil_mode or divisor_override:
            raise ValueError(f"{list(image)} is no image, or ceil_mode or divisor_override is not what is supported here")
        if min(kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width) < 1:
            raise ValueError("kernels, strides and dilations must be positive")
        pads = padding_left, padding_right, padding_top, padding_bottom
        if min(pads) < 0 or max(pads[:2]) >= kernel_width or max(pads[2:]) >= kernel_height:
            raise ValueError(f"pads {list(pads)} do not fit the window {[kernel_height, kernel_width]}: some windows hold nothing")
        height = window_count(image[2] + padding_top + padding_bottom, kernel_height, stride_height, 0, dilation_height)
        width = window_count(image[3] + padding_left + padding_right, kernel_width, stride_width, 0, dilation_width)
        return tensor(f32, (*image[:2], height, width))


def _windows(
    x: Array,
    outside: float,
    kernel_height: int,
    kernel_width: int,
    stride_height: int,
    stride_width: int,
    padding_left: int,
    padding_right: int,
    padding_top: int,
    padding_bottom: int,
    dilation_height: int,
    dilation_width: int,
) -> Array:
    """Returns the windows of padded images, whose elements are the last two dimensions."""
    pads = ((0, 0), (0, 0), (padding_top, padding_bottom), (padding_left, padding_right))
    padded = np.pad(x, pads, constant_values=np.float32(outside))
    reach = dilation_height * (kernel_height - 1) + 1, dilation_width * (kernel_width - 1) + 1
    views = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    return views[:, :, ::stride_height, ::stride_width, ::dilation_height, ::dilation_width]


@mps(f"MaxPool2DWithIndices(Tensor input1, *, {_POOL}) -> Tensor")
class MaxPool2DNodeOp(PoolNodeOp):
    """The largest element of each window."""

    @staticmethod
    def numpy(x: Array, /, *window: int) -> Array:
        return _windows(x, -np.inf, *window[:10]).max((-2, -1))


@mps(f"AvgPool2D(Tensor input1, *, {_POOL}) -> Tensor")
class AvgPool2DNodeOp(PoolNodeOp):
    """The mean of each window, with the padding if it counts."""

    @staticmethod
    def numpy(x: Array, /, *window: int) -> Array:
        inside = _windows(np.ones_like(x), float(window[11]), *window[:10])
        return _windows(x, 0, *window[:10]).sum((-2, -1)) / inside.sum((-2, -1))
