"""`fuse-quantized`: computes in integers what stands between `dequantize` and `quantize`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.aten.elementwise.comparison import ClampOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.fused.quantized import RANGES, QuantizedConv2dOp, QuantizedLinearOp
from flambeau.dialects.fused.quantized_elementwise import QuantizedAddOp, QuantizedMulOp
from flambeau.dialects.fused.quantized_pool import QuantizedAvgPool2dOp
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.quantization.average_pools import PoolPattern
from flambeau.passes.quantization.dynamic_layers import dynamic_patterns
from flambeau.passes.quantization.embedding_tables import table_pattern
from flambeau.passes.quantization.moved_integers import moved_patterns
from flambeau.passes.quantization.static_layers import LayerPattern
from flambeau.passes.quantization.sums_and_products import ProductPattern, SumPattern
from flambeau.passes.quantization.weight_only_layers import weight_only_patterns
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import TargetName, find_target

_SATURATING = (QuantizedLinearOp, QuantizedConv2dOp, QuantizedAddOp, QuantizedMulOp, QuantizedAvgPool2dOp)


@rewrites(ClampOp, counter="clamps fused")
def _saturated(op: ClampOp) -> SchemaOp | None:
    """Replaces the clamp, with numbers for bounds, of a quantized layer or sum by the layer or sum with narrower limits."""
    bounds, value = bounds_of_clamp(op), op.operands[0]
    copy = value.owner
    layer = copy.operands[0].owner if isinstance(copy, ToDimOrderCopyOp) and copy.operands[0].has_one_use() else copy
    if bounds is None or not value.has_one_use() or not isinstance(layer, _SATURATING) or element_of(op.result) not in RANGES:
        return None
    arguments = list(layer.arguments())
    low, high = arguments[-2:]
    low, high = int(max(low, bounds[0])), int(min(high, bounds[1]))
    if low > high:
        return None
    fused = type(layer)(*arguments[:-2], low, high, result_types=list(layer.result_types))
    fused.location = layer.location
    return ToDimOrderCopyOp(fused.result, dim_order=(0, 1, 2, 3)) if layer is not copy else fused


@dataclass(frozen=True)
class FuseQuantizedPass(ModulePass):
    """Linear layers, convolutions and sums of quantized numbers become `fused.quantized_linear`, `quantized_conv2d` and `quantized_add`.

    Weights stay the 8-bit integers that they are, packed for the kernels. The bias, and the ratio of scales as multiplier and shift, are
    constants in int32. Operators between layers that move elements, take the largest or clamp do so with the integers.
    Linear layers of floats with int8 weights become `fused.weight_only_linear`, or `fused.dynamic_quantized_linear` where the run
    quantizes the floats. Embeddings take rows of integers, of which these alone become floats.

    Needs: `edge` operators between `dequantize_*` and `quantize_per_tensor` of `quantized_decomposed`, with constant parameters. Leaves:
    convolutions channels-last between two `edge._to_dim_order_copy`; in floats what the target has no integer kernel for, with a remark.
    """

    name = "fuse-quantized"
    works_on = ("edge", "fused")
    target: TargetName = "flambeau"
    """Whose kernels compute them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        target, constants = find_target(self.target), ModuleConstants(ctx, op)
        kinds = (LayerPattern, SumPattern, ProductPattern, PoolPattern)
        apply_patterns(op, [*(kind(target, constants) for kind in kinds), *moved_patterns(target, constants), _saturated])
        # Last, the remaining layers and tables, whose results are floats.
        apply_patterns(op, [*dynamic_patterns(target, constants), table_pattern(constants), *weight_only_patterns(target, constants)])
