"""Operators that compute one thing of several elements: pools, reductions and norms."""

from __future__ import annotations

from math import prod
from typing import ClassVar, cast

from flambeau.backends.vulkan.dialect.kernels import (
    GROUP,
    MOST_GROUPS,
    Dispatch,
    KernelOp,
    Numbers,
    elements,
    like,
    over,
    require_alike,
    vulkan,
    word,
)
from flambeau.dialects.aten.layers.norm import moments
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.aten.reductions.softmax import LogSoftmaxOp, SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, shape_of
from flambeau.support.lazy import Array, np

# Pools

_POOL = "int[] kernel, int[] stride, int[] padding, int[] dilation"


class PoolKernelOp(KernelOp):
    """A pool over the dimensions of images."""

    constants: ClassVar[tuple[bool, bool]]
    """Whether it is a mean, and counts pads."""

    @staticmethod
    def infer(x: Tensor, /, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4 or any(len(numbers) != 2 for numbers in (kernel, stride, padding, dilation)):
            raise ValueError(f"{list(shape)} is no image, or a list of its window is not of two numbers")
        if min(*kernel, *stride, *dilation) < 1 or any(not 0 <= 2 * pad <= size for pad, size in zip(padding, kernel, strict=True)):
            raise ValueError(f"the window {list(kernel)} of stride {list(stride)} has the padding {list(padding)}")
        numbers = zip(shape[2:], kernel, stride, padding, dilation, strict=True)
        return like(x, (*shape[:2], *(window_count(size, each, step, pad, gap) for size, each, step, pad, gap in numbers)))

    def dispatches(self) -> list[Dispatch]:
        x, kernel, stride, padding, dilation = self.arguments()
        count = elements(self.result)
        constants = (*map(int, self.constants), *kernel, *stride, *padding, *dilation)
        pushed = (count, *shape_of(x)[2:], *shape_of(self.result)[2:])
        return [Dispatch("pool", constants, pushed, (x, self.result), over(count))]


def _windows(x: Array, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, outside: float) -> Array:
    """Returns the windows of images padded with `outside`: [batch, channels, height, width, window height, window width]."""
    padded = np.pad(x, [(0, 0), (0, 0), *((pad, pad) for pad in padding)], constant_values=np.float32(outside))
    reach = tuple(gap * (size - 1) + 1 for size, gap in zip(kernel, dilation, strict=True))
    views = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    return views[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


@vulkan(f"max_pool2d(Tensor x, *, {_POOL}) -> Tensor")
class MaxPool2dKernelOp(PoolKernelOp):
    """The largest element of each window; NaN if it has one."""

    constants = (False, False)

    @staticmethod
    def numpy(x: Array, /, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers) -> Array:
        return _windows(x, kernel, stride, padding, dilation, -np.inf).max((-2, -1))


@vulkan(f"avg_pool2d(Tensor x, *, {_POOL}) -> Tensor")
class AvgPool2dKernelOp(PoolKernelOp):
    """The mean of each window, whose pads are zeros."""

    constants = (True, True)

    @staticmethod
    def numpy(x: Array, /, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers) -> Array:
        return _windows(x, kernel, stride, padding, dilation, 0).mean((-2, -1))


@vulkan(f"avg_pool2d_inside(Tensor x, *, {_POOL}) -> Tensor")
class AvgPool2dInsideKernelOp(PoolKernelOp):
    """The mean of the elements of each window that are in the image."""

    constants = (True, False)

    @staticmethod
    def numpy(x: Array, /, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers) -> Array:
        inside = _windows(np.ones_like(x), kernel, stride, padding, dilation, 0).sum((-2, -1))
        return _windows(x, kernel, stride, padding, dilation, 0).sum((-2, -1)) / inside


# Rows

FEW = 16
"""Rows of up to so many elements have one invocation each."""
WIDE = 64
"""So do rows beside as many others, which neighbours read together."""


def lanes_of(rows: int, count: int, inner: int) -> tuple[int, int, tuple[int, int, int]]:
    """Returns the invocations of a row, the rows that each computes one after the other, and the workgroups."""
    lanes = 1 if count <= FEW or inner >= WIDE else GROUP
    wanted = -(-rows // (GROUP // lanes))
    groups = min(wanted, MOST_GROUPS)
    return lanes, -(-wanted // groups), (groups, 1, 1)


class ReductionKernelOp(KernelOp):
    """A reduction over neighbouring dimensions, which the result does not have."""

    number: ClassVar[int]
    """The number of the reduction in `runtime/shaders/lanes.glsl`."""
    is_mean: ClassVar[bool] = False

    @staticmethod
    def infer(x: Tensor, /, axes: Numbers) -> Tensor:
        shape = shape_of(x)
        if not axes or axes != tuple(range(axes[0], axes[0] + len(axes))) or axes[0] < 0 or axes[-1] >= len(shape):
            raise ValueError(f"axes {list(axes)} are no neighbours of {list(shape)}")
        return like(x, (*shape[: axes[0]], *shape[axes[-1] + 1 :]))

    def dispatches(self) -> list[Dispatch]:
        x, axes = self.operands[0], cast(Numbers, self.argument("axes"))
        shape = shape_of(x)
        count, inner, rows = prod(shape[dim] for dim in axes), prod(shape[axes[-1] + 1 :]), elements(self.result)
        lanes, turns, groups = lanes_of(rows, count, inner)
        pushed = (rows, count, inner, turns, word(1 / count if self.is_mean else 1))
        return [Dispatch("reduce", (self.number, lanes), pushed, (x, self.result), groups)]


@vulkan("reduce_sum(Tensor x, *, int[] axes) -> Tensor")
class ReduceSumKernelOp(ReductionKernelOp):
    """The sum over dimensions."""

    number = 0

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return x.sum(axes)


@vulkan("reduce_mean(Tensor x, *, int[] axes) -> Tensor")
class ReduceMeanKernelOp(ReductionKernelOp):
    """The mean over dimensions."""

    number = 0
    is_mean = True

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return x.mean(axes)


@vulkan("reduce_max(Tensor x, *, int[] axes) -> Tensor")
class ReduceMaxKernelOp(ReductionKernelOp):
    """The largest element over dimensions; NaN if there is one."""

    number = 1

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return x.max(axes)


@vulkan("reduce_min(Tensor x, *, int[] axes) -> Tensor")
class ReduceMinKernelOp(ReductionKernelOp):
    """The smallest element over dimensions; NaN if there is one."""

    number = 2

    @staticmethod
    def numpy(x: Array, /, axes: Numbers) -> Array:
        return x.min(axes)


class SoftmaxFamilyKernelOp(KernelOp):
    """A softmax, or its logarithm."""

    number: ClassVar[int]
    """The number in `runtime/shaders/softmax.comp`."""

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        if not 0 <= axis < len(shape_of(x)):
            raise ValueError(f"{list(shape_of(x))} has no dimension {axis}")
        return like(x, shape_of(x))

    def dispatches(self) -> list[Dispatch]:
        x, axis = self.operands[0], cast(int, self.argument("axis"))
        shape = shape_of(x)
        count, inner = shape[axis], prod(shape[axis + 1 :])
        rows = elements(x) // count
        lanes, turns, groups = lanes_of(rows, count, inner)
        return [Dispatch("softmax", (self.number, lanes), (rows, count, inner, turns), (x, self.result), groups)]


@vulkan("softmax(Tensor x, *, int axis) -> Tensor")
class SoftmaxKernelOp(SoftmaxFamilyKernelOp):
    """The exponentials along a dimension, divided by their sum."""

    number = 0

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return SoftmaxOp.numpy(x, axis, False)


@vulkan("log_softmax(Tensor x, *, int axis) -> Tensor")
class LogSoftmaxKernelOp(SoftmaxFamilyKernelOp):
    """The logarithm of the softmax along a dimension."""

    number = 1

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return LogSoftmaxOp.numpy(x, axis, False)


@vulkan("layer_norm(Tensor x, Tensor? weight=None, Tensor? bias=None, *, int dims, float eps) -> Tensor")
class LayerNormKernelOp(KernelOp):
    """x minus its mean, divided by its standard deviation, over the last dimensions; times a weight and plus a bias."""

    @staticmethod
    def infer(x: Tensor, weight: Tensor | None, bias: Tensor | None, /, dims: int) -> Tensor:
        require_alike(x, weight, bias)
        shape = shape_of(x)
        if not 1 <= dims <= len(shape):
            raise ValueError(f"{list(shape)} has no {dims} last dimensions")
        for name, given in (("weight", weight), ("bias", bias)):
            if given is not None and shape_of(given) != shape[-dims:]:
                raise ValueError(f"the {name} {list(shape_of(given))} has not the last sizes of {list(shape)}")
        return like(x, shape)

    @staticmethod
    def numpy(x: Array, weight: Array | None, bias: Array | None, /, dims: int, eps: float) -> Array:
        mean, deviation = moments(x, tuple(range(x.ndim - dims, x.ndim)), eps)
        result = (x - mean) * deviation
        result = result if weight is None else result * weight
        return result if bias is None else result + bias

    def dispatches(self) -> list[Dispatch]:
        x, weight, bias, dims, eps = self.arguments()
        count = prod(shape_of(self.result)[-cast(int, dims) :])
        rows = elements(x) // count
        lanes, turns, groups = lanes_of(rows, count, 1)
        constants = (0, lanes, int(weight is not None), int(bias is not None))
        buffers = (x, x if weight is None else weight, x if bias is None else bias, self.result)
        return [Dispatch("layer_norm", constants, (rows, count, turns, word(eps)), buffers, groups)]
