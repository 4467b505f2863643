"""Convolutions and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.coreml.dialect.operators import MilOp, Numbers, coreml, like, require_like, widened
from flambeau.dialects.aten.layers.attention import ScaledDotProductAttentionOp
from flambeau.dialects.aten.layers.convolution import cross_correlate, transposed_convolve
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, i1, shape_of
from flambeau.support.lazy import Array, np

_WINDOW = "int[] strides, str pad_type='custom', int[] pad, int[] dilations, int groups=1"


def check_window(rank: int, pad_type: str, pad: Numbers, *others: Numbers) -> None:
    """Raises ValueError unless `pad` has two numbers, and the other lists one, for each of `rank` dimensions, within what a window has."""
    if pad_type != "custom":
        raise ValueError(f"pad_type is {pad_type!r}, and 'custom' is supported here")
    if len(pad) != 2 * rank or any(len(numbers) != rank for numbers in others):
        raise ValueError(f"a list of its window is not of the {rank} dimensions of an image")
    if min(pad, default=0) < 0 or any(min(numbers, default=1) < 1 for numbers in others):
        raise ValueError("pads must not be negative, and other numbers of a window must be positive")


def padded(x: Array, pad: Numbers, value: float = 0) -> Array:
    """Returns images with so many elements before and behind each dimension."""
    return np.pad(x, [(0, 0), (0, 0), *zip(pad[::2], pad[1::2], strict=True)], constant_values=value)


class ConvolutionMilOp(MilOp):
    """A convolution of images in groups of channels."""

    @staticmethod
    def check(x: Tensor, weight: Tensor, bias: Tensor | None, channels: tuple[int, int]) -> tuple[Sequence[int], Sequence[int]]:
        """Returns the sizes of images and kernels. Raises unless these are the channels of the images, and of the bias."""
        require_like(x, weight, bias)
        images, kernels = shape_of(x), shape_of(weight)
        if not 3 <= len(images) <= 5 or len(kernels) != len(images) or images[1] != channels[0]:
            raise ValueError(f"the images {list(images)} do not fit the weight {list(kernels)}")
        if bias is not None and shape_of(bias) != (channels[1],):
            raise ValueError(f"the bias {list(shape_of(bias))} is not one number for each of {channels[1]} outputs")
        return images[2:], kernels[2:]


@coreml(f"conv(Tensor x, Tensor weight, Tensor? bias=None, *, {_WINDOW}) -> Tensor")
class ConvMilOp(ConvolutionMilOp):
    """A convolution by a weight [outputs, inputs of a group, height, width]."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        /,
        strides: Numbers,
        pad_type: str,
        pad: Numbers,
        dilations: Numbers,
        groups: int,
    ) -> Tensor:
        outputs, inputs = shape_of(weight)[:2]
        if groups < 1 or outputs % groups:
            raise ValueError(f"{outputs} outputs are not {groups} groups")
        sizes, kernels = cls.check(x, weight, bias, (inputs * groups, outputs))
        check_window(len(sizes), pad_type, pad, strides, dilations)
        numbers = zip(sizes, pad[::2], pad[1::2], kernels, strides, dilations, strict=True)
        counts = [window_count(size + low + high, kernel, step, 0, gap) for size, low, high, kernel, step, gap in numbers]
        return like(x, (shape_of(x)[0], outputs, *counts))

    @staticmethod
    @widened
    def numpy(x: Array, weight: Array, bias: Array | None, /, strides: Numbers, pad: Numbers, dilations: Numbers, groups: int) -> Array:
        result = cross_correlate(padded(x, pad), weight, strides, (0,) * len(strides), dilations, groups)
        return result if bias is None else result + bias.reshape(-1, *(1,) * len(strides))


