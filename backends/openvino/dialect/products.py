"""Convolutions and matrix products."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino, require_rank
from flambeau.dialects.aten.convolution import cross_correlate
from flambeau.dialects.aten.windows import window_count
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, shape_of, tensor
from flambeau.support.lazy import Array, np

_WINDOW = "int[] strides, int[] pads_begin, int[] pads_end, int[] dilations, str auto_pad='explicit'"


def padded(x: Array, before: Numbers, behind: Numbers, value: float = 0) -> Array:
    """X with a number around its last dimensions."""
    pads = [(0, 0)] * (x.ndim - len(before)) + list(zip(before, behind, strict=True))
    return np.pad(x, pads, constant_values=np.float32(value))


def check_window(rank: int, strides: Numbers, before: Numbers, behind: Numbers, dilations: Numbers) -> None:
    """Raises ValueError for lists of another length, and for numbers that no window has."""
    if any(len(numbers) != rank for numbers in (strides, before, behind, dilations)):
        raise ValueError(f"each list of a window has a number for each of the {rank} dimensions of an image")
    if min((*before, *behind)) < 0 or min((*strides, *dilations)) < 1:
        raise ValueError("pads must not be negative, and strides and dilations must be positive")


def check_padding(auto_pad: str) -> None:
    """Raises ValueError for a padding that is not given in numbers."""
    if auto_pad != "explicit":
        raise ValueError(f"auto_pad is {auto_pad!r}, and 'explicit' is supported here")


def windows(shape: Numbers, kernel: Numbers, strides: Numbers, before: Numbers, behind: Numbers, dilations: Numbers) -> Numbers:
    """How many windows there are in each dimension."""
    numbers = zip(shape, before, behind, kernel, strides, dilations, strict=True)
    return tuple(window_count(extent + low + high, size, step, 0, gap) for extent, low, high, size, step, gap in numbers)


class ConvolutionLayerOp(LayerOp):
    """A convolution of images."""

    @staticmethod
    def kernels(weight: Numbers) -> tuple[Numbers, int]:
        """The shape of the weight as PyTorch has it, and the number of groups."""
        return weight, 1

    @classmethod
    def infer(
        cls, x: Tensor, weight: Tensor, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, dilations: Numbers, auto_pad: str
    ) -> Tensor:
        shape = shape_of(x)
        (outputs, inputs, *kernel), groups = cls.kernels(shape_of(weight))
        require_rank("data", shape, len(kernel) + 2)
        check_padding(auto_pad)
        check_window(len(kernel), strides, pads_begin, pads_end, dilations)
        if differ(shape[1], inputs * groups):
            raise ValueError(f"data must have {inputs * groups} channels, got {list(shape)}")
        return tensor(f32, (shape[0], outputs, *windows(shape[2:], tuple(kernel), strides, pads_begin, pads_end, dilations)))

    @classmethod
    def numpy(cls, x: Array, weight: Array, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, dilations: Numbers) -> Array:
        shape, groups = cls.kernels(weight.shape)
        none = (0,) * len(strides)
        return cross_correlate(padded(x, pads_begin, pads_end), weight.reshape(shape), strides, none, dilations, groups)


@openvino(f"Convolution(Tensor data, Tensor filter, *, {_WINDOW}) -> Tensor")
class ConvolutionOp(ConvolutionLayerOp):
    """A convolution by a filter [outputs, inputs, height, width]."""


@openvino(f"GroupConvolution(Tensor data, Tensor filter, *, {_WINDOW}) -> Tensor")
class GroupConvolutionOp(ConvolutionLayerOp):
    """A convolution in groups of channels by a filter [groups, outputs, inputs, height, width]."""

    @staticmethod
    def kernels(weight: Numbers) -> tuple[Numbers, int]:
        return (weight[0] * weight[1], *weight[2:]), weight[0]


@openvino("MatMul(Tensor a, Tensor b, *, bool transpose_a=False, bool transpose_b=False) -> Tensor")
class MatMulOp(LayerOp):
    """a @ b over the last two dimensions, either of which may be the other way round."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, transpose_a: bool, transpose_b: bool) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {list(left)} and {list(right)}")
        rows, inner = reversed(left[-2:]) if transpose_a else left[-2:]
        other, columns = reversed(right[-2:]) if transpose_b else right[-2:]
        if differ(inner, other):
            raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
        return tensor(f32, (*broadcast(left[:-2], right[:-2]), rows, columns))

    @staticmethod
    def numpy(a: Array, b: Array, /, transpose_a: bool, transpose_b: bool) -> Array:
        return np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)
