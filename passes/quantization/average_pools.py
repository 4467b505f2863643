"""Averages of quantized images, in integers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from flambeau.dialects.aten.images.pool import AvgPool2dOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.aten.reductions.reduction import MeanDimOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.conv2d import Pair
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, fixed_point
from flambeau.dialects.fused.quantized_pool import QuantizedAvgPool2dOp
from flambeau.dialects.ir.tensor_types import has_static_entries, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator
from flambeau.passes.quantization.integer_pattern import IntegerPattern
from flambeau.passes.rewriting.explanation import decline
from flambeau.support.lazy import np


@dataclass(frozen=True)
class _Windows:
    """The windows of an average pool, and the divisor of their sums."""

    kernel: Pair
    stride: Pair
    padding: Pair
    divisor: int


@dataclass(frozen=True)
class PoolPattern(IntegerPattern):
    """quantize(clamp(average pool or mean of an image(dequantize(x)))): the sums and the rounding in integers."""

    operators = (MeanDimOp, AvgPool2dOp)
    counter = "average pools fused"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of an average; None, with a reason, where no kernel computes them."""
        value, to, (source, *_) = op.results[0], found.to, found.inputs
        windows = _windows_of(op)
        if windows is None or not self.has(QuantizedAvgPool2dOp):
            return None
        if source is None or source.type.axis is not None or to.storage not in RANGES or source.type.storage != to.storage:
            return decline(f"stays in floats: its operand is not dequantized from {to.storage} with one constant scale")
        if not is_row_major(source.value) or not is_row_major(value) or windows.kernel[0] * windows.kernel[1] > MOST_PRODUCTS:
            return decline("stays in floats: it has another layout than row-major, or its windows are too large")
        try:
            multipliers, shifts = fixed_point(np.array([source.type.scale / to.scale / windows.divisor]))
        except ValueError as error:
            return decline(f"stays in floats: {error}")
        image = ToDimOrderCopyOp(source.value, dim_order=CHANNELS_LAST)
        scale = (int(multipliers[0]), int(shifts[0]), source.type.zero_point, to.zero_point, found.low, found.high)
        sizes = QuantizedAvgPool2dOp(source.value, windows.kernel, windows.stride, windows.padding, *scale).result
        kind = with_dim_order(sizes, CHANNELS_LAST)
        pooled = QuantizedAvgPool2dOp(image.result, windows.kernel, windows.stride, windows.padding, *scale, result_types=[kind])
        pooled.result.name_hint = result.name_hint
        averages: SSAValue = ToDimOrderCopyOp(pooled.result, dim_order=(0, 1, 2, 3)).result
        if shape_of(value) != shape_of(averages):
            averages = ViewOp.at("edge")(averages, shape_of(value), result_types=[tensor(to.storage, shape_of(value))]).result
        return averages


def _windows_of(op: SchemaOp) -> _Windows | None:
    """Returns the windows of a mean or average pool of images; None, with a reason, when no kernel fits."""
    match op:
        case MeanDimOp():
            x, dims, _, dtype = op.arguments()
            shape = shape_of(x)
            if len(shape) != 4 or dims is None or {normalize_dim(dim, 4) for dim in dims} != {2, 3}:
                return decline("stays in floats: of means, only those of the pixels of images have a kernel")
            if dtype is not None or not has_static_entries(x):
                return decline("stays in floats: it has dynamic sizes, or another element type than its operand")
            return _Windows((shape[2], shape[3]), (1, 1), (0, 0), shape[2] * shape[3])
        case AvgPool2dOp():
            x, kernel, stride, padding, ceil_mode, counts_padding, divisor = op.arguments()
            if len(shape_of(x)) != 4 or not has_static_entries(x) or ceil_mode or (any(padding) and not counts_padding):
                return decline("stays in floats: of average pools, only those of static images with windows of one size have a kernel")
            kernel, stride, padding = ((numbers[0], numbers[-1]) for numbers in (kernel, stride or kernel, padding))
            return _Windows(kernel, stride, padding, divisor or kernel[0] * kernel[1])
        case _:
            return None
