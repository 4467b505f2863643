"""Gradients that Core ATen has as operators of their own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f16, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.convolution import ConvolutionOp, by_group, columns, cross_correlate, taps, transposed_convolve
from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.embedding import require_indices, require_long
from flambeau.dialects.aten.matmul import common_element
from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.aten.pool import AdaptiveAvgPool2dCoreOp, AvgPool2dOp, MaxPool2dWithIndicesOp
from flambeau.dialects.aten.windows import adaptive_windows, spread, window_divisors
from flambeau.dialects.ir.extents import provably_equal
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, holds_complex, is_float, may_equal, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, FLOATS_AND_LONG, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Mask = tuple[bool, ...]
Numbers = tuple[int, ...]


def require_gradient(grad: Tensor, shape: Sequence[int]) -> None:
    """Raises ValueError unless the gradient has the shape of the result that it belongs to."""
    if not may_equal(shape_of(grad), shape):
        raise ValueError(f"the gradient must have the result's shape {list(shape)}, got {list(shape_of(grad))}")


def wanted(kind: Tensor | None, element: Attribute, present: bool) -> Tensor:
    """The type of a gradient; one that the output mask leaves out is empty."""
    return tensor(element, (0,)) if kind is None or not present else tensor(element, shape_of(kind))


def masked(gradients: Sequence[Array | None], mask: Mask, like: Array) -> tuple[Array, ...]:
    """The gradients in the type of `like`; those that the output mask leaves out are empty."""
    return tuple(
        np.zeros(0, like.dtype) if gradient is None or not present else gradient.astype(like.dtype)
        for gradient, present in zip(gradients, mask, strict=True)
    )


def wide_element(x: SSAValue) -> ElementType:
    """The type in which sums of a tensor's elements are computed."""
    return f32 if element_of(x) in (f16, bf16) else element_of(x)


