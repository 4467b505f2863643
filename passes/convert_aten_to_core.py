"""`convert-aten-to-core`: the `aten` dialect's core operators as the closed `core` dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.row import SchemaOp
from flambeau.passes.rewriting.conversion import convert
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
        if op.level() != self.source or not (op.core or op.keep):
            return
        new = op.at(self.target).from_attributes(op.operands, op.result_types, dict(op.properties), dict(op.attributes))
        rename_values(op, new)
        rewriter.replace(op, new)


def _why_illegal(op: Operation) -> str | None:
    if not isinstance(op, SchemaOp) or op.level() != "aten":
        return None
    if not type(op).has("infer"):
        return "Flambeau knows this operator's schema but not its meaning; add a row for it in dialects/aten"
    if type(op).has("decompose"):
        return "it is not in Core ATen; run decompose-aten first"
    return "it is not in Core ATen and has no decomposition"


@dataclass(frozen=True)
class ConvertAtenToCorePass(ModulePass):
    """Renames `aten` operators to their `core` siblings.

    Needs: `decompose-aten`. Leaves: no `aten` operator. Raises ConversionError that lists every operator that is not core.
    """

    name = "convert-aten-to-core"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        convert(op, "Core ATen", [ToLevelPattern("aten", "core")], _why_illegal)
