"""Convolutions, matrix products and attention."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino, require_floats
from flambeau.dialects.aten.layers.attention import ScaledDotProductAttentionOp
from flambeau.dialects.aten.layers.convolution import cross_correlate, transposed_convolve
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, shape_of, tensor
from flambeau.dialects.schema.families import require_only, require_rank
from flambeau.support.lazy import Array, np

_WINDOW = "int[] strides, int[] pads_begin, int[] pads_end, int[] dilations, str auto_pad='explicit'"


def check_window(rank: int, strides: Numbers, before: Numbers, behind: Numbers, dilations: Numbers, auto_pad: str) -> None:
    """Raises ValueError unless the lists have `rank` numbers that a window can have, and `auto_pad` leaves the pads to the lists."""
    require_only("auto_pad", auto_pad, "explicit")
    if any(len(numbers) != rank for numbers in (strides, before, behind, dilations)):
        raise ValueError(f"each list of a window has a number for each of the {rank} dimensions of an image")
    if min((*before, *behind), default=0) < 0 or min((*strides, *dilations), default=1) < 1:
        raise ValueError("pads must not be negative, and strides and dilations must be positive")


class ConvolutionBaseOp(LayerOp):
    """A convolution of images."""

    @staticmethod
    def kernels(weight: Numbers) -> tuple[Numbers, int]:
        """Returns the shape that PyTorch's weight has for the layer's weight, and the number of groups."""
        return weight, 1

    @classmethod
    def kernels_for(cls, x: Tensor, weight: Tensor, rank: int, inputs: int) -> tuple[Numbers, int]:
        """Returns `kernels` of a weight. Raises ValueError unless it has `rank` dimensions, and x's channels in dimension `inputs`."""
        require_floats(weight)
        require_rank("filter", shape_of(weight), rank)
        shape, groups = cls.kernels(shape_of(weight))
        require_rank("data", shape_of(x), len(shape))
        channels = shape[inputs] * (groups if inputs else 1)
        if differ(shape_of(x)[1], channels):
            raise ValueError(f"data must have {channels} channels, got {list(shape_of(x))}")
        return shape, groups


class ForwardConvolutionOp(ConvolutionBaseOp):
    """A convolution that reads a window for each element of the result."""

    @classmethod
    def infer(
        cls, x: Tensor, weight: Tensor, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, dilations: Numbers, auto_pad: str
    ) -> Tensor:
        more = cls.kernels is not ConvolutionBaseOp.kernels
        kernels, _ = cls.kernels_for(x, weight, len(shape_of(x)) + more, 1)
        check_window(len(kernels) - 2, strides, pads_begin, pads_end, dilations, auto_pad)
        numbers = zip(shape_of(x)[2:], pads_begin, pads_end, kernels[2:], strides, dilations, strict=True)
        counts = [window_count(extent + low + high, size, step, 0, gap) for extent, low, high, size, step, gap in numbers]
        return tensor(f32, (shape_of(x)[0], kernels[0], *counts))

    @classmethod
    def numpy(cls, x: Array, weight: Array, /, strides: Numbers, pads_begin: Numbers, pads_end: Numbers, dilations: Numbers) -> Array:
        kernels, groups = cls.kernels(weight.shape)
        padded = np.pad(x, [(0, 0), (0, 0), *zip(pads_begin, pads_end, strict=True)])
        return cross_correlate(padded, weight.reshape(kernels), strides, (0,) * len(strides), dilations, groups)


@openvino(f"Convolution(Tensor data, Tensor filter, *, {_WINDOW}) -> Tensor")
class ConvolutionLayerOp(ForwardConvolutionOp):
    """A convolution by a filter [outputs, inputs, height, width]."""


@openvino(f"GroupConvolution(Tensor data, Tensor filter, *, {_WINDOW}) -> Tensor")
class GroupConvolutionLayerOp(ForwardConvolutionOp):
    """A convolution in groups of channels by a filter [groups, outputs, inputs, height, width]."""

    @staticmethod
    def kernels(weight: Numbers) -> tuple[Numbers, int]:
        return (weight[0] * weight[1], *weight[2:]), weight[0]


