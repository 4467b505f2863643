"""Symbols: the names that operations define in a symbol table, and the names that attributes refer to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute


class SymbolUserOp(Operation, ABC):
    """An operation that refers to symbols of its module; the module verifier calls its `verify_symbol_uses`."""

    @abstractmethod
    def verify_symbol_uses(self, symbols: Mapping[str, Operation]) -> None:
        """Checks the operations that the symbols refer to. Raises VerifyException."""


def symbol_name(op: Operation) -> str | None:
    """Returns the symbol that an operation such as a function, a method or a global defines; None when it defines none."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols_of(module: ModuleOp) -> dict[str, Operation]:
    """Returns the operations of a module that define a symbol, by name."""
    return {name: op for block in module.body.blocks for op in block.ops if (name := symbol_name(op)) is not None}


def symbols_in(attribute: Attribute) -> Iterator[str]:
    """Yields the symbols that an attribute refers to, at any depth; the root of a nested reference."""
    kind = type(attribute)  # isinstance is slow for attributes, whose classes are abstract
    if kind is SymbolRefAttr:
        yield cast(SymbolRefAttr, attribute).root_reference.data
    elif kind is ArrayAttr:
        for item in cast("ArrayAttr[Attribute]", attribute):
            yield from symbols_in(item)
    elif kind is DictionaryAttr:
        for item in cast(DictionaryAttr, attribute).data.values():
            yield from symbols_in(item)
    elif isinstance(attribute, ParametrizedAttribute):
        for item in attribute.parameters:
            yield from symbols_in(item)
