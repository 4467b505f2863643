"""`remove-dead-code`: operations and globals that nothing uses are gone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, OpResult
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from flambeau.dialects.ml_program import GlobalOp
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite


@dataclass(frozen=True)
class RemoveDeadCodePass(OperationPass):
    """Erases operations without effects whose results nobody uses, then private globals that nobody names.

    Needs nothing. Leaves no operation that is trivially dead and, in a module, no private global without a reference.
    """

    name = "remove-dead-code"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        work: list[Operation] = [item for item in op.walk() if item is not op]
        while work:
            item = work.pop()
            if item.parent is None or not is_trivially_dead(item) or not may_rewrite(self.name, item):
                continue
            work.extend(operand.op for operand in item.operands if isinstance(operand, OpResult))
            item.detach()
            item.erase()
            count("operations erased")
        if isinstance(op, ModuleOp):
            self._erase_globals(op)

    def _erase_globals(self, module: ModuleOp) -> None:
        private = [item for item in module.body.block.ops if isinstance(item, GlobalOp) and item.sym_visibility.data == "private"]
        if not private:
            return
        named = {
            attribute.string_value()
            for item in module.walk()
            for attribute in (*item.properties.values(), *item.attributes.values())
            if isinstance(attribute, SymbolRefAttr)
        }
        for item in private:
            if item.sym_name.data not in named and may_rewrite(self.name, item):
                item.detach()
                item.erase()
                count("globals erased")
