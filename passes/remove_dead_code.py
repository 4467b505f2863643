"""`remove-dead-code`: operations and globals that nothing uses are gone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, OpResult
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from flambeau.dialects.ml_program import GlobalOp


@dataclass(frozen=True)
class RemoveDeadCodePass(ModulePass):
    """Erases operations without effects whose results nobody uses, then private globals that nobody names.

    Needs nothing. Leaves no operation that is trivially dead, and no private global without a reference.
    """

    name = "remove-dead-code"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        work: list[Operation] = [item for item in op.walk() if item is not op]
        while work:
            item = work.pop()
            if item.parent is None or not is_trivially_dead(item):
                continue
            work.extend(operand.op for operand in item.operands if isinstance(operand, OpResult))
            item.detach()
            item.erase()
        named = {
            attribute.string_value()
            for item in op.walk()
            for attribute in (*item.properties.values(), *item.attributes.values())
            if isinstance(attribute, SymbolRefAttr)
        }
        for item in list(op.body.block.ops):
            if isinstance(item, GlobalOp) and item.sym_visibility.data == "private" and item.sym_name.data not in named:
                item.detach()
                item.erase()
