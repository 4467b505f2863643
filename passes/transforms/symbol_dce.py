"""`symbol-dce`: erases private functions and globals that no public one refers to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.dialects.ir.symbols import symbol_name, symbols_in, symbols_of
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Erases operations of the module that define a private symbol, unless something that stays refers to it, directly or through others.

    Needs nothing. Leaves no private function, global or other symbol that cannot be reached from a public symbol or from an operation
    without a symbol. Private symbols that refer only to each other go too, which `remove-dead-code` leaves.
    """

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        symbols = symbols_of(op)
        reached = [item for item in op.body.block.ops if not _is_private(item)]
        live = set(reached)
        while reached:
            for name in _names(reached.pop()):
                found = symbols.get(name)
                if found is not None and found not in live:
                    live.add(found)
                    reached.append(found)
        dead = {item: _names(item) for item in op.body.block.ops if item not in live}
        for group in _callers_first(dead, symbols):
            # Symbols that are erased later may be referenced by earlier ones: after a refusal, nothing more may be erased.
            if not may_rewrite(self.name, group[0]):
                return
            for item in group:
                item.detach()
                item.erase(safe_erase=False)
                count("symbols erased")


def _callers_first(dead: Mapping[Operation, Sequence[str]], symbols: Mapping[str, Operation]) -> Iterator[list[Operation]]:
    """Yields each operation alone, after the operations that refer to it; yields cycles, and operations below cycles, as a last group."""
    there = {name: item for name, item in symbols.items() if item in dead}
    named = {item: [there[name] for name in names if name in there and there[name] is not item] for item, names in dead.items()}
    readers = Counter(found for items in named.values() for found in items)
    ready, left = [item for item in dead if not readers[item]], dict.fromkeys(dead)
    while ready:
        item = ready.pop()
        del left[item]
        yield [item]
        for found in named[item]:
            readers[found] -= 1
            if not readers[found]:
                ready.append(found)
    if left:
        yield list(left)


def _is_private(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    return symbol_name(op) is not None and isinstance(visibility, StringAttr) and visibility.data == "private"


def _names(op: Operation) -> list[str]:
    """Returns the symbols that an operation refers to, itself or inside."""
    attributes = (attribute for item in op.walk() for attribute in (*item.properties.values(), *item.attributes.values()))
    return [name for attribute in attributes for name in symbols_in(attribute)]
