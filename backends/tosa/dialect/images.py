"""Convolutions and pools of images."""

from __future__ import annotations

from typing import ClassVar

from flambeau.backends.tosa.dialect.operators import FACTORS, Numbers, TosaOp, as_sums, factor, scaled, tosa, weight_type, wide
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.library.windows import windows
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


def _steps(size: int, around: int, kernel: int, stride: int, dilation: int) -> int:
    """Returns the number of windows. Raises ValueError where they do not end with the padded image."""
    room = size - 1 + around - (kernel - 1) * dilation
    if room < 0 or room % stride:
        gaps = f" with gaps of {dilation}" if dilation > 1 else ""
        raise ValueError(f"windows of {kernel}{gaps} in steps of {stride} do not end where {size} elements and {around} of padding do")
    return room // stride + 1


def _image_after(x: Tensor, kernel: Numbers, stride: Numbers, pad: Numbers, dilation: Numbers = (1, 1)) -> tuple[int, int]:
    shape = shape_of(x)
    if len(shape) != 4 or min(*kernel, *stride, *dilation) < 1 or min(pad) < 0:
        raise ValueError(
            f"an image has 4 dimensions, windows and steps are positive; got {list(shape)}, {kernel}, {stride}, {pad}, {dilation}"
        )
    tall = _steps(shape[1], pad[0] + pad[1], kernel[0], stride[0], dilation[0])
    return tall, _steps(shape[2], pad[2] + pad[3], kernel[1], stride[1], dilation[1])


def _padded(x: Array, pad: Numbers) -> Array:
    return np.pad(x, ((0, 0), (pad[0], pad[1]), (pad[2], pad[3]), (0, 0)))


class _WeightedOp(TosaOp):
    """A sum of products with weights and of a bias: of int8 in int32, of int16 and weights of int8 in int48, of float16 in float32."""

    takes = FACTORS

    @staticmethod
    def check_elements(x: Tensor, weight: Tensor, bias: Tensor) -> None:
        """Raises ValueError for a weight or a bias of another element type than that of `x` has."""
        if element_of(weight) != weight_type(element_of(x)) or element_of(bias) != wide(element_of(x)):
            raise ValueError(f"{element_of(x)}, {element_of(weight)} and a bias of {element_of(bias)} do not fit")


class _ConvolutionOp(_WeightedOp):
    """A convolution."""

    order: ClassVar[tuple[int, ...]]
    """The dimensions of the weight in this order: two of channels, height, width."""
    of_each_channel: ClassVar[bool]
    """Whether the channels are those of the image and the results of each; otherwise they are the outputs and the inputs."""

    @classmethod
    def infer(cls, x: Tensor, weight: Tensor, bias: Tensor, /, pad: Numbers, stride: Numbers, dilation: Numbers) -> Tensor:
        if len(shape_of(weight)) != 4:
            raise ValueError(f"a weight has 4 dimensions, got {list(shape_of(weight))}")
        first, second, *kernel = (shape_of(weight)[dim] for dim in cls.order)
        inputs, outputs = (first, first * second) if cls.of_each_channel else (second, first)
        size = _image_after(x, kernel, stride, pad, dilation)
        if inputs != shape_of(x)[3] or shape_of(bias) not in ((1,), (outputs,)):
            raise ValueError(f"{list(shape_of(x))}, the weight {list(shape_of(weight))} and the bias {list(shape_of(bias))} do not fit")
        cls.check_elements(x, weight, bias)
        return tensor(wide(element_of(x)), (shape_of(x)[0], *size, outputs))

    @classmethod
    def numpy(
        cls, x: Array, weight: Array, bias: Array, /, input_zp: int, weight_zp: int, pad: Numbers, stride: Numbers, dilation: Numbers
    ) -> Array:
        kernel, groups = factor(weight, weight_zp).transpose(cls.order), 1
        if cls.of_each_channel:
            groups, kernel = len(kernel), kernel.reshape(-1, 1, *kernel.shape[2:])
        image = _padded(factor(x, input_zp), pad).transpose(0, 3, 1, 2)
        numbers = np.broadcast_to(factor(bias), kernel.shape[:1])
        found = ConvolutionOp.numpy(image, kernel, numbers, tuple(stride), (0, 0), tuple(dilation), False, (0, 0), groups)
        return as_sums(found.transpose(0, 2, 3, 1), x)


_OF_WINDOWS = "int input_zp=0, int weight_zp=0, *, int[4] pad, int[2] stride, int[2] dilation) -> Tensor"


@tosa(f"conv2d(Tensor input, Tensor weight, Tensor bias, {_OF_WINDOWS}")
class Conv2dOp(_ConvolutionOp):
    """A convolution by a weight [outputs, height, width, inputs]."""

    order = (0, 3, 1, 2)
    of_each_channel = False


@tosa(f"depthwise_conv2d(Tensor input, Tensor weight, Tensor bias, {_OF_WINDOWS}")
class DepthwiseConv2dOp(_ConvolutionOp):
    """A convolution of each channel by a weight [height, width, channels, results of a channel]."""

    order = (2, 3, 0, 1)
    of_each_channel = True


