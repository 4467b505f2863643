"""`remove-dead-code`: erases unused operations and globals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, Region

from flambeau.dialects.ir.symbols import symbols_in
from flambeau.dialects.ml_program import GlobalOp
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.dead_operations import is_dead


@dataclass(frozen=True)
class RemoveDeadCodePass(OperationPass):
    """Erases operations without effects whose results nobody uses, then private globals that nobody names.

    Needs nothing. Leaves no operation that is trivially dead and, in a module, no private global without a reference.
    """

    name = "remove-dead-code"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        globals = [item for item in op.body.block.ops if _is_private_global(item)] if isinstance(op, ModuleOp) else []
        # One walk from the end visits users before their operands; dead operations that remain have backward uses (loops of blocks).
        names: list[str] | None = [] if globals else None
        unread: dict[Operation, None] = {}
        for region in op.regions:
            self._erase_within(region, unread, names)
        references = Counter(names or ())
        while unread:
            item, _ = unread.popitem()
            if self._is_dead(item):
                references.subtract(name for inner in item.walk() for name in _references(inner))
                self._erase(item, unread)
        for item in globals:
            if not references[item.sym_name.data] and may_rewrite(self.name, item):
                item.detach()
                item.erase()
                count("globals erased")

    def _erase_within(self, region: Region, unread: dict[Operation, None], names: list[str] | None) -> None:
        """Erases what is dead; `names` gets what the rest refers to, `unread` what the erased read."""
        for block in reversed(region.blocks):
            item = block.last_op
            while item is not None:
                before = item.prev_op
                if self._is_dead(item):
                    self._erase(item, unread)
                else:
                    if names is not None:
                        names.extend(_references(item))
                    for inner in reversed(item.regions):
                        self._erase_within(inner, unread, names)
                item = before

    def _is_dead(self, item: Operation) -> bool:
        return item.parent is not None and is_dead(item) and may_rewrite(self.name, item)

    def _erase(self, item: Operation, unread: dict[Operation, None]) -> None:
        for inner in item.walk():
            unread.update((operand.op, None) for operand in inner.operands if isinstance(operand, OpResult))
        item.detach()
        item.erase()
        count("operations erased")


def _is_private_global(op: Operation) -> TypeGuard[GlobalOp]:
    return isinstance(op, GlobalOp) and op.sym_visibility.data == "private"


def _references(op: Operation) -> list[str]:
    return [name for attribute in (*op.properties.values(), *op.attributes.values()) for name in symbols_in(attribute)]
