"""`convert-aten-to-core`: converts core operators of the `aten` dialect to the closed `core` dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass
from flambeau.passes.rewriting.dialect_conversion import apply_partial_conversion
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern, rename_values


@dataclass(frozen=True)
class ToLevelPattern(Pattern):
    """Replaces an operator of one level by its sibling of another."""

    source: str
    target: str
    roots = (SchemaOp,)
    counter = "operators converted"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it belongs to the source level and has a sibling."""
        assert isinstance(op, SchemaOp)
        if op.level() != self.source:
            return
        if not (op.core or op.keep):
            return decline(f"the {self.target} dialect has no {op.schema.name}")
        new = op.at(self.target).from_attributes(op.operands, op.result_types, dict(op.properties), dict(op.attributes))
        rename_values(op, new)
        rewriter.replace(op, new)


def _why_illegal(op: Operation) -> str:
    if isinstance(op, SchemaOp) and not op.has("infer"):
        return 'Flambeau knows this operator\'s schema but not its meaning; a row in a plug-in says it: see the tutorial "Add an operator"'
    if isinstance(op, SchemaOp) and op.has("decompose"):
        return "it is not in Core ATen; run decompose-aten first"
    return "it is not in Core ATen and has no decomposition"


@dataclass(frozen=True)
class ConvertAtenToCorePass(OperationPass):
    """Renames `aten` operators to their `core` siblings.

    Needs: `decompose-aten`. Leaves: no `aten` operator. Raises ConversionError that lists every operator that is not core.
    """

    name = "convert-aten-to-core"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        target = ConversionTarget("Core ATen").legal("core").dynamic(_why_illegal, "aten")
        apply_partial_conversion(op, target, [ToLevelPattern("aten", "core")])