@coreml(f"conv_transpose(Tensor x, Tensor weight, Tensor? bias=None, *, {_WINDOW}) -> Tensor")
class ConvTransposeMilOp(ConvolutionMilOp):
    """A transposed convolution by a weight [inputs, outputs of a group, height, width]; `pad` says what is cut off."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        /,
        strides: Numbers,
        pad_type: str,
        pad: Numbers,
        dilations: Numbers,
        groups: int,
    ) -> Tensor:
        inputs, outputs = shape_of(weight)[:2]
        if groups < 1 or inputs % groups:
            raise ValueError(f"{inputs} inputs are not {groups} groups")
        sizes, kernels = cls.check(x, weight, bias, (inputs, outputs * groups))
        check_window(len(sizes), pad_type, pad, strides, dilations)
        numbers = zip(sizes, pad[::2], pad[1::2], kernels, strides, dilations, strict=True)
        counts = [(size - 1) * step + gap * (kernel - 1) + 1 - low - high for size, low, high, kernel, step, gap in numbers]
        if min(counts) < 1:
            raise ValueError(f"nothing is left of {list(sizes)} without the pads {list(pad)}")
        return like(x, (shape_of(x)[0], outputs * groups, *counts))

    @staticmethod
    @widened
    def numpy(x: Array, weight: Array, bias: Array | None, /, strides: Numbers, pad: Numbers, dilations: Numbers, groups: int) -> Array:
        none = (0,) * len(strides)
        whole = transposed_convolve(x, weight, strides, none, dilations, none, groups)
        inside = [slice(low, size - high) for low, high, size in zip(pad[::2], pad[1::2], whole.shape[2:], strict=True)]
        result = whole[(..., *inside)]
        return result if bias is None else result + bias.reshape(-1, *(1,) * len(strides))


@coreml("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor")
class LinearMilOp(MilOp):
    """x @ weightᵀ + bias, of up to three dimensions."""

    @staticmethod
    def infer(x: Tensor, weight: Tensor, bias: Tensor | None, /) -> Tensor:
        require_like(x, weight, bias)
        rows, shape = shape_of(x), shape_of(weight)
        if not 1 <= len(rows) <= 3 or len(shape) != 2 or rows[-1] != shape[1]:
            raise ValueError(f"x {list(rows)} does not fit the weight {list(shape)}")
        if bias is not None and shape_of(bias) != shape[:1]:
            raise ValueError(f"the bias {list(shape_of(bias))} is not one number for each of {shape[0]} outputs")
        return like(x, (*rows[:-1], shape[0]))

    @staticmethod
    @widened
    def numpy(x: Array, weight: Array, bias: Array | None, /) -> Array:
        result = x @ weight.T
        return result if bias is None else result + bias


@coreml("matmul(Tensor x, Tensor y, *, bool transpose_x=False, bool transpose_y=False) -> Tensor")
class MatmulMilOp(MilOp):
    """The product of matrices, each of which may be transposed first, with batches broadcast."""

    @staticmethod
    def infer(x: Tensor, y: Tensor, /, transpose_x: bool, transpose_y: bool) -> Tensor:
        require_like(x, y)
        left, right = list(shape_of(x)), list(shape_of(y))
        if min(len(left), len(right)) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {left} and {right}")
        for shape, is_transposed in ((left, transpose_x), (right, transpose_y)):
            if is_transposed:
                shape[-2:] = shape[:-3:-1]
        if left[-1] != right[-2]:
            raise ValueError(f"factors {left} and {right} do not fit each other")
        return like(x, (*broadcast(left[:-2], right[:-2]), left[-2], right[-1]))

    @staticmethod
    @widened
    def numpy(x: Array, y: Array, /, transpose_x: bool, transpose_y: bool) -> Array:
        return np.matmul(x.swapaxes(-1, -2) if transpose_x else x, y.swapaxes(-1, -2) if transpose_y else y)


@coreml("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None) -> Tensor")
class ScaledDotProductAttentionMilOp(MilOp):
    """softmax(query @ keyᵀ / √features) @ value, of equal batches, without the keys at which a mask is false."""

    since = 18

    @staticmethod
    def infer(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, /) -> Tensor:
        require_like(query, key, value)
        (*batch, rows, features), keys, values = shape_of(query), shape_of(key), shape_of(value)
        if not batch or (*batch, features) != (*keys[:-2], keys[-1]) or (*batch, keys[-2]) != values[:-1]:
            raise ValueError(f"query {list(shape_of(query))}, key {list(keys)} and value {list(values)} do not fit each other")
        scores = (*batch, rows, keys[-2])
        if mask is not None and (element_of(mask) != i1 or broadcast(shape_of(mask), scores) != scores):
            raise ValueError(f"its mask {mask} is not of booleans for scores {list(scores)}")
        return like(query, (*batch, rows, values[-1]))

    @staticmethod
    @widened
    def numpy(query: Array, key: Array, value: Array, mask: Array | None, /) -> Array:
        return ScaledDotProductAttentionOp.numpy(query, key, value, mask, False, None, False)
