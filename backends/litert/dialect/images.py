"""Convolutions, linear layers and pools."""

from __future__ import annotations

from math import ceil, prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i8, i16

from flambeau.backends.litert.dialect.operators import (
    ACTIVATIONS,
    FILTER,
    WIDE,
    LiteRtOp,
    Numbers,
    Scales,
    activated,
    check_scales,
    fitted,
    half_away,
    limits_of,
    litert,
    rescaled_sums,
    single,
)
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.library.windows import windows
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np

PADDINGS = ("SAME", "VALID")
"""The ways to pad images, by their numbers in the format."""
_MOST_PADDED = 2**28
"""The most elements of an image with what is around it: a damaged model may ask for any number."""


def around(size: int, kernel: int, stride: int, dilation: int, padding: str) -> tuple[int, int]:
    """Returns the padding before and behind a dimension of an image."""
    if padding == "VALID":
        return 0, 0
    total = max((ceil(size / stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def padding_word(sizes: Numbers, kernel: Numbers, stride: Numbers, dilation: Numbers, padding: Numbers) -> str | None:
    """Returns the word for so much padding at the beginning of dimensions, and at their ends; None if the format has none."""
    if not any(padding):
        return "VALID"
    for size, window, step, gap, pad in zip(sizes, kernel, stride, dilation, padding, strict=True):
        count = (size + 2 * pad - (window - 1) * gap - 1) // step + 1
        if count != ceil(size / step) or around(size, window, step, gap, "SAME")[0] != pad:
            return None
    return "SAME"


def _count(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Returns the number of windows. Raises ValueError where there is none."""
    are_positive = min(kernel, stride, dilation) > 0
    room = size + sum(around(size, kernel, stride, dilation, padding)) - (kernel - 1) * dilation - 1 if are_positive else -1
    if room < 0:
        raise ValueError(f"there is no window of {kernel} with gaps of {dilation} in steps of {stride} in {size} elements, {padding}")
    return room // stride + 1


def _counts(shape: Numbers, kernel: Numbers, strides: Numbers, gaps: Numbers, padding: str) -> tuple[int, ...]:
    """Returns the numbers of windows in the rows and columns of images. Raises ValueError for too few, or too much around the images."""
    sides = list(zip(shape[1:3], kernel, strides, gaps, strict=True))
    counts = tuple(_count(*side, padding) for side in sides)
    padded = shape[3] * prod(side[0] + sum(around(*side, padding)) for side in sides)
    if padded > _MOST_PADDED:
        raise ValueError(f"with its padding, an image of {list(shape)} has {padded} elements; {_MOST_PADDED} are the most")
    return counts


def _check_names(padding: str, activation: str) -> None:
    if padding not in PADDINGS or activation not in ACTIVATIONS:
        raise ValueError(f"padding {padding!r} and activation {activation!r} are not of {', '.join((*PADDINGS, *ACTIVATIONS))}")


def _check_layer(x: Tensor, weight: Tensor, bias: Tensor | None, outputs: int, filter_scales: Scales) -> None:
    if element_of(weight) != FILTER[element_of(x)] or (bias is not None and element_of(bias) != WIDE[element_of(x)]):
        raise ValueError(f"activations {x}, the filter {weight} and the bias {bias} do not fit")
    if bias is not None and shape_of(bias) != (outputs,):
        raise ValueError(f"a bias of {list(shape_of(bias))}, and there are {outputs} outputs")
    if len(filter_scales) not in ((0,) if element_of(x) == f32 else (1, outputs)):
        raise ValueError(f"{len(filter_scales)} scales of a filter of {outputs} outputs of {element_of(x)}")


def _finished(
    sums: Array,
    bias: Array | None,
    activation: str,
    scales: Scales,
    zero_points: Numbers,
    filter_scales: Scales,
    outputs: int,
    dtype: Any,
) -> Array:
    """Returns the results of sums of products: with the bias, the scale of the result, and its activation."""
    sums = sums if bias is None else sums + bias.astype(sums.dtype)
    if not scales:
        return activated(sums, activation)
    x, to = map(single, scales)
    ratios = [x * single(scale) / to for scale in np.broadcast_to(filter_scales, outputs)]
    return fitted(rescaled_sums(sums, ratios, dtype), zero_points[1], to, dtype, activation)


_UNENDED = "str padding, int stride_w, int stride_h"
_STEPS = f'{_UNENDED}, str fused_activation_function="NONE"'
_GAPS = "int dilation_w_factor=1, int dilation_h_factor=1"
_TYPES = "float[] scales=[], int[] zero_points=[]"
_LAYER_TYPES = f"{_TYPES}, float[] filter_scales=[]"


class _ConvolutionOp(LiteRtOp):
    versions: ClassVar = {i8: 3, i16: 5}
    order: ClassVar[tuple[int, ...]]
    """The dimensions of the filter in this order: results, inputs of a group, height, width."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        fused_activation_function: str,
        dilation_w_factor: int,
        dilation_h_factor: int,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Tensor:
        shape, kernel = shape_of(x), shape_of(weight)
        if len(shape) != 4 or len(kernel) != 4:
            raise ValueError(f"an image and a filter have 4 dimensions, got {list(shape)} and {list(kernel)}")
        outputs, inputs, *sides = (kernel[dim] for dim in cls.order)
        if shape[3] % inputs or outputs % (shape[3] // inputs):
            raise ValueError(f"the filter {list(kernel)} does not fit the image {list(shape)}")
        _check_names(padding, fused_activation_function)
        check_scales(x, scales, zero_points, 2)
        _check_layer(x, weight, bias, outputs, filter_scales)
        counts = _counts(shape, sides, (stride_h, stride_w), (dilation_h_factor, dilation_w_factor), padding)
        return tensor(element_of(x), (shape[0], *counts, outputs))

    @classmethod
    def numpy(
        cls,
        x: Array,
        weight: Array,
        bias: Array | None,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        fused_activation_function: str,
        dilation_w_factor: int,
        dilation_h_factor: int,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Array:
        exact = np.float64 if scales else np.float32  # float64 holds each sum of products
        kernel = weight.astype(exact).transpose(cls.order)
        strides, gaps = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
        sides = zip(x.shape[1:3], kernel.shape[2:], strides, gaps, strict=True)
        pads = [around(*side, padding) for side in sides]
        image = x.astype(exact) - exact(zero_points[0] if scales else 0)
        image = np.pad(image, ((0, 0), *pads, (0, 0))).transpose(0, 3, 1, 2)
        groups = x.shape[3] // kernel.shape[1]
        sums = ConvolutionOp.numpy(image, kernel, None, strides, (0, 0), gaps, False, (0, 0), groups).transpose(0, 2, 3, 1)
        return _finished(sums, bias, fused_activation_function, scales, zero_points, filter_scales, len(kernel), x.dtype)


@litert(f"conv_2d(Tensor input, Tensor filter, Tensor bias, *, {_STEPS}, {_GAPS}, {_LAYER_TYPES}) -> Tensor")
class Conv2dOp(_ConvolutionOp):
    """A convolution by a filter [outputs, height, width, inputs]."""

    order = (0, 3, 1, 2)
    versions: ClassVar = {i8: 3, i16: 4}

    @property
    def version(self) -> int:
        """The version with groups of channels, if there are some."""
        return 6 if shape_of(self.operands[0])[3] != shape_of(self.operands[1])[3] else super().version


@litert(f"depthwise_conv_2d(Tensor input, Tensor filter, Tensor? bias=None, *, {_STEPS}, {_GAPS}, {_LAYER_TYPES}) -> Tensor")
class DepthwiseConv2dOp(_ConvolutionOp):
    """A convolution of each channel by a filter [1, height, width, outputs]."""

    order = (3, 0, 1, 2)


@litert(f"transpose_conv(int[] output_shape, Tensor filter, Tensor input, Tensor bias, *, {_UNENDED}, {_LAYER_TYPES}) -> Tensor")
class TransposeConvOp(LiteRtOp):
    """The images whose convolution by a filter [outputs, height, width, inputs] has the size of the operand, with its products summed."""

    versions: ClassVar = {f32: 3, i8: 3, i16: 3}

    @staticmethod
    def infer(
        output_shape: Numbers,
        weight: Tensor,
        x: Tensor,
        bias: Tensor,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Tensor:
        shape, kernel, result = shape_of(x), shape_of(weight), tuple(output_shape)
        if len(shape) != 4 or len(kernel) != 4 or len(result) != 4 or (shape[0], kernel[0], shape[3]) != (result[0], result[3], kernel[3]):
            raise ValueError(f"the filter {list(kernel)} does not fit images {list(shape)} and {list(result)}")
        _check_names(padding, "NONE")
        check_scales(x, scales, zero_points, 2)
        _check_layer(x, weight, bias, kernel[0], filter_scales)
        if (counts := _counts(result, kernel[1:3], (stride_h, stride_w), (1, 1), padding)) != shape[1:3]:
            raise ValueError(f"images {list(result)} have {list(counts)} windows, and the operand {list(shape)}")
        return tensor(element_of(x), result)

    @staticmethod
    def numpy(
        output_shape: Numbers,
        weight: Array,
        x: Array,
        bias: Array,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Array:
        exact, strides = np.float64 if scales else np.float32, (stride_h, stride_w)
        image = (x.astype(exact) - exact(zero_points[0] if scales else 0)).transpose(0, 3, 1, 2)
        kernel = weight.astype(exact).transpose(3, 0, 1, 2)
        whole = ConvolutionOp.numpy(image, kernel, None, strides, (0, 0), (1, 1), True, (0, 0), 1).transpose(0, 2, 3, 1)
        sums = np.zeros(tuple(output_shape), exact)
        before = [
            around(size, window, step, 1, padding)[0]
            for size, window, step in zip(output_shape[1:3], kernel.shape[2:], strides, strict=True)
        ]
        part = whole[:, before[0] :, before[1] :][:, : sums.shape[1], : sums.shape[2]]
        sums[:, : part.shape[1], : part.shape[2]] = part
        return _finished(sums, bias, "NONE", scales, zero_points, filter_scales, len(weight), x.dtype)


@litert(
    'fully_connected(Tensor input, Tensor filter, Tensor? bias=None, *, str fused_activation_function="NONE", bool keep_num_dims=True, '
    f"{_LAYER_TYPES}) -> Tensor"
)
class FullyConnectedOp(LiteRtOp):
    """The products of rows [..., inputs] with a filter [outputs, inputs]."""

    versions: ClassVar = {f32: 5, i8: 12, i16: 7}

    @staticmethod
    def infer(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        /,
        fused_activation_function: str,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Tensor:
        shape, kernel = shape_of(x), shape_of(weight)
        if not shape or len(kernel) != 2 or kernel[1] != shape[-1]:
            raise ValueError(f"the filter {list(kernel)} does not fit rows {list(shape)}")
        _check_names("VALID", fused_activation_function)
        check_scales(x, scales, zero_points, 2)
        _check_layer(x, weight, bias, kernel[0], filter_scales)
        return tensor(element_of(x), (*shape[:-1], kernel[0]))

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array | None,
        /,
        fused_activation_function: str,
        scales: Scales,
        zero_points: Numbers,
        filter_scales: Scales,
    ) -> Array:
        exact = np.float64 if scales else np.float32
        sums = (x.astype(exact) - exact(zero_points[0] if scales else 0)) @ weight.astype(exact).T
        sums = sums if bias is None else sums + bias.astype(sums.dtype)
        if not scales:
            return activated(sums, fused_activation_function)
        x_scale, to = map(single, scales)  # unlike the kernels of images, this one multiplies in float64, and rounds once
        ratios = np.array([x_scale * single(scale) / to for scale in filter_scales])
        return fitted(half_away(sums * ratios), zero_points[1], to, x.dtype, fused_activation_function)


class _PoolOp(LiteRtOp):
    versions: ClassVar = {i8: 2, i16: 3}

    @classmethod
    def infer(
        cls,
        x: Tensor,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        fused_activation_function: str,
        filter_width: int,
        filter_height: int,
        scales: Scales,
        zero_points: Numbers,
    ) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4:
            raise ValueError(f"an image has 4 dimensions, got {list(shape)}")
        _check_names(padding, fused_activation_function)
        check_scales(x, scales, zero_points, 1)
        counts = _counts(shape, (filter_height, filter_width), (stride_h, stride_w), (1, 1), padding)
        return tensor(element_of(x), (shape[0], *counts, shape[3]))

    @staticmethod
    def windows(x: Array, padding: str, strides: Numbers, kernel: Numbers, fill: float) -> Array:
        """Returns the windows of images padded with `fill`: [batch, channels, *counts, *kernel]."""
        planes = x.transpose(0, 3, 1, 2)
        sides = list(zip(planes.shape[2:], kernel, strides, strict=True))
        before, counts = [around(*side, 1, padding)[0] for side in sides], [_count(*side, 1, padding) for side in sides]
        return windows(planes, kernel, strides, before, (1, 1), counts, fill)


_POOL = f"{_STEPS}, int filter_width, int filter_height, {_TYPES}"


@litert(f"max_pool_2d(Tensor input, *, {_POOL}) -> Tensor")
class MaxPool2dOp(_PoolOp):
    """The largest element of each window. `scales` and `zero_points` are those of the operand and of the result at once."""

    keeps_type = True

    @classmethod
    def numpy(
        cls,
        x: Array,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        fused_activation_function: str,
        filter_width: int,
        filter_height: int,
        scales: Scales,
        zero_points: Numbers,
    ) -> Array:
        fill = np.iinfo(x.dtype).min if scales else -np.inf
        found = cls.windows(x, padding, (stride_h, stride_w), (filter_height, filter_width), fill).max((-2, -1)).transpose(0, 2, 3, 1)
        if scales:
            return np.clip(found, *limits_of(fused_activation_function, scales[0], zero_points[0], x.dtype)).astype(x.dtype)
        return activated(found, fused_activation_function)


@litert(f"average_pool_2d(Tensor input, *, {_POOL}) -> Tensor")
class AveragePool2dOp(_PoolOp):
    """The mean of those elements of each window that are inside the image; of integers, halves away from zero."""

    keeps_type = True

    @classmethod
    def numpy(
        cls,
        x: Array,
        /,
        padding: str,
        stride_w: int,
        stride_h: int,
        fused_activation_function: str,
        filter_width: int,
        filter_height: int,
        scales: Scales,
        zero_points: Numbers,
    ) -> Array:
        exact = x.astype(np.int64) if scales else x
        sums, counts = (
            cls.windows(item, padding, (stride_h, stride_w), (filter_height, filter_width), 0)
            .sum((-2, -1), dtype=item.dtype)
            .transpose(0, 2, 3, 1)
            for item in (exact, np.ones(x.shape, np.int64))
        )
        if not scales:
            return activated((sums / counts).astype(x.dtype), fused_activation_function)
        means = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)
        return np.clip(means, *limits_of(fused_activation_function, scales[0], zero_points[0], x.dtype)).astype(x.dtype)
