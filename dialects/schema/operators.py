"""The context of Flambeau's tools: every dialect of ours, of xDSL and of plug-ins, each loaded when its name first occurs.

A folder under `dialects/` is a dialect: its package exports `DIALECT`. `aten`, `core` and `edge` hold thousands of
operators, so their classes are found (or made, for operators without a row) by name.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

import flambeau.dialects
from flambeau.dialects.flambeau.blobs import BlobStore
from flambeau.dialects.schema.row import ROWS, SchemaOp, table_op
from flambeau.dialects.schema.schema import Schema, parse_schema
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tables import RegistrationError, Table, cached_over_rows, note_registration, origin, rows_changed

if TYPE_CHECKING:
    from flambeau.support.lazy import Array

LEVELS = ("aten", "core", "edge")
"""The dialects whose operators come from ATen's schemas."""


_WITHOUT_ROWS = ("core", "delegate", "exec", "flambeau", "irdl", "ml_program")
"""Dialects without rows of their own: `core` takes ATen's, the rest are declared in xDSL's way."""


_SERVICES = ("ir", "schema", "text")
"""Folders of this package that serve the dialects and are not dialects."""


@cache
def dialect_names() -> tuple[str, ...]:
    """The names of our dialects: the folders of this package."""
    rooms = (module.name for module in pkgutil.iter_modules(flambeau.dialects.__path__) if module.ispkg)
    return tuple(sorted(name for name in rooms if name not in _SERVICES))


def load_rows() -> dict[str, dict[str, type[SchemaOp]]]:
    """Every row of every dialect, those of loaded plug-ins among them: dialect -> operator name -> class."""
    _load_own_rows()
    return ROWS


