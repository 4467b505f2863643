"""`convert-aten-to-core`: converts what is Core ATen, or has kernels of its own, to the closed `core` dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.operators import NO_MEANING, UNDECOMPOSED
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass
from flambeau.passes.rewriting.dialect_conversion import apply_partial_conversion
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern, rename_values


def _belongs(op: SchemaOp) -> bool:
    """Returns whether an operator is legal in `core`."""
    return op.core or op.keep


def _why_illegal(op: Operation) -> str | None:
    if not isinstance(op, SchemaOp) or (op.level() == "core" and _belongs(op)):
        return None
    if not op.has("infer"):
        return why.data if isinstance(why := op.attributes.get(UNDECOMPOSED), StringAttr) else NO_MEANING
    why = "it is not in Core ATen"
    return f"{why}; run decompose-aten first" if op.has("decompose") else f"{why} and has no decomposition"


@dataclass(frozen=True)
class ToCorePattern(Pattern):
    """Replaces an operator of `aten` by its sibling of `core`."""

    roots = (SchemaOp,)
    counter = "operators converted"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it is an `aten` operator that is legal in `core`."""
        assert isinstance(op, SchemaOp)
        if op.level() != "aten" or not _belongs(op):
            return
        new = op.rebuilt(level="core")
        rename_values(op, new)
        rewriter.replace(op, new)


@dataclass(frozen=True)
class ConvertAtenToCorePass(OperationPass):
    """Renames `aten` operators to their `core` siblings: those of Core ATen, and those that some kernel or backend takes whole.

    Needs: `decompose-aten`. Leaves: no `aten` operator, and in `core` only these. Raises ConversionError that lists every other operator,
    with the reason.
    """

    name = "convert-aten-to-core"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        target = ConversionTarget("Core ATen").dynamic(_why_illegal, "aten", "core")
        apply_partial_conversion(op, target, [ToCorePattern()])
