"""Convolutions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.windows import spread, window_count
from flambeau.dialects.aten.linear_algebra.matmul import common_element
from flambeau.dialects.aten.movement.pad import ConstantPadNdOp, with_margins
from flambeau.dialects.aten.movement.permute import permute
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.extents import differ, exceeds, may_equal, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, is_static, same_shape, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS_AND_LONG, NUMBERS, require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def convolved_shape(
    shape: Sequence[int],
    weight: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> tuple[int, ...]:
    """Returns the result shape of a convolution of a batch. Raises ValueError."""
    rank = len(weight) - 2
    if rank < 1 or len(shape) != rank + 2:
        raise ValueError(f"input {list(shape)} and weight {list(weight)} must have the same number of dimensions, at least 3")
    stride, padding = spread(stride, rank, "stride"), spread(padding, rank, "padding")
    dilation, extra = spread(dilation, rank, "dilation"), spread(output_padding, rank, "output_padding")
    channels = weight[0] if transposed else weight[1] * groups
    if groups < 1 or differ(shape[1], channels) or weight[0] % groups or weight[0] == 0:
        raise ValueError(f"input {list(shape)} and weight {list(weight)} do not fit {groups} groups")
    if any(provably_equal(extent, 0) for extent in shape[2:]) and not any(may_equal(extent, 0) for extent in shape[:2]):
        raise ValueError(f"only the batch or the channels may be empty, got input {list(shape)}")
    if transposed and 0 in weight[1:]:
        raise ValueError(f"weight {list(weight)} of a transposed convolution must not be empty")
    spatial: list[int] = []
    for extent, kernel, step, pad, dilate, more in zip(shape[2:], weight[2:], stride, padding, dilation, extra, strict=True):
        if not transposed:
            spatial.append(window_count(extent, kernel, step, pad, dilate))
            continue
        if more >= max(step, dilate):
            raise ValueError(f"output_padding {more} must be smaller than stride {step} or dilation {dilate}")
        spatial.append((extent - 1) * step - 2 * pad + dilate * (kernel - 1) + more + 1)
        if exceeds(1, spatial[-1]):
            raise ValueError(f"padding {pad} leaves nothing of {extent} entries")
    return (shape[0], weight[1] * groups if transposed else weight[0], *spatial)


Slices = tuple[slice, ...]
"""One range per spatial dimension."""


def taps(
    kernel: Sequence[int],
    counts: Sequence[int],
    extents: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Iterator[tuple[tuple[int, ...], Slices, Slices]]:
    """Yields each place of a kernel, the windows in which an entry lies there, and these entries: the padding is left out."""
    axes: list[list[tuple[int, slice, slice]]] = []
    for size, count, extent, step, pad, gap in zip(kernel, counts, extents, stride, padding, dilation, strict=True):
        places: list[tuple[int, slice, slice]] = []
        for place in range(size):
            offset = place * gap - pad
            first, end = max(0, -(offset // step)), min(count, (extent - 1 - offset) // step + 1)
            if first < end:
                places.append((place, slice(first, end), slice(first * step + offset, (end - 1) * step + offset + 1, step)))
        axes.append(places)
    for parts in itertools.product(*axes):
        yield tuple(part[0] for part in parts), tuple(part[1] for part in parts), tuple(part[2] for part in parts)


def by_group(x: Array, groups: int, axis: int) -> Array:
    """Returns the array with the groups and the channels of each apart."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def columns(x: Array) -> Array:
    """Returns the places of a batch by group and channel, in one dimension."""
    return x.reshape(*x.shape[:3], math.prod(x.shape[3:]))


