"""`fuse-epilogues`: moves activations and residual additions into the fused operator before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp
from flambeau.dialects.fused.conv2d import FusedConv2dOp
from flambeau.dialects.fused.linear import FusedLinearOp
from flambeau.dialects.fused.norm import FusedLayerNormOp, FusedRmsNormOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern

_PRODUCERS = (FusedLinearOp, FusedConv2dOp)


def activation_of(op: SchemaOp) -> str | None:
    """Returns the activation of fused operators that an operator is, if it is one."""
    return next((name for name, *rest in op.activations if op.arguments()[1:] == rest), None)


def _why_apart(inner: SchemaOp) -> str:
    return f"not fused with {inner.name}: something else reads its result too"


def _replace(op: SchemaOp, inner: SchemaOp, new: SchemaOp, rewriter: PatternRewriter) -> None:
    """Replaces `op`, the only user of `inner`, and `inner` by `new`."""
    new.result.name_hint = op.result.name_hint
    rewriter.replace(op, new)
    rewriter.erase(inner)


class ActivationPattern(Pattern):
    """fused operator -> activation, with no other user between."""

    roots: ClassVar[tuple[type[Operation], ...]] = (SchemaOp,)
    counter = "activations fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it is the activation."""
        assert isinstance(op, SchemaOp)
        activation = activation_of(op)
        if activation is None or op.level() != "edge":
            return
        inner = op.operands[0].owner
        if not isinstance(inner, _PRODUCERS) or inner.argument("activation") != "none":
            return
        if not inner.result.has_one_use():
            return decline(_why_apart(inner))
        if inner.result.type == op.result.type:
            _replace(op, inner, inner.rebuilt(activation=activation), rewriter)


class AddendPattern(Pattern):
    """fused operator -> addition of a tensor of the same type, with no other user between."""

    roots: ClassVar[tuple[type[Operation], ...]] = (AddTensorOp,)
    counter = "additions fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when one operand can take in the other."""
        assert isinstance(op, AddTensorOp)
        a, b, alpha = op.arguments()
        if alpha != 1:
            return
        for value, other in ((b, a), (a, b)):
            if self._takes(value, other, op):
                _replace(op, value.owner, value.owner.rebuilt(addend=other), rewriter)
                return

    @staticmethod
    def _takes(value: SSAValue, other: SSAValue, op: SchemaOp) -> bool:
        inner = value.owner
        if not isinstance(inner, _PRODUCERS) or inner.argument("activation") != "none" or inner.argument("addend") is not None:
            return False
        if not value.has_one_use():
            decline(_why_apart(inner))
            return False
        return value.type == other.type == op.result.type


class NormAddendPattern(Pattern):
    """addition -> norm, where nobody else reads the sum."""

    roots: ClassVar[tuple[type[Operation], ...]] = (FusedLayerNormOp, FusedRmsNormOp)
    counter = "additions fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when its input is such a sum."""
        assert isinstance(op, FusedLayerNormOp | FusedRmsNormOp)
        total = op.operands[0].owner
        if op.argument("addend") is not None or not isinstance(total, AddTensorOp):
            return
        if not total.result.has_one_use():
            return decline(_why_apart(total))
        a, b, alpha = total.arguments()
        if alpha != 1 or not a.type == b.type == total.result.type:
            return
        _replace(op, total, op.rebuilt(input=a, addend=b), rewriter)


@dataclass(frozen=True)
class FuseEpiloguesPass(PatternPass):
    """Moves an addition and an activation into the `fused` operator before them, and an addition into the norm after it.

    Needs: `fused` operators (`convert-edge-to-fused`), layouts settled (`propagate-layouts`). Leaves: fewer trips through memory; a value
    that something else reads too is left alone.
    """

    name = "fuse-epilogues"
    works_on = ("edge", "fused")

    def patterns(self) -> Sequence[Pattern]:
        """Of activations, and of additions after and before."""
        return [ActivationPattern(), AddendPattern(), NormAddendPattern()]
