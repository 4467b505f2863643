"""Where programs come from: a file that a front end reads, or `package.module:factory`."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.tracebacks import in_one_line
from flambeau.frontends.registry import SourceError, find_frontend, readable

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
    found = find_frontend(source)
    if found is not None:
        return found(source, context)
    if ":" in source and "://" not in source:
        return _from_factory(source, context)
    raise SourceError(f"{source}: a program is {readable()}")


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
        raise SourceError(f"{source}: the function failed: {in_one_line(error)}") from error
    if not isinstance(made, tuple) or len(cast("tuple[Any, ...]", made)) != 2:
        raise SourceError(f"{source}: the function must give (module, example_inputs)")
    network, inputs = cast("tuple[Any, Any]", made)
    if not isinstance(inputs, tuple | list):
        raise SourceError(f"{source}: example_inputs must be a tuple of the module's arguments, not {type(inputs).__name__}")
    return export_module(network, tuple(cast("tuple[Any, ...]", inputs)), context)
