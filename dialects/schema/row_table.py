"""The table of rows: those of our dialects, found by listing their folders, and those of plug-ins."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from xdsl.dialects import get_all_dialects

import flambeau.dialects
from flambeau.dialects.schema.row_functions import argument_places
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tables import RegistrationError, note_registration, origin

if TYPE_CHECKING:
    from flambeau.dialects.schema.row import Function, SchemaOp

T = TypeVar("T")
P = ParamSpec("P")

ROWS: dict[str, dict[str, type[SchemaOp]]] = {}
"""Every row that has been imported: dialect -> operator name (`add.Tensor`) -> class."""

_WITHOUT_ROWS = ("core", "delegate", "exec", "flambeau", "irdl", "ml_program")
"""Dialects without rows of their own: `core` takes ATen's, the rest are declared in xDSL's way."""


_SERVICES = ("ir", "schema", "text")
"""Folders of this package that serve the dialects and are not dialects."""


@cache
def dialect_names() -> tuple[str, ...]:
    """Returns the names of our dialects: the folders of this package."""
    rooms = (module.name for module in pkgutil.iter_modules(flambeau.dialects.__path__) if module.ispkg)
    return tuple(sorted(name for name in rooms if name not in _SERVICES))


@cache
def backend_dialects() -> tuple[str, ...]:
    """Returns the names of the dialects of built-in backends, which have their names: `backends/<name>/dialect` holds the rows."""
    folders = Path(flambeau.dialects.__path__[0]).resolve().parent.joinpath("backends").glob("*/dialect")
    return tuple(sorted(folder.parent.name for folder in folders))


def load_rows() -> dict[str, dict[str, type[SchemaOp]]]:
    """Returns every row of every dialect, including loaded plug-ins: dialect -> operator name -> class."""
    _load_own_rows()
    return ROWS


def find_row(dialect: str, name: str) -> type[SchemaOp] | None:
    """Returns the row of an operator, or None. Imports the files whose text has its schema, and every file if none has it."""
    if (found := declared_row(dialect, name)) is None:
        found = load_rows().get(dialect, {}).get(name)
    return found


def declared_row(dialect: str, name: str) -> type[SchemaOp] | None:
    """Returns the row of an operator whose schema is in the text of a file, not made up of parts by code; or None."""
    if name not in ROWS.get(dialect, {}):
        for module in schema_files().get(dialect, {}).get(name, ()):
            importlib.import_module(module)
    return ROWS.get(dialect, {}).get(name)


@cache
def schema_files() -> dict[str, dict[str, list[str]]]:
    """Returns the modules whose text may have the schema of an operator: dialect -> operator name -> modules."""
    found: dict[str, dict[str, list[str]]] = {}
    for dialect, package in _packages().items():
        modules = found.setdefault(dialect, {})
        folder = Path(importlib.import_module(package).__path__[0])
        for path in sorted(folder.rglob("*.py")):
            module = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
            for name in set(_SCHEMA_START.findall(path.read_text(encoding="utf-8"))):
                modules.setdefault(name, []).append(module)
    return found


_SCHEMA_START = re.compile(r"""["']([\w.]+)\(""")


def _packages() -> dict[str, str]:
    """Returns the packages that declare rows, by the names of their dialects."""
    packages = {name: f"flambeau.dialects.{name}" for name in dialect_names() if name not in _WITHOUT_ROWS}
    return packages | {name: f"flambeau.backends.{name}.dialect" for name in backend_dialects()}


@cache
def _load_own_rows() -> None:
    for package in _packages().values():
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)


FUNCTIONS: tuple[Function, ...] = ("infer", "numpy", "decompose", "on_parts", "bounds")
"""The functions of a row."""
_ROW_ORIGINS: dict[str, str] = {}
"""The plug-in that declared a row."""


def check_functions(row: type[SchemaOp]) -> None:
    """Raises RegistrationError for a function of a row whose parameters are not arguments of its schema."""
    for method in FUNCTIONS:
        if not row.has(method):
            continue
        if not isinstance(inspect.getattr_static(row, method), staticmethod | classmethod):
            raise RegistrationError(f"{method} of {row.__name__} takes no self: write @staticmethod above it")
        try:
            argument_places(getattr(row, method), row.schema)
        except ValueError as error:
            raise RegistrationError(f"{method} of {row.__name__}: the parameter {error}") from None


class MisnamedParameterError(RegistrationError):
    """An error of a row whose function has a parameter that no argument of the schema matches."""

    def __init__(self, row: str, message: str):
        super().__init__(message)
        self.row = row
        """The name of the class."""


def check_defaults() -> None:
    """Checks that the functions of the rows of the plug-in that is being loaded have no parameter that always keeps its default.

    Such a parameter is misspelt: none of the overloads that share the function has an argument of its name. A base class of rows may have
    it for the sake of other rows. Raises MisnamedParameterError.
    """
    sharing: dict[tuple[str, Callable[..., object]], list[str]] = {}
    for row in (row for rows in ROWS.values() for row in rows.values() if _ROW_ORIGINS.get(row.name) == origin()):
        for method in FUNCTIONS:
            if method in vars(row):
                names = sharing.setdefault((method, getattr(row, method)), [])
                names += [argument.name for argument in row.schema.arguments if argument.name not in names]
    for (method, function), names in sharing.items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and all(parameter.name.rstrip("_") != name.rstrip("_") for name in names):
                row = function.__qualname__.partition(".")[0]
                why = f"the parameter {parameter.name} takes no argument of the schema ({', '.join(names)}), so it always has its default"
                raise MisnamedParameterError(row, f"{method} of {row}: {why}{did_you_mean(parameter.name, names)}")


def register_row(row: type[SchemaOp]) -> None:
    """Makes a row of a plug-in known, and with it its dialect; `@row` does so. Raises RegistrationError for an operator that exists."""
    dialect, _, name = row.name.partition(".")
    check_functions(row)
    if find_row(dialect, name) is not None:
        owner = _ROW_ORIGINS.get(row.name, "Flambeau")
        raise RegistrationError(f"{origin()} declares the row {row.name!r}, but {owner} has one of that name; give it another name")
    if dialect not in dialect_names() and dialect in get_all_dialects():
        raise RegistrationError(f"{origin()} declares the row {row.name!r}, but the dialect {dialect!r} is xDSL's; give it another name")

    def forget() -> None:
        del ROWS[dialect][name], _ROW_ORIGINS[row.name]
        if not ROWS[dialect]:
            del ROWS[dialect]
        rows_changed()

    ROWS.setdefault(dialect, {})[name] = row
    _ROW_ORIGINS[row.name] = origin()
    rows_changed()
    note_registration(f"operator {row.name!r}", forget)


_CACHES: list[Callable[[], None]] = []


def cached_over_rows(function: Callable[P, T]) -> Callable[P, T]:
    """Caches a function as `functools.cache` does, until rows are added or removed."""
    cached = cache(function)
    _CACHES.append(cached.cache_clear)
    return cached  # pyright: ignore[reportReturnType]  functools.cache forgets the parameters


def rows_changed() -> None:
    """Clears the caches of functions over rows."""
    for clear in _CACHES:
        clear()