class BackwardConvolutionOp(ConvolutionBaseOp):
    """A transposed convolution, which adds to a window of the result for each element of the input."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        /,
        strides: Numbers,
        pads_begin: Numbers,
        pads_end: Numbers,
        dilations: Numbers,
        auto_pad: str,
        output_padding: Numbers,
    ) -> Tensor:
        more = cls.kernels is not ConvolutionBaseOp.kernels
        kernels, groups = cls.kernels_for(x, weight, len(shape_of(x)) + more, 0)
        check_window(len(kernels) - 2, strides, pads_begin, pads_end, dilations, auto_pad)
        if len(output_padding) != len(strides) or any(not 0 <= extra < step for extra, step in zip(output_padding, strides, strict=True)):
            raise ValueError(f"output_padding {list(output_padding)} must be less than strides {list(strides)}")
        numbers = zip(shape_of(x)[2:], pads_begin, pads_end, kernels[2:], strides, dilations, output_padding, strict=True)
        sizes = [(extent - 1) * step + gap * (size - 1) + 1 + extra - low - high for extent, low, high, size, step, gap, extra in numbers]
        return tensor(f32, (shape_of(x)[0], kernels[1] * groups, *sizes))

    @classmethod
    def numpy(
        cls,
        x: Array,
        weight: Array,
        /,
        strides: Numbers,
        pads_begin: Numbers,
        pads_end: Numbers,
        dilations: Numbers,
        output_padding: Numbers,
    ) -> Array:
        kernels, groups = cls.kernels(weight.shape)
        whole = transposed_convolve(x, weight.reshape(kernels), strides, (0,) * len(strides), dilations, output_padding, groups)
        inside = [slice(low, extent - high) for low, high, extent in zip(pads_begin, pads_end, whole.shape[2:], strict=True)]
        return whole[(..., *inside)]


@openvino(f"ConvolutionBackpropData(Tensor data, Tensor filter, *, {_WINDOW}, int[] output_padding) -> Tensor")
class ConvolutionBackpropDataLayerOp(BackwardConvolutionOp):
    """A transposed convolution by a filter [inputs, outputs, height, width]."""


@openvino(f"GroupConvolutionBackpropData(Tensor data, Tensor filter, *, {_WINDOW}, int[] output_padding) -> Tensor")
class GroupConvolutionBackpropDataLayerOp(BackwardConvolutionOp):
    """A transposed convolution in groups of channels by a filter [groups, inputs, outputs, height, width]."""

    @staticmethod
    def kernels(weight: Numbers) -> tuple[Numbers, int]:
        return (weight[0] * weight[1], *weight[2:]), weight[0]


def _turned(shape: Sequence[int], is_turned: bool) -> tuple[int, int]:
    rows, columns = shape[-2:]
    return (columns, rows) if is_turned else (rows, columns)


@openvino("MatMul(Tensor a, Tensor b, *, bool transpose_a=False, bool transpose_b=False) -> Tensor")
class MatMulLayerOp(LayerOp):
    """a @ b over the last two dimensions. Either factor may be transposed."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, transpose_a: bool, transpose_b: bool) -> Tensor:
        require_floats(b)
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {list(left)} and {list(right)}")
        (rows, inner), (other, columns) = _turned(left, transpose_a), _turned(right, transpose_b)
        if differ(inner, other):
            raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
        return tensor(f32, (*broadcast(left[:-2], right[:-2]), rows, columns))

    @staticmethod
    def numpy(a: Array, b: Array, /, transpose_a: bool, transpose_b: bool) -> Array:
        return np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)


@openvino(
    "ScaledDotProductAttention(Tensor query, Tensor key, Tensor value, Tensor attention_mask, Tensor scale, *, bool causal) -> Tensor"
)
class ScaledDotProductAttentionLayerOp(LayerOp):
    """softmax(scale * query @ keyᵀ + attention_mask) @ value. A causal attention hides later keys, and ignores the mask.

    A mask without dimensions means that there is no mask.
    """

    opset = 13

    @staticmethod
    def infer(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: Tensor, /, causal: bool) -> Tensor:
        require_floats(key, value, mask, scale)
        require_rank("scale", shape_of(scale), 0)
        for name, given in (("key", key), ("value", value)):
            require_rank(name, shape_of(given), len(shape_of(query)))
        shown = None if causal or not shape_of(mask) else mask
        return ScaledDotProductAttentionOp.infer(query, key, value, shown, 0.0, causal, False)

    @staticmethod
    def numpy(query: Array, key: Array, value: Array, mask: Array, scale: Array, /, causal: bool) -> Array:
        return ScaledDotProductAttentionOp.numpy(query, key, value, None if causal or not mask.ndim else mask, causal, float(scale), False)
