"""Reading programs: from a file that a front end reads, from `package.module:factory`, or from a `.pte`."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.interface import SourceError, find_frontend, readable, require_torch
from flambeau.runtime.emit import read_pte
from flambeau.runtime.pte import PteError
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tracebacks import in_one_line, raised_at

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def load_source(source: str, context: FlambeauContext) -> ModuleOp:
    """The module in `source`, at whatever stage it is.

    Args:
        source: a `.pt2` or `.mlir` file, what a plug-in's front end reads, or `package.module:factory`, where the factory gives
            `(module, example_inputs)`.
        context: receives the weights.

    Raises:
        SourceError: there is no such file, module or factory, or the factory gives something else.
        IRError, UnsupportedProgramError: the program is not valid, or uses what cannot be imported.
    """
    with redirect_stdout(sys.stderr):  # what models print does not belong to the command's output
        found = find_frontend(source)
        if found is not None:
            return found(source, context)
        if ":" in source and "://" not in source:
            return _from_factory(source, context)
    factory = f"; what is in Python is named {Path(source).stem}:factory" if source.endswith(".py") else ""
    raise SourceError(f"{source}: a program is {readable()}{factory}")


def load_program(path: Path, context: FlambeauContext) -> ModuleOp:
    """The module in a file that a front end reads; other files are taken for a `.pte`. Raises ValueError, OSError."""
    if not path.is_file():
        raise SourceError(f"no such file: {path}")
    if (found := find_frontend(str(path))) is not None:
        return found(str(path), context)
    try:
        return read_pte(path.read_bytes(), context)
    except PteError as error:
        raise SourceError(f"{path}: {error}") from error


def _from_factory(source: str, context: FlambeauContext) -> ModuleOp:
    require_torch(source)
    from flambeau.frontends.torch_export import export_module

    factory = _find_factory(source)
    with _quiet():
        try:
            made: Any = factory()
        except Exception as error:
            raise SourceError(f"{source}: the function failed: {in_one_line(error)}{_at(error)}") from error
        if not isinstance(made, tuple) or len(cast("tuple[Any, ...]", made)) != 2:
            raise SourceError(f"{source}: the function must give (module, example_inputs)")
        network, inputs = cast("tuple[Any, Any]", made)
        if not isinstance(inputs, tuple | list):
            raise SourceError(f"{source}: example_inputs must be a tuple of the module's arguments, not {type(inputs).__name__}")
        return export_module(network, tuple(cast("tuple[Any, ...]", inputs)), context)


def _find_factory(source: str) -> Callable[[], Any]:
    """The function that `package.module:factory` names. Raises SourceError."""
    module_name, _, name = source.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")) or module_name.endswith(".py"):
        path = PurePath(module_name)
        parts = [*path.parent.parts, path.stem]
        meant = f": {'.'.join(parts)}:{name}" if all(part.isidentifier() for part in parts) else ""
        raise SourceError(f"{source}: a module is named as Python imports it from here{meant}")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise SourceError(f"{source}: {error}") from error
    except Exception as error:
        raise SourceError(f"{source}: {module_name} cannot be imported: {in_one_line(error)}{_at(error)}") from error
    factory = getattr(module, name, None)
    if not callable(factory):
        functions = [item for item, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
        raise SourceError(f"{source}: {module_name} has no function {name!r}{did_you_mean(name, functions)}")
    return factory


def _at(error: Exception) -> str:
    """The place of an exception in the user's code below the current folder."""
    here = Path.cwd()
    position = raised_at(error, lambda file: here in file.parents)
    return f" (at {position.file}:{position.line})" if position is not None else ""


@contextmanager
def _quiet() -> Generator[None, None, None]:
    """Silences PyTorch's log of a failure, which fills the screen and says no more than the error."""
    before = logging.root.manager.disable
    if not os.environ.get("FLAMBEAU_DEBUG"):
        logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
