"""`remove-redundant-clamps`: erases clamps of values that lie between the bounds already."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.value_ranges import EVERYTHING
from flambeau.passes.analysis.ranges import RangeAnalysis, bounds_of_clamp
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.uses import Rewriter


@dataclass(frozen=True)
class RemoveRedundantClampsPass(ModulePass):
    """Removes `relu`, `hardtanh` and `clamp` where a data-flow analysis shows that all elements lie between the bounds.

    The ranges of values follow from constants, from operators that bound their results (`sigmoid`, `relu`, …), and through arithmetic,
    branches, loops and calls. Remarks tell the ranges.

    Needs: operators of any level. Leaves: no clamp whose operand is known to lie between its bounds; NaN stays NaN either way.
    """

    name = "remove-redundant-clamps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        ranges = RangeAnalysis(ModuleConstants(ctx, op)).run(op)
        for item in list(op.walk()):
            bounds = bounds_of_clamp(item) if isinstance(item, SchemaOp) else None
            if bounds is None:
                continue
            source, found = item.operands[0], ranges[item.operands[0]]
            if not found.within(*bounds) or source.type != item.result_types[0]:
                if found != EVERYTHING:
                    remark(item, f"stays: the elements of its operand lie in {found}")
            elif may_rewrite(self.name, item):
                remark(item, f"removed: the elements of its operand lie in {found}")
                Rewriter(item).replace(item, [], [source])
                count("clamps removed")
