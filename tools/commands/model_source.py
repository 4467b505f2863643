"""Reads programs: from a file that a front end reads, from `package.module:name`, or from a `.pte`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.interface import SourceError, find_frontend, readable, require_torch
from flambeau.runtime.emit import read_pte
from flambeau.runtime.flat_tensor import link_files
from flambeau.runtime.pte import PROGRAM_SUFFIXES, PteError, program_in
from flambeau.support.files import no_file
from flambeau.support.logs import logs_silenced
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tracebacks import in_one_line, raised_at

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp


def load_source(source: str, context: FlambeauContext) -> ModuleOp:
    """Returns the module in `source`, at its own stage.

    Args:
        source: a `.pt2` or `.mlir` file, a source of a plug-in's front end, or `package.module:name` or `file.py:name`. The name is that of
            `(module, example_inputs)`, of `(module, example_inputs, example_kwargs)`, of an ExportedProgram, of a dict of these by method
            name, or of a function that returns any of them.
        context: receives the weights.

    Raises:
        SourceError: there is no such file, module or name, or its content is not a program.
        IRError, UnsupportedProgramError: the program is invalid, or uses constructs that cannot be imported.
    """
    with redirect_stdout(sys.stderr):  # the output of models is not part of the command's output
        found = find_frontend(source)
        if found is not None:
            return found(source, context)
        if ":" in source and "://" not in source:
            return _from_python(source, context)
    name = f"; a Python object is named {source}:NAME" if source.endswith(".py") else ""
    raise SourceError(f"{source}: a program is {readable()}{name}")


def stem_of(model: str) -> str:
    """Returns a name for files about a source: the file name without suffix, or the name of its Python module."""
    before, colon, _ = model.rpartition(":")
    return Path(before if before.endswith(".py") else before.rpartition(".")[2] if colon else model).stem


def load_program(path: Path, context: FlambeauContext, data_path: Sequence[Path] = ()) -> tuple[ModuleOp, bytes | None]:
    """Returns the module in a file that a front end reads; any other file is read as a `.pte`, whose bytes are returned second.

    A `.bpte` is taken for the program in it.

    Args:
        path: the file.
        context: receives the weights.
        data_path: the `.ptd` files of a `.pte`, whose weights the bytes hold then.

    Raises:
        ValueError, OSError: a file is missing or is not a program.
    """
    if not path.is_file():
        raise absent(path)
    if path.suffix not in PROGRAM_SUFFIXES and (found := find_frontend(str(path))) is not None:
        if data_path:
            raise SourceError(f"--data-path is for the weights of a .pte, and {path} is none")
        return found(str(path), context), None
    try:
        program = bytes(program_in(path.read_bytes()))
        if data_path:
            program = link_files(program, data_path)
        return read_pte(program, context), program
    except PteError as error:
        raise SourceError(f"{path}: {error}") from error


def load_exported(source: str) -> ExportedProgram:
    """Returns the PyTorch program in `source`, before it is imported: a `.pt2` file, or a Python object, with one method.

    Raises:
        SourceError, CaptureError, ValueError: there is no such program.
    """
    require_torch(source)
    with redirect_stdout(sys.stderr):
        if source.endswith(".pt2"):
            from flambeau.frontends.torch_export import load

            return load(source)
        if ":" not in source or "://" in source:
            raise SourceError(f"{source}: a PyTorch program is a .pt2 file, package.module:name or file.py:name")
        found = _programs_in_python(source)
    if isinstance(found, dict):
        raise SourceError(f"{source}: there are several programs, {', '.join(found)}: name one of them")
    return found


def _from_python(source: str, context: FlambeauContext) -> ModuleOp:
    require_torch(source)
    from flambeau.frontends.torch_export import import_program

    with logs_silenced():
        return import_program(_programs_in_python(source), context)


def _programs_in_python(source: str) -> ExportedProgram | dict[str, ExportedProgram]:
    """Returns the program that a Python name refers to, or several by method name. Raises SourceError, CaptureError."""
    with logs_silenced():
        value = _find(source)
        if _is_function(value):
            try:
                value = value()
            except Exception as error:
                raise SourceError(f"{source}: the function failed: {in_one_line(error)}{_at(error)}") from error
        if isinstance(value, dict) and value:
            methods = cast("dict[Any, Any]", value)
            return {str(name): _program(f"{source}, method {name}", item) for name, item in methods.items()}
        return _program(source, value)


def _program(source: str, value: Any) -> ExportedProgram:
    """Returns the program of a value. Raises SourceError, CaptureError."""
    from flambeau.frontends.torch_export import capture

    if hasattr(value, "graph_signature"):
        return value
    if isinstance(value, tuple) and len(parts := cast("tuple[Any, ...]", value)) in (2, 3):
        network, inputs = parts[:2]
        keywords: object = parts[2] if len(parts) == 3 else {}
        if not isinstance(inputs, tuple | list):
            raise SourceError(f"{source}: example_inputs must be a tuple of the module's arguments, not {_kind(inputs)}")
        if not isinstance(keywords, dict):
            raise SourceError(f"{source}: example_kwargs must be a dict of the module's keyword arguments, not {_kind(keywords)}")
        return capture(network, tuple(cast("tuple[Any, ...]", inputs)), cast("dict[str, Any]", keywords))
    accepted = "(module, example_inputs), (module, example_inputs, example_kwargs), an ExportedProgram, or a dict of these by method name"
    raise SourceError(f"{source}: expected {accepted}, or a function that returns one, not {_kind(value)}")


def _kind(value: Any) -> str:
    return type(value).__name__


def _is_function(value: Any) -> bool:
    """Returns whether a value is a function to call; False for an ExportedProgram, although it has `__call__`."""
    return callable(value) and not hasattr(value, "graph_signature") and not hasattr(value, "named_parameters")


def _find(source: str) -> Any:
    """Returns the object that `package.module:name` or `file.py:name` refers to. Raises SourceError."""
    module_name, _, name = source.rpartition(":")
    path = Path(module_name).resolve() if module_name.endswith(".py") else None
    if path is not None and not path.is_file():
        raise SourceError(no_file(module_name))
    if path is None and not all(part.isidentifier() for part in module_name.split(".")):
        raise SourceError(
            f"{source}: a module is named as Python imports it from here, or by its file: package.module:name or file.py:name"
        )
    if (folder := os.getcwd() if path is None else str(path.parent)) not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name) if path is None else _load(path)
    except ImportError as error:
        raise SourceError(f"{source}: {error}") from error
    except Exception as error:
        raise SourceError(f"{source}: {module_name} cannot be imported: {in_one_line(error)}{_at(error)}") from error
    if not hasattr(module, name):
        own = [item for item, value in vars(module).items() if getattr(value, "__module__", module.__name__) == module.__name__]
        raise SourceError(f"{source}: {module_name} has no {name!r}{did_you_mean(name, own)}")
    return getattr(module, name)


def _load(path: Path) -> ModuleType:
    """Imports a file under its own name, ignoring cached bytecode, which would hide changes within the same second."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        raise ImportError(f"{path} is not a Python file")
    sys.modules[path.stem] = module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))
    return module


def _at(error: Exception) -> str:
    """Returns the position of an exception in the user's code below the current folder."""
    here = Path.cwd()
    position = raised_at(error, lambda file: here in file.parents)
    return f" (at {position.file}:{position.line})" if position is not None else ""


def absent(path: Path) -> SourceError:
    """Returns the error for a program path that does not exist; for a model source, it names the command that compiles the model."""
    if ":" not in path.name:
        return SourceError(no_file(path))
    return SourceError(f"{path} is a model, and this command takes a program: flambeau compile {path} -o model.pte writes one")