@cache
def _load_own_rows() -> None:
    for dialect in dialect_names():
        if dialect in _WITHOUT_ROWS:
            continue
        package = importlib.import_module(f"flambeau.dialects.{dialect}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"flambeau.dialects.{dialect}.{module.name}")


_ROW_ORIGINS: dict[str, str] = {}
"""Who declared a row that is not Flambeau's."""


def _check_functions(row: type[SchemaOp]) -> None:
    """Raises RegistrationError for functions of a row that do not take the arguments of its schema."""
    names = [argument.name for argument in row.schema.arguments]
    for method in ("infer", "numpy", "decompose"):
        function = vars(row).get(method)
        if function is None:
            continue
        if not isinstance(function, staticmethod):
            raise RegistrationError(f"{method} of {row.__name__} takes no self: write @staticmethod above it")
        signature = inspect.signature(cast("Callable[..., object]", function.__func__))
        try:
            signature.bind(*names)
        except TypeError:
            raise RegistrationError(
                f"{method}{signature} of {row.__name__} must take the arguments of the schema: {', '.join(names) or 'none'}"
            ) from None


def register_row(row: type[SchemaOp]) -> None:
    """Makes a row of a plug-in known, and with it its dialect; `@row` does so. Raises RegistrationError for an operator that exists."""
    dialect, _, name = row.name.partition(".")
    _check_functions(row)
    rows = load_rows()
    if name in rows.get(dialect, {}):
        owner = _ROW_ORIGINS.get(row.name, "Flambeau")
        raise RegistrationError(f"{origin()} declares the row {row.name!r}, but {owner} has one of that name; give it another name")
    if dialect not in dialect_names() and dialect in get_all_dialects():
        raise RegistrationError(f"{origin()} declares the row {row.name!r}, but the dialect {dialect!r} is xDSL's; give it another name")

    def forget() -> None:
        del rows[dialect][name], _ROW_ORIGINS[row.name]
        if not rows[dialect]:
            del rows[dialect]
        rows_changed()

    rows.setdefault(dialect, {})[name] = row
    _ROW_ORIGINS[row.name] = origin()
    rows_changed()
    note_registration(f"operator {row.name!r}", forget)


def _builtin_dialect(name: str) -> tuple[str, Dialect] | None:
    if name in dialect_names():
        return "Flambeau", _loader(name)()
    return ("xDSL", get_all_dialects()[name]()) if name in get_all_dialects() else None


_DIALECTS: Table[Dialect] = Table("dialect", _builtin_dialect)


def register_dialect(dialect: Dialect) -> None:
    """Makes a dialect known to every context, by its name. Raises RegistrationError when there is one of that name."""
    _DIALECTS.add(dialect.name, dialect)


def _find_added(name: str) -> Dialect | None:
    """The dialect of a plug-in, in which rows may be all there is."""
    if (found := _DIALECTS.items().get(name)) is None and name not in ROWS:
        found = _DIALECTS.find(name)
    return Dialect(name, [], []) if found is None and name in ROWS else found


@cache
def schema_table() -> dict[str, tuple[str, ...]]:
    """The schema strings of all ATen overloads of the pinned torch, by base name."""
    text = resources.files("flambeau.dialects.aten").joinpath("schemas.txt").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for line in text.splitlines():
        table.setdefault(line[: line.index("(")].partition(".")[0], []).append(line)
    return {name: tuple(lines) for name, lines in table.items()}


def _schema_text(name: str) -> str | None:
    base, _, _ = name.partition(".")
    return next((line for line in schema_table().get(base, ()) if line[: line.index("(")] == name), None)


def find_schema(name: str) -> Schema | None:
    """The ATen schema with this name (`add.Tensor`), from the table."""
    text = _schema_text(name)
    return None if text is None else parse_schema(text)


@cached_over_rows
def find_op(name: str) -> type[SchemaOp] | None:
    """The class of a schema operation by its full name (`aten.add.Tensor`, `edge.view_copy`, `fused.linear`); None when there is none."""
    dialect, _, short = name.partition(".")
    rows = load_rows()
    if dialect not in LEVELS or short in rows.get(dialect, {}):
        return rows.get(dialect, {}).get(short)
    if dialect == "aten":
        text = _schema_text(short)
        return None if text is None else table_op(dialect, text)
    found = rows["aten"].get(short)
    if dialect == "edge" and (found is None or found.schema.is_view):
        base, dot, overload = short.partition(".")
        found = rows["aten"].get(base.removesuffix("_copy") + dot + overload) if base.endswith("_copy") else None
    return found.at(dialect) if found is not None and (found.core or found.keep) else None


def level_ops(level: str) -> Iterator[type[SchemaOp]]:
    """The classes with a row in a dialect, in name order."""
    rows = load_rows()
    yield from (rows[level][name] for name in sorted(rows.get(level, {})))
    if level not in ("core", "edge"):
        return
    for name in sorted(rows["aten"]):
        found = rows["aten"][name]
        if found.core or found.keep:
            yield found.at(level)


def check_operator(name: str) -> None:
    """Raises ValueError, with the one that was probably meant, when ATen has no operator of a name (`silu`, `add.Tensor`)."""
    if find_op(f"aten.{name}") is None:
        near = did_you_mean(name, [operator.schema.name for operator in level_ops("aten")])
        raise ValueError(f"ATen has no operator {name!r}{near}")


class FlambeauContext(Context):
    """A context that knows all dialects and owns the weights of the modules parsed in it."""

    def __init__(self, *, allow_unregistered: bool = False, blobs: BlobStore | None = None):
        super().__init__(allow_unregistered)
        self.blobs = BlobStore() if blobs is None else blobs
        self.examples: dict[str, Array] = {}
        """Inputs that programs brought with them, by `method.input`."""
        ours = dialect_names()
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
        """As xDSL's, with the operators of schema dialects found by name."""
        if "." in name:
            self._admit(name.partition(".")[0])
        for candidate in (name, *(f"{dialect}.{name}" for dialect in reversed(dialect_stack))):
            dialect = candidate.partition(".")[0]
            if (dialect in ROWS or dialect in dialect_names()) and (found := find_op(candidate)) is not None:
                return found
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """As xDSL's, with the dialects of plug-ins."""
        self._admit(name.partition(".")[0])
        return super().get_optional_attr(name)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        """As xDSL's, with the dialects of plug-ins."""
        self._admit(name.partition(".")[0])
        return super().get_optional_type(name)

    def get_optional_dialect(self, name: str) -> Dialect | None:
        """As xDSL's, with the dialects of plug-ins."""
        self._admit(name)
        return super().get_optional_dialect(name)

    def _admit(self, name: str) -> None:
        """Registers a dialect that a plug-in has brought since."""
        if name not in self._registered_dialects and (found := _find_added(name)) is not None:
            self.register_dialect(name, lambda: found)

    def clone(self) -> FlambeauContext:
        """A context with the same dialects, weights and examples."""
        copy = FlambeauContext(allow_unregistered=self.allow_unregistered, blobs=self.blobs)
        copy.examples = self.examples
        for name in self._loaded_dialects:
            if name in copy._registered_dialects and name not in copy._loaded_dialects:
                copy.load_registered_dialect(name)
        return copy


def _loader(name: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        return cast(Dialect, importlib.import_module(f"flambeau.dialects.{name}").DIALECT)

    return load
