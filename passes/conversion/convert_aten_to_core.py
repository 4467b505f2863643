"""`convert-aten-to-core`: converts what is Core ATen, or what the target keeps whole, to the closed `core` dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.operators import NO_MEANING, UNDECOMPOSED, check_operator_name
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass
from flambeau.passes.manager.pipeline_options import Chosen
from flambeau.passes.rewriting.dialect_conversion import apply_partial_conversion
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern, rename_values
from flambeau.passes.targets.interface import TargetName, find_target


@dataclass(frozen=True)
class ToLevelPattern(Pattern):
    """Replaces an operator of `aten` by its sibling of `core`."""

    belongs: Callable[[SchemaOp], bool]
    """Whether an operator is legal in `core`."""
    roots = (SchemaOp,)
    counter = "operators converted"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it is an `aten` operator that is legal in `core`."""
        assert isinstance(op, SchemaOp)
        if op.level() != "aten" or not self.belongs(op):
            return
        new = op.rebuilt(level="core")
        rename_values(op, new)
        rewriter.replace(op, new)


@dataclass(frozen=True)
class ConvertAtenToCorePass(OperationPass):
    """Renames `aten` operators to their `core` siblings: those of Core ATen, and those that the target keeps whole.

    Needs: `decompose-aten` with the same options. Leaves: no `aten` operator, and in `core` only these. Raises ConversionError that lists
    every other operator, with the reason.
    """

    name = "convert-aten-to-core"
    target: TargetName | None = None
    """Whose kernels and fused forms decide which operators outside of Core ATen are legal; without it, all that some target may keep."""
    preserve: tuple[Annotated[str, check_operator_name], ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[Chosen, ...] = ()
    """Backends whose tables want operators whole."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        target = ConversionTarget("Core ATen").dynamic(self._why_illegal, "aten", "core")
        apply_partial_conversion(op, target, [ToLevelPattern(self._belongs)])

    def _belongs(self, op: SchemaOp) -> bool:
        if op.core or not op.keep:
            return op.core
        if self.target is None or op.schema.name in self.preserve or find_target(self.target).keeps(type(op)):
            return True
        return any(partitioner.table.keeps(type(op)) for partitioner in self.backends if partitioner.is_for(op))

    def _why_illegal(self, op: Operation) -> str | None:
        if not isinstance(op, SchemaOp) or (op.level() == "core" and self._belongs(op)):
            return None
        if not op.has("infer"):
            return why.data if isinstance(why := op.attributes.get(UNDECOMPOSED), StringAttr) else NO_MEANING
        why = "it is not in Core ATen"
        if op.keep and self.target is not None:
            why += f", and the target {self.target!r} does not keep it whole"
        return f"{why}; run decompose-aten first" if op.has("decompose") else f"{why} and has no decomposition"
