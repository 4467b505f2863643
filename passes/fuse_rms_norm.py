"""`fuse-rms-norm`: root-mean-square normalisation, written out in elementwise operators, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.arithmetic import MulTensorOp
from flambeau.dialects.edge.layout import layout_of
from flambeau.dialects.fused.norm import FusedRmsNormOp
from flambeau.dialects.row import SchemaOp
from flambeau.dialects.types import element_of, shape_of
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


def _made_by(value: SSAValue, name: str) -> SchemaOp | None:
    owner = value.owner
    return owner if isinstance(owner, SchemaOp) and owner.schema.name == name else None


def _square_of(value: SSAValue) -> SSAValue | None:
    """The x of x * x or x ** 2."""
    if (power := _made_by(value, "pow.Tensor_Scalar")) is not None and power.argument("exponent") == 2:
        return power.operands[0]
    if (product := _made_by(value, "mul.Tensor")) is not None and product.operands[0] is product.operands[1]:
        return product.operands[0]
    return None


def _normalised(value: SSAValue) -> tuple[SSAValue, float] | None:
    """The x and epsilon of x * rsqrt(mean(x ** 2, -1, keepdim) + epsilon)."""
    product = _made_by(value, "mul.Tensor")
    if product is None:
        return None
    for x, factor in (tuple(product.operands), tuple(reversed(product.operands))):
        root = _made_by(factor, "rsqrt")
        shifted = None if root is None else _made_by(root.operands[0], "add.Scalar")
        if shifted is None or shifted.argument("alpha") != 1:
            continue
        mean = _made_by(shifted.operands[0], "mean.dim")
        if mean is None or not mean.argument("keepdim") or _square_of(mean.operands[0]) is not x:
            continue
        rank = len(shape_of(x))
        if [d % rank for d in mean.argument("dim")] == [rank - 1]:
            return x, float(shifted.argument("other"))
    return None


class RmsNormPattern(Pattern):
    """weight * (x * rsqrt(mean(x ** 2) + epsilon)) over the last dimension, in f32."""

    roots: ClassVar[tuple[type[Operation], ...]] = (MulTensorOp,)
    counter = "norms fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it is the multiplication by the weight."""
        assert isinstance(op, MulTensorOp)
        if op.level() != "edge" or element_of(op.result) != f32 or layout_of(op.result) is not None:
            return
        for weight, inner in (tuple(op.operands), tuple(reversed(op.operands))):
            found = _normalised(inner)
            if found is None or element_of(found[0]) != f32 or layout_of(found[0]) is not None:
                continue
            x, epsilon = found
            size = shape_of(x)[-1:]
            if shape_of(weight) == size and shape_of(op.result) == shape_of(x):
                replace_with_values(op, [FusedRmsNormOp(x, None, size, weight, epsilon).result], rewriter)
                return


@dataclass(frozen=True)
class FuseRmsNormPass(PatternPass):
    """Recognises root-mean-square normalisation with a weight and makes it one `fused.rms_norm`.

    Needs: `edge` operators in canonical form. Leaves: the written-out operators only where something else reads what is between them.
    """

    name = "fuse-rms-norm"

    def patterns(self) -> Sequence[Pattern]:
        """The one pattern."""
        return [RmsNormPattern()]
