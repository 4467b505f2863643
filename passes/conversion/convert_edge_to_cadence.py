"""`convert-edge-to-cadence`: computes in integers what stands between `dequantize` and `quantize`, by the operators of `cadence`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.passes.quantization.cadence_forms import (
    LayerPattern,
    NormPattern,
    ProductPattern,
    ReluPattern,
    SumPattern,
    moved_dequantizations,
    remaining_patterns,
)
from flambeau.passes.quantization.moved_integers import moved_patterns
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.targets.interface import TargetName, find_target


@dataclass(frozen=True)
class ConvertEdgeToCadencePass(ModulePass):
    """Layers, products, sums, relus and norms of quantized numbers become operators of `cadence`, as far as the target has their kernels.

    A weight has one scale for all. A bias is a constant in int32, in steps of the sums; the ratio of scales is a multiplier of 31 bits and
    a shift. Operators between layers that move elements or take the largest do so with the integers. Convolutions behind a permutation of
    images or rows whose channels come last compute with these, and the permutation follows; their weights are packed for that.

    Needs: `edge` operators between `dequantize_per_tensor` and `quantize_per_tensor` of `quantized_decomposed`, with constant parameters.
    Leaves: in floats what the target has no kernel for, with a remark, between operators of `cadence` that quantize and dequantize.
    """

    name = "convert-edge-to-cadence"
    works_on = ("edge",)
    target: TargetName = "cadence"
    """Whose kernels compute them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        target, constants = find_target(self.target), ModuleConstants(ctx, op)
        kinds = (LayerPattern, SumPattern, ProductPattern, NormPattern, ReluPattern)
        apply_patterns(op, [*(kind(target, constants) for kind in kinds), *moved_patterns(target, constants), *moved_dequantizations()])
        apply_patterns(op, remaining_patterns(target))