@aten(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
    "bool scale_grad_by_freq) -> Tensor",
    core=True,
)
class EmbeddingDenseBackwardOp(SchemaOp):
    """The gradient of an embedding's table: each row's sum over its uses, without those of `padding_idx`."""

    @staticmethod
    def infer(grad: Tensor, /, indices: Tensor, num_weights: int) -> Tensor:
        require_indices(indices)
        require_gradient(grad, (*shape_of(indices), shape_of(grad)[-1]))
        return tensor(element_of(grad), (num_weights, shape_of(grad)[-1]))

    @staticmethod
    def numpy(grad: Array, /, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Array:
        flat = indices.reshape(-1)
        rows = widened(grad).reshape(flat.size, grad.shape[-1])
        if scale_grad_by_freq:
            rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
        result = np.zeros((num_weights, grad.shape[-1]), rows.dtype)
        kept = flat != padding_idx
        np.add.at(result, flat[kept], rows[kept])
        return result.astype(grad.dtype)

    @staticmethod
    def decompose(grad: SSAValue, /, indices: SSAValue, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> SSAValue:
        flat = aten.view(to_element(indices, i64), (-1,))
        is_divided = scale_grad_by_freq and not is_float(element_of(grad)) and not holds_complex(grad)
        wide = f64 if is_divided else wide_element(grad)
        size = (shape_of(flat)[0], shape_of(grad)[-1])
        rows = aten.view(to_element(grad, wide), size)
        if scale_grad_by_freq:
            counts = aten.scatter_add(aten.full((num_weights,), 0, wide), 0, flat, aten.full(size[:1], 1, wide))
            rows = aten.div.Tensor(rows, aten.unsqueeze(aten.index_select(counts, 0, flat), 1))
        if padding_idx >= 0:
            rows = aten.where.ScalarOther(aten.unsqueeze(aten.ne.Scalar(flat, padding_idx), 1), rows, 0)
        sums = aten.scatter_add(aten.full((num_weights, size[1]), 0, wide), 0, aten.expand(aten.unsqueeze(flat, 1), size), rows)
        return to_element(sums, element_of(grad))


@aten(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
    "int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
    core=True,
)
class MaxPool2dWithIndicesBackwardOp(SchemaOp):
    """The gradient of a max pool: each window's goes to the place of its largest element."""

    takes = FLOATS

    @staticmethod
    def infer(
        grad: Tensor,
        x: Tensor,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        ceil_mode: bool,
        indices: Tensor,
    ) -> Tensor:
        values, places = MaxPool2dWithIndicesOp.infer(x, kernel_size, stride, padding, dilation, ceil_mode)
        require_gradient(grad, shape_of(values))
        require_gradient(indices, shape_of(places))
        require_same_element(grad, x)
        require_long(indices)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(grad: Array, x: Array, /, indices: Array) -> Array:
        planes = math.prod(x.shape[:-2])
        result: Array = np.zeros((planes, x.shape[-2] * x.shape[-1]), widened(x).dtype)
        np.add.at(result, (np.arange(planes)[:, None], indices.reshape(planes, -1)), widened(grad).reshape(planes, -1))
        return result.reshape(x.shape).astype(x.dtype)

    @staticmethod
    def decompose(grad: SSAValue, x: SSAValue, /, indices: SSAValue) -> SSAValue:
        *batch, height, width = shape_of(x)
        windows = (math.prod(batch), math.prod(shape_of(grad)[-2:]))
        wide = to_element(grad, wide_element(x))
        nothing = aten.full((windows[0], height * width), 0, element_of(wide))
        sums = aten.scatter_add(nothing, 1, aten.view(indices, windows), aten.view(wide, windows))
        return to_element(aten.view(sums, shape_of(x)), element_of(x))


def places(count: int) -> SSAValue:
    """The integers 0 to count - 1, built detached."""
    return aten.arange.start_step(0, count, 1, dtype=i64)


def spread_over_windows(grad: SSAValue, x: SSAValue, bounds: Sequence[tuple[SSAValue, SSAValue, SSAValue | None]]) -> SSAValue:
    """Each window's gradient at all its places, by a matrix per dimension: `bounds` are where windows start and end, and their divisors."""
    element = wide_element(x)
    matrices: list[SSAValue] = []
    for extent, (start, end, divisor) in zip(shape_of(x)[-2:], bounds, strict=True):
        inside = aten.logical_and(aten.ge.Tensor(places(extent), start), aten.lt.Tensor(places(extent), end))
        shares = to_element(inside, element)
        matrices.append(shares if divisor is None else aten.div.Tensor(shares, to_element(divisor, element)))
    rows, columns = matrices
    return to_element(aten.matmul(aten.permute(rows, (1, 0)), aten.matmul(to_element(grad, element), columns)), element_of(x))


@aten(
    "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, "
    "bool count_include_pad, int? divisor_override) -> Tensor",
    core=True,
)
class AvgPool2dBackwardOp(SchemaOp):
    """The gradient of a mean pool: each window's, divided by its size, goes to all its places."""

    takes = FLOATS_AND_LONG

    @staticmethod
    def infer(
        grad: Tensor,
        x: Tensor,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        divisor_override: int | None,
    ) -> Tensor:
        result = AvgPool2dOp.infer(x, kernel_size, stride, padding, ceil_mode, divisor_override)
        require_gradient(grad, shape_of(result))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(
        grad: Array,
        x: Array,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        sizes, steps, margins, gaps, counts = AvgPool2dOp.windows(x.shape, kernel_size, stride, padding, (1,), ceil_mode)
        divisors = window_divisors(x.shape[-2:], sizes, steps, margins, counts, count_include_pad)
        share = widened(grad) / (divisors if divisor_override is None else divisor_override)
        planes = math.prod(x.shape[:-2])
        places = AvgPool2dOp.places(x, sizes, steps, margins, gaps, counts).reshape(-1, math.prod(sizes))
        # Places outside the image are collected in one more entry.
        result = np.zeros((planes, x.shape[-2] * x.shape[-1] + 1), share.dtype)
        shares = np.broadcast_to(share.reshape(planes, -1, 1), (planes, *places.shape))
        np.add.at(result, (np.arange(planes)[:, None, None], places[None]), shares)
        return result[:, :-1].reshape(x.shape).astype(x.dtype)

    @staticmethod
    def decompose(
        grad: SSAValue,
        x: SSAValue,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> SSAValue | None:
        if not is_float(element_of(x)):
            return None
        windows = AvgPool2dOp.windows(shape_of(x), kernel_size, stride, padding, (1,), ceil_mode)
        bounds: list[tuple[SSAValue, SSAValue, SSAValue | None]] = []
        for extent, size, step, pad, _, count in zip(shape_of(x)[-2:], *windows, strict=True):
            start = aten.unsqueeze(aten.add.Scalar(aten.mul.Scalar(places(count), step), -pad), 1)
            end = aten.add.Scalar(start, size)
            low, high = (-pad, extent + pad) if count_include_pad else (0, extent)
            length = aten.sub.Tensor(aten.clamp(end, None, high), aten.clamp(start, low))
            bounds.append((start, end, length if divisor_override is None else None))
        result = spread_over_windows(grad, x, bounds)
        return result if divisor_override is None else aten.div.Scalar(result, divisor_override)


@aten("_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor", core=True)
class AdaptiveAvgPool2dBackwardOp(SchemaOp):
    """The gradient of an adaptive mean pool: each window's, divided by its size, goes to all its places."""

    takes = FLOATS

    @staticmethod
    def infer(grad: Tensor, x: Tensor, /) -> Tensor:
        require_gradient(grad, shape_of(AdaptiveAvgPool2dCoreOp.infer(x, shape_of(grad)[-2:])))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(grad: Array, x: Array, /) -> Array:
        result = np.zeros(x.shape, widened(x).dtype)
        bounds = [adaptive_windows(int(extent), int(count)) for extent, count in zip(x.shape[-2:], grad.shape[-2:], strict=True)]
        for (i, (top, bottom)), (j, (left, right)) in itertools.product(enumerate(bounds[0]), enumerate(bounds[1])):
            share = widened(grad[..., i, j]) / ((bottom - top) * (right - left))
            result[..., top:bottom, left:right] += share[..., None, None]
        return result.astype(x.dtype)

    @staticmethod
    def decompose(grad: SSAValue, x: SSAValue, /) -> SSAValue:
        bounds: list[tuple[SSAValue, SSAValue, SSAValue | None]] = []
        for extent, count in zip(shape_of(x)[-2:], shape_of(grad)[-2:], strict=True):
            # The bounds are those of adaptive_windows: each ends where the next number of elements, divided, is rounded up.
            products = aten.mul.Scalar(aten.unsqueeze(places(count), 1), extent)
            start = aten.div.Scalar_mode(products, count, "floor")
            end = aten.div.Scalar_mode(aten.add.Scalar(products, extent + count - 1), count, "floor")
            bounds.append((start, end, aten.sub.Tensor(end, start)))
        return spread_over_windows(grad, x, bounds)


@aten(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    core=True,
)
class ConvolutionBackwardOp(SchemaOp):
    """The gradients of a convolution's input, weight and bias."""

    takes = FLOATS_AND_LONG

    @staticmethod
    def infer(
        grad: Tensor,
        x: Tensor,
        /,
        weight: Tensor,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        transposed: bool,
        output_padding: Numbers,
        groups: int,
        output_mask: Mask,
    ) -> tuple[Tensor, ...]:
        common_element(grad, x, weight)
        result = ConvolutionOp.infer(x, weight, None, stride, padding, dilation, transposed, output_padding, groups)
        require_gradient(grad, shape_of(result))
        element, bias = element_of(result), tensor(element_of(result), shape_of(result)[1:2])
        return tuple(wanted(kind, element, present) for kind, present in zip((x, weight, bias), output_mask, strict=True))

    @staticmethod
    def numpy(
        grad: Array,
        x: Array,
        /,
        weight: Array,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        transposed: bool,
        groups: int,
        output_mask: Mask,
    ) -> tuple[Array, ...]:
        rank = weight.ndim - 2
        steps, margins, gaps = (spread(numbers, rank, "") for numbers in (stride, padding, dilation))
        wide, image, kernels = widened(grad), widened(x), widened(weight)
        if transposed:
            # Padding of the result as wide as the stride leaves room for more places than the input has.
            of_input = cross_correlate(wide, kernels, steps, margins, gaps, groups)[(..., *map(slice, x.shape[2:]))]
            of_weight = weight_gradient(image, wide, kernels.shape, steps, margins, gaps, groups)
        else:
            sizes = zip(x.shape[2:], grad.shape[2:], weight.shape[2:], steps, margins, gaps, strict=True)
            rest = [extent - ((count - 1) * step - 2 * pad + gap * (kernel - 1) + 1) for extent, count, kernel, step, pad, gap in sizes]
            of_input = transposed_convolve(wide, kernels, steps, margins, gaps, rest, groups)
            of_weight = weight_gradient(wide, image, kernels.shape, steps, margins, gaps, groups)
        return masked((of_input, of_weight, wide.sum(axis=(0, *range(2, wide.ndim)))), output_mask, x)


def weight_gradient(
    grad: Array, x: Array, shape: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Array:
    """The gradient of kernels of `shape`, from the gradient of a convolution's result and its input."""
    of_result, of_input = by_group(grad, groups, 1), by_group(x, groups, 1)
    result = np.zeros((groups, shape[0] // groups, *shape[1:]), x.dtype)
    for place, of, where in taps(shape[2:], grad.shape[2:], x.shape[2:], stride, padding, dilation):
        parts = columns(of_result[(..., *of)]), columns(of_input[(..., *where)])
        result[(..., *place)] = np.einsum("bgok,bgck->goc", *parts, optimize=True)
    return result.reshape(tuple(shape))


def gradients_by_convolutions(
    grad: SSAValue,
    x: SSAValue,
    weight: SSAValue,
    _: Numbers | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
    output_mask: Mask,
) -> tuple[SSAValue, ...]:
    """`convolution_backward` in terms of convolutions: of the gradient by the kernels, and of the input by the gradient."""
    rank = len(shape_of(weight)) - 2
    steps, margins, gaps = (spread(numbers, rank, "") for numbers in (stride, padding, dilation))
    nothing = aten.full((0,), 0, element_of(x))
    of_input = of_weight = of_bias = nothing
    if output_mask[0]:
        extents = zip(shape_of(x)[2:], shape_of(grad)[2:], shape_of(weight)[2:], steps, margins, gaps, strict=True)
        rest = [extent - ((count - 1) * step - 2 * pad + gap * (kernel - 1) + 1) for extent, count, kernel, step, pad, gap in extents]
        added = (0,) * rank if transposed else tuple(rest)
        of_input = _begin(aten.convolution(grad, weight, None, steps, margins, gaps, not transposed, added, groups), shape_of(x)[2:])
    if output_mask[1]:
        read, written = (grad, x) if transposed else (x, grad)
        spatial = tuple(range(2, rank + 2))
        batch, channels, *sizes = shape_of(read)
        apart = aten.view(read, (batch, groups, channels // groups, *sizes))
        apart = aten.permute(apart, (2, 1, 0, *(dim + 1 for dim in spatial)))
        images = aten.view(aten.clone(apart), (channels // groups, groups * batch, *sizes))
        kernels = aten.permute(written, (1, 0, *spatial))
        found = aten.convolution(images, kernels, None, gaps, margins, steps, False, (0,) * rank, groups)
        of_weight = aten.permute(_begin(found, shape_of(weight)[2:]), (1, 0, *spatial))
    if output_mask[2]:
        of_bias = aten.sum.dim_IntList(grad, (0, *range(2, rank + 2)))
    return of_input, of_weight, of_bias


def _begin(x: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The first elements along each spatial dimension."""
    for dim, size in enumerate(sizes, 2):
        if not provably_equal(shape_of(x)[dim], size):
            x = aten.slice.Tensor(x, dim, 0, size)
    return x
