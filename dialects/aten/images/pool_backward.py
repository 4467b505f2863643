"""Gradients of pooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.images.pool import AdaptiveAvgPool2dCoreOp, AvgPool2dOp, MaxPool2dWithIndicesOp
from flambeau.dialects.aten.indexing.embedding import require_long
from flambeau.dialects.aten.library.gradients import Numbers, require_gradient
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.windows import adaptive_windows, window_divisors
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_float, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, FLOATS_AND_LONG, require_same_element, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
    "int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
    core=True,
)
class MaxPool2dWithIndicesBackwardOp(SchemaOp):
    """The gradient of the input of a max pool: each window's gradient is added at the index of its largest element."""

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
        wide = to_element(grad, wide_element(element_of(x)))
        nothing = aten.full((windows[0], height * width), 0, element_of(wide))
        sums = aten.scatter_add(nothing, 1, aten.view(indices, windows), aten.view(wide, windows))
        return to_element(aten.view(sums, shape_of(x)), element_of(x))


def places(count: int) -> SSAValue:
    """Returns the integers 0 to count - 1, built detached."""
    return aten.arange.start_step(0, count, 1, dtype=i64)


def spread_over_windows(grad: SSAValue, x: SSAValue, bounds: Sequence[tuple[SSAValue, SSAValue, SSAValue | None]]) -> SSAValue:
    """Spreads each window's gradient over its places by a matrix per dimension. `bounds`: starts, ends and divisors of the windows."""
    element = wide_element(element_of(x))
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
    """The gradient of the input of a mean pool: each window's gradient, divided by the window's size, is added to its elements."""

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
    """The gradient of the input of an adaptive mean pool: each window's gradient, divided by its size, is added to its elements."""

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
