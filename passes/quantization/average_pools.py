"""Averages of quantized images, in integers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.images.pool import AvgPool2dOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.aten.reductions.reduction import MeanDimOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.conv2d import Pair
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, fixed_point
from flambeau.dialects.fused.quantized_pool import QuantizedAvgPool2dOp
from flambeau.dialects.ir.tensor_types import is_static, normalize_dim, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.passes.analysis.quantized_types import before_clamp, dequantized, quantized_type
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import np


@dataclass(frozen=True)
class _Windows:
    """The windows of an average pool, and the divisor of their sums."""

    kernel: Pair
    stride: Pair
    padding: Pair
    divisor: int


@dataclass(frozen=True)
class PoolPattern(Pattern):
    """quantize(clamp(average pool or mean of an image(dequantize(x)))): the sums and the rounding in integers."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "average pools fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand is an average."""
        assert isinstance(op, QuantizePerTensorOp)
        to = quantized_type(op)
        value, low, high = before_clamp(op.operands[0], to)
        windows = _windows_of(value)
        if windows is None or not value.has_one_use():
            return None
        if not self.target.has(QuantizedAvgPool2dOp):
            return decline(f"stays in floats: the target {self.target.name!r} has no kernel for {QuantizedAvgPool2dOp.name}")
        assert isinstance(value.owner, Operation)
        source = dequantized(value.owner.operands[0], self.constants)
        if source is None or source.type.axis is not None or to.storage not in RANGES or source.type.storage != to.storage:
            return decline(f"stays in floats: its operand is not dequantized from {to.storage} with one constant scale")
        if not is_row_major(source.value) or not is_row_major(value) or windows.kernel[0] * windows.kernel[1] > MOST_PRODUCTS:
            return decline("stays in floats: it has another layout than row-major, or its windows are too large")
        try:
            multipliers, shifts = fixed_point(np.array([source.type.scale / to.scale / windows.divisor]))
        except ValueError as error:
            return decline(f"stays in floats: {error}")
        image = ToDimOrderCopyOp(source.value, dim_order=CHANNELS_LAST)
        scale = (int(multipliers[0]), int(shifts[0]), source.type.zero_point, to.zero_point, low, high)
        sizes = QuantizedAvgPool2dOp(source.value, windows.kernel, windows.stride, windows.padding, *scale).result
        kind = with_dim_order(sizes, CHANNELS_LAST)
        pooled = QuantizedAvgPool2dOp(image.result, windows.kernel, windows.stride, windows.padding, *scale, result_types=[kind])
        pooled.result.name_hint = op.result.name_hint
        result: SSAValue = ToDimOrderCopyOp(pooled.result, dim_order=(0, 1, 2, 3)).result
        if shape_of(value) != shape_of(result):
            result = ViewOp.at("edge")(result, shape_of(value), result_types=[tensor(to.storage, shape_of(value))]).result
        return replace_with_values(op, [result], rewriter)


def _windows_of(value: SSAValue) -> _Windows | None:
    """Returns the windows when `value` is a mean or average pool of images; None otherwise, with a reason when no kernel fits."""
    op = value.owner
    match op:
        case MeanDimOp() if op.level() == "edge":
            x, dims, _, dtype = op.arguments()
            shape = shape_of(x)
            if len(shape) != 4 or dims is None or {normalize_dim(dim, 4) for dim in dims} != {2, 3}:
                return decline("stays in floats: of means, only those of the pixels of images have a kernel")
            if dtype is not None or not is_static(x):
                return decline("stays in floats: it has dynamic sizes, or another element type than its operand")
            return _Windows((shape[2], shape[3]), (1, 1), (0, 0), shape[2] * shape[3])
        case AvgPool2dOp() if op.level() == "edge":
            x, kernel, stride, padding, ceil_mode, counts_padding, divisor = op.arguments()
            if len(shape_of(x)) != 4 or not is_static(x) or ceil_mode or (any(padding) and not counts_padding):
                return decline("stays in floats: of average pools, only those of static images with windows of one size have a kernel")
            kernel, stride, padding = ((numbers[0], numbers[-1]) for numbers in (kernel, stride or kernel, padding))
            return _Windows(kernel, stride, padding, divisor or kernel[0] * kernel[1])
        case _:
            return None
