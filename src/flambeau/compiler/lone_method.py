"""Passes on one method of a module, which see no other method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.dialects.exec.method import MethodOp
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.support.tables import hint


@dataclass(frozen=True)
class OnMethod(ModulePass):
    """Takes the other methods out of a module, but for the functions that it calls, runs passes, and puts them back where they were.

    Raises ValueError if there is no such method, and as the passes do.
    """

    name = "on-method"
    method: str
    passes: Sequence[ModulePass | Pipeline]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        block = op.body.block
        functions = {item.sym_name.data: item for item in block.ops if isinstance(item, FuncOp | MethodOp)}
        if self.method not in functions:
            raise ValueError(f"there is no method {self.method!r}{hint(self.method, list(functions), listing=True)}")
        kept = _called_by(self.method, functions)
        absent = [item for name, item in functions.items() if name not in kept]
        read = {used for item in absent for inner in item.walk() for used in inner.properties.values() if isinstance(used, SymbolRefAttr)}
        names = {used.root_reference for used in read}
        needed = {item: item.clone() for item in block.ops if item not in absent and item.get_attr_or_prop("sym_name") in names}
        places = [ModuleOp([]) for _ in absent]
        for item, place in zip(absent, places, strict=True):
            block.insert_op_before(place, item)
            item.detach()
        try:
            Pipeline(MODULE, tuple(self.passes)).run(op, ctx)
        finally:
            for item, place in zip(absent, places, strict=True):
                block.insert_op_before(item, place)
                block.erase_op(place)
            # Nothing shows a pass that an absent method reads a global.
            for item, copy in needed.items():
                if item.parent is not block:
                    block.insert_op_before(copy, absent[0])


def _called_by(name: str, functions: dict[str, FuncOp | MethodOp]) -> set[str]:
    """Returns the names of a function and of all that it calls."""
    found = set[str]()
    pending = [name]
    while pending:
        callee = pending.pop()
        if callee in functions and callee not in found:
            found.add(callee)
            inside: Operation = functions[callee]
            pending += [op.callee.string_value() for op in inside.walk() if isinstance(op, CallOp)]
    return found
