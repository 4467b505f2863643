"""Where programs come from: a `.pt2` file, a `.mlir` file of any stage, or `package.module:factory`."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import read_module

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class SourceError(ValueError):
    """A source that is not there or is not a program. One line, for people."""


def load_source(source: str, context: FlambeauContext) -> ModuleOp:
    """The module in `source`, at whatever stage it is.

    Args:
        source: a `.pt2` or `.mlir` file, or `package.module:factory`, where the factory gives `(module, example_inputs)`.
        context: receives the weights.

    Raises:
        SourceError: there is no such file, module or factory, or the factory gives something else.
        IRError, UnsupportedProgramError: the program is not valid, or uses what cannot be imported.
    """
    path = Path(source)
    if path.suffix == ".mlir":
        if not path.is_file():
            raise SourceError(f"no such file: {source}")
        return read_module(path, context).module
    if path.suffix == ".pt2":
        from flambeau.frontends.torch_export import import_program, load

        return import_program(load(path), context)
    if ":" in source:
        return _from_factory(source, context)
    raise SourceError(f"{source}: a program is a .pt2 file, a .mlir file, or package.module:factory")


def _from_factory(source: str, context: FlambeauContext) -> ModuleOp:
    from flambeau.frontends.torch_export import export_module

    module_name, _, name = source.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise SourceError(f"{source}: {error}") from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise SourceError(f"{source}: {module_name} has no function {name!r}")
    try:
        made: Any = factory()
    except Exception as error:
        raise SourceError(f"{source}: the function failed: {type(error).__name__}: {error}") from error
    if not isinstance(made, tuple) or len(cast("tuple[Any, ...]", made)) != 2:
        raise SourceError(f"{source}: the function must give (module, example_inputs)")
    network, inputs = cast("tuple[Any, Any]", made)
    if not isinstance(inputs, tuple | list):
        raise SourceError(f"{source}: example_inputs must be a tuple of the module's arguments, not {type(inputs).__name__}")
    return export_module(network, tuple(cast("tuple[Any, ...]", inputs)), context)
