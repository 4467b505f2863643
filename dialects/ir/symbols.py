"""The names that operations define in the symbol table around them, and those that they refer to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute


class SymbolUserOp(Operation, ABC):
    """An operation that names symbols of its module, which the verifier of the module lets it look at."""

    @abstractmethod
    def verify_symbol_uses(self, symbols: Mapping[str, Operation]) -> None:
        """Checks what the names stand for. Raises VerifyException."""


def symbol_name(op: Operation) -> str | None:
    """The name that an operation defines: that of a function, a method, a global; None when it defines none."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols_of(module: ModuleOp) -> dict[str, Operation]:
    """What a module defines, by name."""
    return {name: op for op in module.body.block.ops if (name := symbol_name(op)) is not None}


def symbols_in(attribute: Attribute) -> Iterator[str]:
    """The names that an attribute refers to, however deep; of a path through several tables, the first."""
    if isinstance(attribute, SymbolRefAttr):
        yield attribute.root_reference.data
    elif isinstance(attribute, ArrayAttr):
        for item in cast("ArrayAttr[Attribute]", attribute):
            yield from symbols_in(item)
    elif isinstance(attribute, DictionaryAttr):
        for item in attribute.data.values():
            yield from symbols_in(item)
    elif isinstance(attribute, ParametrizedAttribute):
        for item in attribute.parameters:
            yield from symbols_in(item)
