"""Convolutions and matrix products."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from flambeau.backends.xnnpack.dialect.nodes import LIMITS, NodeOp, limited, xnnpack
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, shape_of
from flambeau.support.lazy import Array, np

TRANSPOSE_WEIGHTS = 1
"""The flag of a product whose second factor is the other way round."""

_WINDOW = (
    "int padding_top=0, int padding_right=0, int padding_bottom=0, int padding_left=0, int kernel_height, int kernel_width, "
    "int subsampling_height=1, int subsampling_width=1, int dilation_height=1, int dilation_width=1, "
    "int group_input_channels, int group_output_channels, int groups=1, int adjustment_height=0, int adjustment_width=0"
)
_CONVOLUTION = f"({_WINDOW}, Tensor input1, Tensor filter, Tensor? bias, int flags=0, {LIMITS}) -> Tensor"

Numbers = tuple[int, ...]


def widened_bias(bias: Array | None) -> Array | None:
    """Returns a bias in the type of the computation; None for None."""
    return bias if bias is None else widened(bias)


class ConvolutionNodeOp(NodeOp):
    """A convolution of images. The fifteen numbers before the tensors are those of the format. Float16 images may have float32 weights."""

    def flops(self) -> int:
        """Returns the operations: two for each element of the result, each place of the window and each channel of a group."""
        return 2 * prod(upper_bounds(self.result)) * self._window("group_input_channels")

    def _window(self, channels: str) -> int:
        return prod(self.argument(name) for name in ("kernel_height", "kernel_width", channels))

    @classmethod
    def extent(cls, size: int, pads: int, kernel: int, step: int, gap: int, adjustment: int) -> int:
        """Returns an extent of the result."""
        if adjustment:
            raise ValueError(f"adjustment must be 0, got {adjustment}")
        return (size + pads - gap * (kernel - 1) - 1) // step + 1

    @classmethod
    def filter_shape(cls, kernel: Numbers, inputs: int, outputs: int, groups: int) -> Numbers:
        """Returns the shape of the weight."""
        return (groups * outputs, *kernel, inputs)

    @classmethod
    def infer(cls, *arguments: Any) -> Tensor:
        numbers = cast(Numbers, arguments[:15])
        top, right, bottom, left, height, width, *steps, inputs, outputs, groups, more_height, more_width = numbers
        if min(numbers) < 0 or min(height, width, *steps, inputs, outputs, groups) < 1:
            raise ValueError(f"the numbers {list(numbers)} must not be negative, and the sizes, steps and counts among them positive")
        x, weight, bias, flags, least, most = arguments[15:]
        shape = shape_of(x)
        if len(shape) != 4 or shape[3] != inputs * groups:
            raise ValueError(f"input must have 4 dimensions and {inputs * groups} channels, got {list(shape)}")
        expected = cls.filter_shape((height, width), inputs, outputs, groups)
        if shape_of(weight) != expected:
            raise ValueError(f"filter must have the shape {list(expected)}, got {list(shape_of(weight))}")
        if bias is not None and shape_of(bias) != (groups * outputs,):
            raise ValueError(f"bias must have the shape {[groups * outputs]}, got {list(shape_of(bias))}")
        tall = cls.extent(shape[1], top + bottom, height, steps[0], steps[2], more_height)
        wide = cls.extent(shape[2], left + right, width, steps[1], steps[3], more_width)
        return cls.typed([x], (shape[0], tall, wide, groups * outputs), flags, least, most)

    @classmethod
    def kernels(cls, weight: Array, groups: int) -> Array:
        """Returns the weight as PyTorch has it."""
        return weight.transpose(0, 3, 1, 2)

    @classmethod
    def numpy(cls, *arguments: Any) -> Array:
        top, right, bottom, left, _, _, *steps, _, _, groups, _, _ = arguments[:15]
        x, weight, bias, _, least, most = arguments[15:]
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        kernels, strides, dilations = cls.kernels(weight, groups), tuple(steps[:2]), tuple(steps[2:])
        image = widened(padded.transpose(0, 3, 1, 2))
        result = ConvolutionOp.numpy(image, widened(kernels), widened_bias(bias), strides, (0, 0), dilations, False, (0, 0), groups)
        return limited(result.transpose(0, 2, 3, 1).astype(x.dtype), least, most)


@xnnpack(f"conv2d{_CONVOLUTION}")
class Conv2dNodeOp(ConvolutionNodeOp):
    """A convolution by a filter [output channels, height, width, input channels of a group]."""


@xnnpack(f"depthwise_conv2d{_CONVOLUTION}")
class DepthwiseConv2dNodeOp(ConvolutionNodeOp):
    """A convolution of each channel alone by a filter [1, height, width, output channels]."""

    @classmethod
    def filter_shape(cls, kernel: Numbers, inputs: int, outputs: int, groups: int) -> Numbers:
        """Returns the shape of the weight."""
        if inputs != 1:
            raise ValueError(f"group_input_channels must be 1, got {inputs}")
        return (1, *kernel, groups * outputs)

    @classmethod
    def kernels(cls, weight: Array, groups: int) -> Array:
        """Returns the weight as PyTorch has it."""
        return weight.transpose(3, 0, 1, 2)


@xnnpack(f"conv_transpose2d{_CONVOLUTION}")
class ConvTranspose2dNodeOp(ConvolutionNodeOp):
    """A transposed convolution by a filter [output channels, height, width, input channels of a group]."""

    def flops(self) -> int:
        """Returns the operations: two for each element of the input, each place of the window and each channel of a group."""
        return 2 * prod(upper_bounds(self.argument("input1"))) * self._window("group_output_channels")

    @classmethod
    def extent(cls, size: int, pads: int, kernel: int, step: int, gap: int, adjustment: int) -> int:
        """Returns an extent of the result."""
        if adjustment >= step:
            raise ValueError(f"adjustment must be less than the step of {step}, got {adjustment}")
        return step * (size - 1) + gap * (kernel - 1) + 1 + adjustment - pads

    @classmethod
    def numpy(cls, *arguments: Any) -> Array:
        top, right, bottom, left, _, _, *steps, inputs, outputs, groups, tall, wide = arguments[:15]
        x, weight, bias, _, least, most = arguments[15:]
        height, width = weight.shape[1:3]
        kernels = weight.reshape(groups, outputs, height, width, inputs).transpose(0, 4, 1, 2, 3)
        kernels = kernels.reshape(groups * inputs, outputs, height, width)
        strides, dilations = tuple(steps[:2]), tuple(steps[2:])
        image = widened(x.transpose(0, 3, 1, 2))
        whole = ConvolutionOp.numpy(image, widened(kernels), widened_bias(bias), strides, (0, 0), dilations, True, (tall, wide), groups)
        result = whole[:, :, top : whole.shape[2] - bottom, left : whole.shape[3] - right]
        return limited(result.transpose(0, 2, 3, 1).astype(x.dtype), least, most)


@xnnpack(f"fully_connected(Tensor input1, Tensor filter, Tensor? bias, int flags=0, {LIMITS}) -> Tensor")
class FullyConnectedNodeOp(NodeOp):
    """input1 @ filter.T + bias over the last dimension. Flag 1: the filter is [inputs, outputs]. Float16 may have float32 weights."""

    known_flags = TRANSPOSE_WEIGHTS

    def flops(self) -> int:
        """Returns the operations: two for each element of the result and each column of the input."""
        return 2 * prod(upper_bounds(self.result)) * upper_bounds(self.argument("input1"))[-1]

    @classmethod
    def infer(
        cls, x: Tensor, weight: Tensor, bias: Tensor | None, /, flags: int, output_min: float | None, output_max: float | None
    ) -> Tensor:
        shape, sizes = shape_of(x), shape_of(weight)
        if len(sizes) != 2 or not shape:
            raise ValueError(f"input must have a dimension and filter two, got {list(shape)} and {list(sizes)}")
        outputs, inputs = reversed(sizes) if flags & TRANSPOSE_WEIGHTS else sizes
        if shape[-1] != inputs:
            raise ValueError(f"input {list(shape)} and filter {list(sizes)} do not fit each other")
        if bias is not None and shape_of(bias) != (outputs,):
            raise ValueError(f"bias must have the shape {[outputs]}, got {list(shape_of(bias))}")
        return cls.typed([x], (*shape[:-1], outputs), flags, output_min, output_max)

    @staticmethod
    def numpy(x: Array, weight: Array, bias: Array | None, /, flags: int, output_min: float | None, output_max: float | None) -> Array:
        product = widened(x) @ widened(weight if flags & TRANSPOSE_WEIGHTS else weight.T)
        return limited((product if bias is None else product + bias).astype(x.dtype), output_min, output_max)


@xnnpack("batch_matrix_multiply(Tensor input1, Tensor input2, int flags=0) -> Tensor")
class BatchMatrixMultiplyNodeOp(NodeOp):
    """input1 @ input2 over the last two dimensions. Flag 1: input2 is transposed."""

    known_flags = TRANSPOSE_WEIGHTS

    def flops(self) -> int:
        """Returns the operations: two for each element of the result and each column of the first factor."""
        return 2 * prod(upper_bounds(self.result)) * upper_bounds(self.argument("input1"))[-1]

    @classmethod
    def infer(cls, a: Tensor, b: Tensor, /, flags: int) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {list(left)} and {list(right)}")
        inputs, outputs = reversed(right[-2:]) if flags & TRANSPOSE_WEIGHTS else right[-2:]
        if left[-1] != inputs:
            raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
        return cls.typed([a, b], (*broadcast(left[:-2], right[:-2]), left[-2], outputs), flags)

    @staticmethod
    def numpy(a: Array, b: Array, /, flags: int) -> Array:
        return (widened(a) @ widened(np.swapaxes(b, -1, -2) if flags & TRANSPOSE_WEIGHTS else b)).astype(a.dtype)