def cross_correlate(x: Array, weight: Array, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> Array:
    """Returns the convolution of a batch: for each place of the kernels, a product of each group's channels."""
    kernel = weight.shape[2:]
    counts = [window_count(*numbers) for numbers in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)]
    channels, kernels = by_group(x, groups, 1), by_group(weight, groups, 0)
    result = np.zeros((x.shape[0], groups, weight.shape[0] // groups, *counts), x.dtype)
    for place, to, of in taps(kernel, counts, x.shape[2:], stride, padding, dilation):
        part = channels[(..., *of)]
        product = np.matmul(kernels[(..., *place)], columns(part))
        result[(..., *to)] += product.reshape(*product.shape[:3], *part.shape[3:])
    return result.reshape(x.shape[0], weight.shape[0], *counts)


def transposed_convolve(
    x: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    """Returns the transposed convolution of a batch: each entry adds the kernels times itself to a window of the result."""
    kernel = weight.shape[2:]
    extents = [
        (count - 1) * step - 2 * pad + gap * (size - 1) + more + 1
        for count, size, step, pad, gap, more in zip(x.shape[2:], kernel, stride, padding, dilation, output_padding, strict=True)
    ]
    channels, kernels = by_group(x, groups, 1), by_group(weight, groups, 0).swapaxes(1, 2)
    result = np.zeros((x.shape[0], groups, weight.shape[1], *extents), x.dtype)
    for place, of, to in taps(kernel, x.shape[2:], extents, stride, padding, dilation):
        part = channels[(..., *of)]
        product = np.matmul(kernels[(..., *place)], columns(part))
        result[(..., *to)] += product.reshape(*product.shape[:3], *part.shape[3:])
    return result.reshape(x.shape[0], groups * weight.shape[1], *extents)


@aten(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed,"
    " SymInt[] output_padding, SymInt groups) -> Tensor",
    core=True,
)
class ConvolutionOp(SchemaOp):
    """The convolution of a batch [N, C, …] with weight [O, C / groups, …] ([C, O / groups, …] when transposed), plus bias [O]."""

    takes = NUMBERS

    @staticmethod
    def infer(
        x: Tensor,
        /,
        weight: Tensor,
        bias: Tensor | None,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
    ) -> Tensor:
        shape = convolved_shape(shape_of(x), shape_of(weight), stride, padding, dilation, transposed, output_padding, groups)
        require_shape("bias", bias, (shape[1],))
        element = common_element(x, weight, *([] if bias is None else [bias]))
        if element not in FLOATS_AND_LONG and (transposed or set(dilation) != {1}):
            raise TypeError(f"a transposed or dilated convolution is not defined for {dtype_of(element).torch} tensors")
        return tensor(element, shape)

    @staticmethod
    def numpy(
        x: Array,
        /,
        weight: Array,
        bias: Array | None,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
    ) -> Array:
        rank = weight.ndim - 2
        stride, padding, dilation = (spread(v, rank, "") for v in (stride, padding, dilation))
        wide, kernels = widened(x), widened(weight)
        if transposed:
            result = transposed_convolve(wide, kernels, stride, padding, dilation, spread(output_padding, rank, ""), groups)
        else:
            result = cross_correlate(wide, kernels, stride, padding, dilation, groups)
        if bias is not None:
            result = result + bias.reshape(-1, *(1,) * rank)
        return result.astype(x.dtype, copy=False)


def over_planes(
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    output_padding: tuple[int, ...],
    groups: int,
) -> SSAValue | None:
    """Returns a convolution over three dimensions as a sum of convolutions over planes, one per depth of the kernel, built detached.

    Stock ExecuTorch's kernel takes at most two dimensions. None for dynamic extents and other ranks.
    """
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) != 5 or not is_static(x):
        return None
    numbers = [
        spread(values, 3, name)
        for name, values in (("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding))
    ]
    (step, *steps), (pad, *pads), (gap, *gaps), (more, *mores) = numbers
    count = convolved_shape(shape, kernel, stride, padding, dilation, transposed, output_padding, groups)[2]
    reach = gap * (kernel[2] - 1)
    margins, starts = (pad, pad), [depth * gap for depth in range(kernel[2])]
    if transposed:
        # With zeros between its planes, the input goes through the mirrored kernel one plane at a time.
        if step > 1:
            spaced = view(aten.constant_pad_nd(aten.unsqueeze(x, 3), (0, 0, 0, 0, 0, step - 1)), (*shape[:2], shape[2] * step, *shape[3:]))
            x = aten.slice.Tensor(spaced, 2, 0, (shape[2] - 1) * step + 1)
        margins, starts, step = (reach - pad, reach - pad + more), starts[::-1], 1
    # Depth next to the batch: a range of depths is a batch of images.
    images = permute(with_margins(x, 2, *margins), (0, 2, 1, 3, 4))
    total: SSAValue | None = None
    for depth, start in enumerate(starts):
        part = aten.slice.Tensor(images, 1, start, start + (count - 1) * step + 1, step)
        flat = view(part, (shape[0] * count, shape[1], *shape[3:]))
        plane = aten.select.int(weight, 2, depth)
        arguments = (tuple(steps), tuple(pads), tuple(gaps), transposed, tuple(mores), groups)
        result = aten.convolution(flat, plane, None if depth else bias, *arguments)
        total = result if total is None else aten.add.Tensor(total, result)
    if total is None:
        return None
    return permute(view(total, (shape[0], count, *shape_of(total)[1:])), (0, 2, 1, 3, 4))


class ConvolutionFamilyOp(SchemaOp):
    """Convolutions of a fixed number of spatial dimensions; the batch dimension may be missing."""

    rank: ClassVar[int]
    """The number of spatial dimensions."""

    @classmethod
    def convolution(cls, shape: Sequence[int], weight: Sequence[int], *args: Any) -> tuple[Any, ...]:
        """Returns the arguments of `convolution` after the bias. Raises ValueError."""
        stride, padding, dilation, groups = args
        return (stride, padding, dilation, False, (0,) * cls.rank, groups)

    @classmethod
    def batched(cls, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape with a batch dimension. Raises ValueError."""
        if len(shape) not in (cls.rank + 1, cls.rank + 2):
            raise ValueError(f"input must have {cls.rank + 1} or {cls.rank + 2} dimensions, got shape {list(shape)}")
        return shape if len(shape) == cls.rank + 2 else (1, *shape)

    @classmethod
    def infer(cls, x: Tensor, weight: Tensor, bias: Tensor | None, /, *args: Any) -> Tensor:
        shape = cls.batched(shape_of(x))
        arguments = cls.convolution(shape, shape_of(weight), *args)
        result = ConvolutionOp.infer(tensor(x.element_type, shape), weight, bias, *arguments)
        return result if len(shape_of(x)) == len(shape) else tensor(result.element_type, shape_of(result)[1:])

    @classmethod
    def numpy(cls, x: Array, weight: Array, bias: Array | None, /, *args: Any) -> Array:
        batch = x.reshape(cls.batched(x.shape))
        result = ConvolutionOp.numpy(batch, weight, bias, *cls.convolution(batch.shape, weight.shape, *args))
        return result if batch.ndim == x.ndim else result[0]

    @classmethod
    def decompose(cls, x: SSAValue, weight: SSAValue, bias: SSAValue | None, /, *args: Any) -> SSAValue:
        shape = cls.batched(shape_of(x))
        batch = x if same_shape(shape_of(x), shape) else aten.unsqueeze(x, 0)
        arguments = cls.convolution(shape, shape_of(weight), *args)
        result = over_planes(batch, weight, bias, *arguments) or aten.convolution(batch, weight, bias, *arguments)
        return result if batch is x else aten.squeeze.dim(result, 0)


@aten(
    "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], "
    "SymInt groups=1) -> Tensor"
)
class Conv1dOp(ConvolutionFamilyOp):
    """A convolution over one dimension."""

    takes = NUMBERS
    rank = 1


@aten(
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] "
    "dilation=[1, 1], SymInt groups=1) -> Tensor"
)
class Conv2dOp(ConvolutionFamilyOp):
    """A convolution over two dimensions."""

    takes = NUMBERS
    rank = 2


@aten(
    "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] "
    "dilation=[1, 1, 1], SymInt groups=1) -> Tensor"
)
class Conv3dOp(ConvolutionFamilyOp):
    """A convolution over three dimensions."""

    takes = NUMBERS
    rank = 3


class PaddedConvolutionOp(ConvolutionFamilyOp):
    """Convolutions whose padding is a word: "valid" for none, "same" to keep the size (an odd padding has one more entry at the end)."""

    @classmethod
    def margins(cls, weight: Sequence[int], stride: Sequence[int], padding: str, dilation: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the entries to add before and after each spatial dimension. Raises ValueError."""
        if padding not in ("same", "valid"):
            raise ValueError(f'padding must be "same" or "valid", got "{padding}"')
        if padding == "valid":
            return [(0, 0)] * cls.rank
        if any(step != 1 for step in stride):
            raise ValueError(f'padding "same" needs stride 1, got {list(stride)}')
        totals = [d * (k - 1) for k, d in zip(weight[2:], spread(dilation, cls.rank, "dilation"), strict=True)]
        return [(total // 2, total - total // 2) for total in totals]

    @classmethod
    def convolution(cls, shape: Sequence[int], weight: Sequence[int], *args: Any) -> tuple[Any, ...]:
        """Builds the convolution as the base class does; padding that is larger after than before is a separate operation."""
        stride, padding, dilation, groups = args
        before = tuple(low for low, _ in cls.margins(weight, stride, padding, dilation))
        return (stride, before, dilation, False, (0,) * cls.rank, groups)

    @classmethod
    def extra(cls, weight: Sequence[int], stride: Sequence[int], padding: str, dilation: Sequence[int]) -> tuple[int, ...]:
        """Returns the padding to add after each dimension so that the same padding on both sides is right; empty when none."""
        uneven = [high - low for low, high in cls.margins(weight, stride, padding, dilation)]
        return tuple(number for more in reversed(uneven) for number in (0, more)) if any(uneven) else ()

    @classmethod
    def infer(cls, x: Tensor, weight: Tensor, bias: Tensor | None, /, *args: Any) -> Tensor:
        more = cls.extra(shape_of(weight), *args[:3])
        return super().infer(ConstantPadNdOp.infer(x, more) if more else x, weight, bias, *args)

    @classmethod
    def numpy(cls, x: Array, weight: Array, bias: Array | None, /, *args: Any) -> Array:
        more = cls.extra(weight.shape, *args[:3])
        return super().numpy(ConstantPadNdOp.numpy(x, more, 0) if more else x, weight, bias, *args)

    @classmethod
    def decompose(cls, x: SSAValue, weight: SSAValue, bias: SSAValue | None, /, *args: Any) -> SSAValue:
        more = cls.extra(shape_of(weight), *args[:3])
        return super().decompose(aten.constant_pad_nd(x, more) if more else x, weight, bias, *args)


@aten(
    'conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding="valid", SymInt[1] '
    "dilation=[1], SymInt groups=1) -> Tensor"
)
class Conv1dPaddingOp(PaddedConvolutionOp):
    """A convolution over one dimension, with padding "valid" or "same"."""

    takes = NUMBERS
    rank = 1


@aten(
    'conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid", SymInt[2] '
    "dilation=[1, 1], SymInt groups=1) -> Tensor"
)
class Conv2dPaddingOp(PaddedConvolutionOp):
    """A convolution over two dimensions, with padding "valid" or "same"."""

    takes = NUMBERS
    rank = 2


@aten(
    'conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding="valid", SymInt[3] '
    "dilation=[1, 1, 1], SymInt groups=1) -> Tensor"
)
class Conv3dPaddingOp(PaddedConvolutionOp):
    """A convolution over three dimensions, with padding "valid" or "same"."""

    takes = NUMBERS
    rank = 3


class TransposedConvolutionOp(ConvolutionFamilyOp):
    """Transposed convolutions: the gradient of a convolution with respect to its input."""

    @classmethod
    def convolution(cls, shape: Sequence[int], weight: Sequence[int], *args: Any) -> tuple[Any, ...]:
        """Returns the arguments of `convolution` after the bias."""
        stride, padding, output_padding, groups, dilation = args
        return (stride, padding, dilation, True, output_padding, groups)


@aten(
    "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
    "output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor"
)
class ConvTranspose1dOp(TransposedConvolutionOp):
    """A transposed convolution over one dimension."""

    takes = NUMBERS
    rank = 1


@aten(
    "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
    "SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor"
)
class ConvTranspose2dInputOp(TransposedConvolutionOp):
    """A transposed convolution over two dimensions."""

    takes = NUMBERS
    rank = 2


@aten(
    "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, "
    "0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor"
)
class ConvTranspose3dInputOp(TransposedConvolutionOp):
    """A transposed convolution over three dimensions."""

    takes = NUMBERS
    rank = 3


@aten(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
    "transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) "
    "-> Tensor"
)
class ConvolutionWithBackendOp(SchemaOp):
    """`convolution` with four more arguments that choose an implementation of PyTorch, and are ignored."""

    takes = NUMBERS

    @staticmethod
    def infer(*args: Any) -> Tensor:
        return ConvolutionOp.infer(*args[:9])

    @staticmethod
    def numpy(*args: Any) -> Array:
        return ConvolutionOp.numpy(*args[:9])

    @staticmethod
    def decompose(*args: Any) -> SSAValue:
        return aten.convolution(*args[:9])
