"""The xDSL context of Flambeau's tools: all dialects of Flambeau, xDSL and plug-ins, each loaded when its name first occurs.

A folder under `dialects/` is a dialect: its package exports `DIALECT`. A folder `backends/<name>/dialect` holds the rows of another.
`aten`, `core` and `edge` have thousands of operators, so their classes are looked up (or made, for operators without a row) by name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row_table import ROWS, backend_dialects, dialect_names
from flambeau.support.tables import Table

if TYPE_CHECKING:
    from flambeau.support.lazy import Array


def _builtin_dialect(name: str) -> tuple[str, Dialect] | None:
    if name in dialect_names() or name in backend_dialects():
        return "Flambeau", _loader(name)()
    return ("xDSL", get_all_dialects()[name]()) if name in get_all_dialects() else None


_DIALECTS: Table[Dialect] = Table("dialect", _builtin_dialect)


def register_dialect(dialect: Dialect) -> None:
    """Adds a dialect to every context. Raises RegistrationError when its name is taken."""
    _DIALECTS.add(dialect.name, dialect)


def _find_added(name: str) -> Dialect | None:
    """Returns the dialect of a plug-in, which may consist of rows only."""
    if (found := _DIALECTS.items().get(name)) is None and name not in ROWS:
        found = _DIALECTS.find(name)
    return Dialect(name, [], []) if found is None and name in ROWS else found


class FlambeauContext(Context):
    """A context that knows all dialects and owns the weights of the modules parsed in it."""

    def __init__(self, *, allow_unregistered: bool = False, blobs: BlobStore | None = None):
        super().__init__(allow_unregistered)
        self.blobs = BlobStore() if blobs is None else blobs
        self.examples: dict[str, Array] = {}
        """The example inputs of the programs that were read, by `method.input`."""
        ours = (*dialect_names(), *backend_dialects())
        for name, factory in get_all_dialects().items():
            if name not in ours:
                self.register_dialect(name, factory)
        for name in ours:
            self.register_dialect(name, _loader(name))
        for name in {*_DIALECTS.items(), *ROWS}:
            self._admit(name)
        for name in ("builtin", "func"):
            self.load_registered_dialect(name)

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        """Returns the class of an operation as xDSL does; operators of schema dialects are looked up by name."""
        if "." in name:
            self._admit(name.partition(".")[0])
        for candidate in (name, *(f"{dialect}.{name}" for dialect in reversed(dialect_stack))):
            dialect = candidate.partition(".")[0]
            has_rows = dialect in ROWS or dialect in dialect_names() or dialect in backend_dialects()
            if has_rows and (found := find_op(candidate)) is not None:
                return found
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """Returns the definition as xDSL does; also from dialects that a plug-in added after this context was created."""
        self._admit(name.partition(".")[0])
        return super().get_optional_attr(name)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        """Returns the definition as xDSL does; also from dialects that a plug-in added after this context was created."""
        self._admit(name.partition(".")[0])
        return super().get_optional_type(name)

    def get_optional_dialect(self, name: str) -> Dialect | None:
        """Returns the definition as xDSL does; also from dialects that a plug-in added after this context was created."""
        self._admit(name)
        return super().get_optional_dialect(name)

    def _admit(self, name: str) -> None:
        """Registers a dialect that a plug-in added after this context was created."""
        if name not in self._registered_dialects and (found := _find_added(name)) is not None:
            self.register_dialect(name, lambda: found)

    def clone(self) -> FlambeauContext:
        """Returns a context with the same dialects, weights and examples."""
        copy = FlambeauContext(allow_unregistered=self.allow_unregistered, blobs=self.blobs)
        copy.examples = self.examples
        for name in self._loaded_dialects:
            if name in copy._registered_dialects and name not in copy._loaded_dialects:
                copy.load_registered_dialect(name)
        return copy


def _loader(name: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        if name in backend_dialects():
            return Dialect(name, [], [])
        return cast(Dialect, importlib.import_module(f"flambeau.dialects.{name}").DIALECT)

    return load
