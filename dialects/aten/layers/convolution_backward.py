"""The gradients of a convolution."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.convolution import ConvolutionOp, by_group, columns, cross_correlate, taps, transposed_convolve
from flambeau.dialects.aten.library.gradients import Mask, Numbers, masked, require_gradient, wanted
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.windows import spread
from flambeau.dialects.aten.linear_algebra.matmul import common_element
from flambeau.dialects.ir.extents import provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS_AND_LONG
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


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
    """Returns the gradient of kernels of `shape`, from the gradient of a convolution's result and its input."""
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
    """Returns `convolution_backward` in terms of convolutions: of the gradient by the kernels, and of the input by the gradient."""
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
    """Returns the first elements along each spatial dimension."""
    for dim, size in enumerate(sizes, 2):
        if not provably_equal(shape_of(x)[dim], size):
            x = aten.slice.Tensor(x, dim, 0, size)
    return x
