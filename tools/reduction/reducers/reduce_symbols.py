"""Reducers of symbols at the top of a module: functions, globals and others."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.tools.reduction.edits import erase_all
from flambeau.tools.reduction.function_signature import references_in
from flambeau.tools.reduction.reducer import Reducer


def _references(module: ModuleOp) -> dict[Operation, set[str]]:
    """Returns the symbols that each operation at the top of the module refers to, except its own."""
    found: dict[Operation, set[str]] = {}
    for op in module.body.block.ops:
        names = {name for inner in op.walk() for name in references_in(inner)}
        found[op] = names - {symbol_name(op)}
    return found


class SymbolsReducer(Reducer[Operation]):
    """A reducer that erases unreferenced operations at the top of the module, and those that only they referred to."""

    name = "symbols"

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the unreferenced operations at the top of the module."""
        references = _references(module)
        named = set[str]().union(*references.values())
        return [op for op in references if symbol_name(op) not in named]

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Erases the operations."""
        references = _references(module)
        going = dict.fromkeys(targets)
        lost = set[str]().union(*(references.pop(op) for op in going))
        while lost:
            needed = set[str]().union(*references.values())
            orphans = [op for op in references if symbol_name(op) in lost - needed]
            going |= dict.fromkeys(orphans)
            lost = set[str]().union(*(references.pop(op) for op in orphans))
        erase_all(going)


class BodiesReducer(Reducer[FuncOp]):
    """A reducer that makes functions declarations."""

    name = "bodies"

    def targets(self, module: ModuleOp) -> Sequence[FuncOp]:
        """Returns the functions with a body."""
        return [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]

    def apply(self, module: ModuleOp, targets: Sequence[FuncOp]) -> None:
        """Removes the bodies."""
        for function in targets:
            declaration = FuncOp(function.sym_name.data, function.function_type, Region(), "private")
            declaration.location = function.location
            block = function.parent
            assert block is not None
            block.insert_op_before(declaration, function)
            erase_all([function])
