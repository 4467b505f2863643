"""The names that operations define in the symbol table around them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation


def symbol_name(op: Operation) -> str | None:
    """The name that an operation defines: that of a function, a method, a global; None when it defines none."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols_of(module: ModuleOp) -> dict[str, Operation]:
    """What a module defines, by name."""
    return {name: op for op in module.body.block.ops if (name := symbol_name(op)) is not None}