class _PoolOp(TosaOp):
    takes = FACTORS

    @classmethod
    def infer(cls, x: Tensor, /, kernel: Numbers, stride: Numbers, pad: Numbers) -> Tensor:
        if max(pad[:2]) >= kernel[0] or max(pad[2:]) >= kernel[1]:
            raise ValueError(f"the padding {list(pad)} is as large as the window {list(kernel)}")
        return tensor(element_of(x), (shape_of(x)[0], *_image_after(x, kernel, stride, pad), shape_of(x)[3]))

    @staticmethod
    def windows(x: Array, kernel: Numbers, stride: Numbers, pad: Numbers, fill: float) -> Array:
        """Returns the windows of images padded with `fill`: [batch, channels, *counts, *kernel]."""
        planes, before = x.transpose(0, 3, 1, 2), (pad[0], pad[2])
        sizes = zip(planes.shape[2:], kernel, stride, (pad[:2], pad[2:]), strict=True)
        counts = [_steps(size, sum(around), window, step, 1) for size, window, step, around in sizes]
        return windows(planes, kernel, stride, before, (1, 1), counts, fill)


@tosa("max_pool2d(Tensor input, *, int[2] kernel, int[2] stride, int[4] pad) -> Tensor")
class MaxPool2dOp(_PoolOp):
    """The largest element of each window."""

    @classmethod
    def numpy(cls, x: Array, /, kernel: Numbers, stride: Numbers, pad: Numbers) -> Array:
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return cls.windows(x, kernel, stride, pad, least).max((-2, -1)).transpose(0, 2, 3, 1)


@tosa("avg_pool2d(Tensor input, int input_zp=0, int output_zp=0, *, int[2] kernel, int[2] stride, int[4] pad) -> Tensor")
class AvgPool2dOp(_PoolOp):
    """The mean of those elements of each window that are inside the image; of integers, by `reciprocal_scale`."""

    @classmethod
    def numpy(cls, x: Array, /, input_zp: int, output_zp: int, kernel: Numbers, stride: Numbers, pad: Numbers) -> Array:
        exact = factor(x) if x.dtype.kind == "f" else x.astype(np.int64) - input_zp
        sums, counts = (
            cls.windows(item, kernel, stride, pad, 0).sum((-2, -1), dtype=item.dtype).transpose(0, 2, 3, 1)
            for item in (exact, np.ones(x.shape, np.int64))
        )
        if x.dtype.kind == "f":
            return (sums / counts).astype(x.dtype)
        bits = np.ceil(np.log2(counts)).astype(np.int64)
        means = scaled(sums, (((1 << 30) + 1) << bits) // counts, 30 + bits) + output_zp
        limits = np.iinfo(x.dtype)
        return means.clip(limits.min, limits.max).astype(x.dtype)


_OUTWARD = "int input_zp=0, int weight_zp=0, *, int[4] out_pad, int[2] stride) -> Tensor"


@tosa(f"transpose_conv2d(Tensor input, Tensor weight, Tensor bias, {_OUTWARD}")
class TransposeConv2dOp(_WeightedOp):
    """The sum of a weight [outputs, height, width, inputs] times each element, in steps; `out_pad` adds at the sides or takes away."""

    @classmethod
    def infer(cls, x: Tensor, weight: Tensor, bias: Tensor, /, out_pad: Numbers, stride: Numbers) -> Tensor:
        shape, kernel = shape_of(x), shape_of(weight)
        if len(shape) != 4 or len(kernel) != 4 or kernel[3] != shape[3] or shape_of(bias) not in ((1,), (kernel[0],)):
            raise ValueError(f"{list(shape)}, the weight {list(kernel)} and the bias {list(shape_of(bias))} do not fit")
        cls.check_elements(x, weight, bias)
        if min(stride) < 1 or min(out_pad[:2]) <= -kernel[1] or min(out_pad[2:]) <= -kernel[2]:
            raise ValueError(
                f"steps {list(stride)} are from 1 on, and {list(out_pad)} leaves something of each window of {list(kernel[1:3])}"
            )
        sizes = [(shape[1 + dim] - 1) * stride[dim] + out_pad[2 * dim] + out_pad[2 * dim + 1] + kernel[1 + dim] for dim in (0, 1)]
        if min(sizes) < 1:
            raise ValueError(f"{list(out_pad)} leaves nothing of the image")
        return tensor(wide(element_of(x)), (shape[0], *sizes, kernel[0]))

    @staticmethod
    def numpy(x: Array, weight: Array, bias: Array, /, input_zp: int, weight_zp: int, out_pad: Numbers, stride: Numbers) -> Array:
        image, kernel = factor(x, input_zp).transpose(0, 3, 1, 2), factor(weight, weight_zp).transpose(3, 0, 1, 2)
        sums = ConvolutionOp.numpy(image, kernel, None, tuple(stride), (0, 0), (1, 1), True, (0, 0), 1).transpose(0, 2, 3, 1)
        around = out_pad[:2], out_pad[2:]
        sums = sums[:, *(slice(max(-low, 0), size + min(high, 0)) for size, (low, high) in zip(sums.shape[1:3], around, strict=True))]
        sums = _padded(sums, [max(item, 0) for item in out_pad])
        return as_sums(sums + factor(bias), x)
