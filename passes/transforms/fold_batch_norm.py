"""`fold-batch-norm`: folds an inference batch norm into the weights of the convolution before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from flambeau.dialects.aten.layers.batch_norm import NativeBatchNormLegitNoTrainingOp
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.ir.tensor_types import tensor, tensor_type
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.support.lazy import Array, np

_NOT_CONSTANT = "not folded: a weight or a statistic is not a floating-point constant"


@dataclass(frozen=True)
class FoldBatchNormPattern(Pattern):
    """convolution -> batch norm, with constant weights and statistics, as one convolution."""

    constants: ModuleConstants
    roots = (NativeBatchNormLegitNoTrainingOp,)
    counter = "batch norms folded"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it is the batch norm and its saved statistics are unused."""
        assert isinstance(op, NativeBatchNormLegitNoTrainingOp)
        if op.results[1].uses or op.results[2].uses:
            return
        x, scale, shift, mean, variance, _, epsilon = op.arguments()
        convolution = cast(SSAValue, x).owner
        if not isinstance(convolution, ConvolutionOp):
            return
        if not x.has_one_use():
            return decline("not folded: something else reads the convolution's result too")
        arguments = convolution.arguments()
        weight, bias, transposed, groups = arguments[1], arguments[2], arguments[6], arguments[8]
        kernel = self.constants.array(weight)
        mean_array, variance_array = self.constants.array(mean), self.constants.array(variance)
        if kernel is None or mean_array is None or variance_array is None or kernel.dtype.kind != "f":
            return decline(_NOT_CONSTANT)
        optional = [None if value is None else self.constants.array(value) for value in (scale, shift, bias)]
        if any(value is not None and array is None for value, array in zip((scale, shift, bias), optional, strict=True)):
            return decline(_NOT_CONSTANT)
        factor, offset = _affine(optional[0], optional[1], optional[2], mean_array, variance_array, epsilon)
        folded = _scaled(kernel, factor, transposed, groups)
        element = tensor_type(weight).element_type
        name = self.constants.name(weight)
        new_weight = self.constants.add(f"{name}.batch_norm", folded.astype(kernel.dtype), tensor_type(weight))
        new_bias = self.constants.add(f"{name}.batch_norm_bias", offset.astype(kernel.dtype), tensor(element, offset.shape))
        new = convolution.rebuilt(weight=new_weight.results[0], bias=new_bias.results[0])
        for item in list(detached_ops(new.results)):
            rewriter.insert(item, InsertPoint.before(op))
        rewriter.replace_all_uses_with(op.results[0], new.results[0])
        rewriter.erase(op)


def _affine(
    scale: Array | None, shift: Array | None, bias: Array | None, mean: Array, variance: Array, epsilon: float
) -> tuple[Array, Array]:
    """Returns the factor and offset per channel, in double precision."""
    factor = 1.0 / np.sqrt(variance.astype(np.float64) + epsilon)
    if scale is not None:
        factor = factor * scale.astype(np.float64)
    start = 0.0 if bias is None else bias.astype(np.float64)
    offset = (start - mean.astype(np.float64)) * factor
    if shift is not None:
        offset = offset + shift.astype(np.float64)
    return cast(Array, factor), cast(Array, offset)


def _scaled(kernel: Array, factor: Array, transposed: bool, groups: int) -> Array:
    """Returns the kernel with each output channel multiplied by its factor."""
    double = kernel.astype(np.float64)
    rest = (1,) * (kernel.ndim - 2)
    if not transposed:
        return cast(Array, double * factor.reshape(-1, 1, *rest))
    per_group = kernel.shape[1]
    grouped = double.reshape(groups, kernel.shape[0] // groups, per_group, *kernel.shape[2:])
    return cast(Array, (grouped * factor.reshape(groups, 1, per_group, *rest)).reshape(kernel.shape))


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Multiplies a batch norm's scale into the weights of the convolution before it, and adds its shift to the bias.

    Needs: `convolution` and `_native_batch_norm_legit_no_training` (any level) on constants. Leaves: one convolution for each such pair
    whose intermediate value nobody else uses. Computed in double precision.
    """

    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        apply_patterns(op, [FoldBatchNormPattern(ModuleConstants(ctx, op))])
