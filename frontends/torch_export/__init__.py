"""The torch.export front end: an ExportedProgram, a `.pt2` file or an `nn.Module` in, a module of the `aten` dialect out."""

from __future__ import annotations

import os
import re
import sys
import warnings
import zipfile
from collections.abc import Mapping
from contextlib import redirect_stderr
from importlib import import_module
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO

import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export.graph_signature import is_large
from flambeau.frontends.torch_export.import_report import Unsupported, UnsupportedProgramError
from flambeau.frontends.torch_export.importer import import_program
from flambeau.support.files import no_file
from flambeau.support.logs import logs_silenced
from flambeau.support.tracebacks import raised_at

_REGISTERED_BY = {
    "quantized_decomposed": "torch.ao.quantization.fx._decomposed",
    "torchao": "torchao.quantization",
    "torchvision": "torchvision",
}
"""The modules that register operators which programs name, by namespace."""
_HERE, _TORCH = Path(__file__), Path(torch.__file__).parent

__all__ = [
    "CaptureError",
    "Unsupported",
    "UnsupportedProgramError",
    "capture",
    "export_constants",
    "export_module",
    "import_program",
    "load",
]


class CaptureError(ValueError):
    """An error of a module that `torch.export` cannot capture. The message is one line; the cause is PyTorch's error."""


def load(path: str | Path) -> ExportedProgram:
    """Loads the program in a `.pt2` file.

    Raises:
        ValueError: there is no such file, or it does not hold an exported program.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(no_file(path))
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a .pt2 file: write it with torch.export.save")
    try:
        with logs_silenced(), warnings.catch_warnings(action="ignore"):
            _register_operators(path)
            return torch.export.load(path)
    except Exception as error:
        # PyTorch's readers raise exceptions of any class.
        raise ValueError(f"{path} does not hold an exported program of PyTorch {torch.__version__}: {_first_line(error)}") from None


def _register_operators(path: Path) -> None:
    """Imports the modules that register the operators named in a `.pt2` file."""
    with zipfile.ZipFile(path) as archive:
        graphs = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".json"))
    for namespace, module in _REGISTERED_BY.items():
        if f'"torch.ops.{namespace}.'.encode() in graphs:
            import_module(module)


class _WithoutGraphs(TextIOBase):
    """A stream without the graph that torch.export prints, in one piece, before it raises; FLAMBEAU_DEBUG keeps it."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._was_graph = False

    def write(self, text: str) -> int:
        """Writes a text that is no graph, nor the line break behind one."""
        is_graph = "def forward(self" in text and "torch.ops." in text
        if os.environ.get("FLAMBEAU_DEBUG") or not (is_graph or (self._was_graph and text == "\n")):
            self._stream.write(text)
        self._was_graph = is_graph
        return len(text)

    def flush(self) -> None:
        """Flushes the stream."""
        self._stream.flush()


def capture(
    module: torch.nn.Module, example_inputs: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None
) -> ExportedProgram:
    """Exports a module with example inputs, without gradients and in its present mode. Raises CaptureError."""
    try:
        with torch.no_grad(), redirect_stderr(_WithoutGraphs(sys.stderr)):
            return torch.export.export(module, example_inputs, dict(kwargs or {}), dynamic_shapes=dynamic_shapes, strict=False)
    except Exception as error:
        # Capture runs the module's own code, which may raise anything.
        place = raised_at(error, lambda file: file != _HERE and _TORCH not in file.parents and file.is_file())
        where = "" if place is None else f", at {place.file}:{place.line}"
        advice = "; torch.cond or torch.where computes by what a tensor holds" if isinstance(error, GuardOnDataDependentSymNode) else ""
        why = _of_cache(error) or f"{_first_line(error)}{advice}"
        raise CaptureError(f"torch.export cannot capture {type(module).__name__}{where}: {why}") from error


def export_module(
    module: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    context: FlambeauContext,
    *,
    kwargs: Mapping[str, Any] | None = None,
    name: str = "forward",
    dynamic_shapes: Any = None,
) -> ModuleOp:
    """Exports a module as `capture` does, and imports the program. `dynamic_shapes` are those of `torch.export`.

    Raises:
        CaptureError: `torch.export` cannot capture the module.
        UnsupportedProgramError: lists everything that cannot be imported.
    """
    return import_program(capture(module, example_inputs, kwargs, dynamic_shapes), context, name=name)


class _Constant(torch.nn.Module):
    """A module that takes nothing and returns a value."""

    def __init__(self, value: object):
        super().__init__()
        self.value = value

    def forward(self) -> object:
        """Returns the value."""
        return self.value


def export_constants(values: Mapping[str, object]) -> dict[str, ExportedProgram]:
    """Returns programs that take no inputs and return the given values, by name. Raises CaptureError for an unsupported value."""
    programs: dict[str, ExportedProgram] = {}
    for name, value in values.items():
        large: Any = next(filter(is_large, pytree.tree_leaves(value)), None)
        if large is not None:
            raise CaptureError(f"constant method {name!r}: {large} does not fit in 64 bits")
        try:
            programs[name] = capture(_Constant(value), ())
        except CaptureError as error:
            why = f"a method returns numbers, strings, tensors, None, and lists and dicts of them; {value!r:.80} is something else"
            raise CaptureError(f"constant method {name!r}: {why}") from error
    return programs


def _of_cache(error: Exception) -> str | None:
    """Returns why a program cannot have a cache of transformers among its inputs or outputs, if that is what the error is about."""
    found = re.search(r"<class '(transformers\.[\w.]*?(\w*Cache))'>", str(error))
    if found is None:
        return None
    wrapper = "Seq2SeqLMExportableModule" if found[2].startswith("EncoderDecoder") else "TorchExportableModuleForDecoderOnlyLM"
    return (
        f"a {found[1]} is not made of tensors alone; export it without one (config.use_cache = False), or with one in buffers, by "
        f"transformers.integrations.executorch.{wrapper}, whose own export() gives what to compile"
    )


def _first_line(error: Exception) -> str:
    if isinstance(error, GuardOnDataDependentSymNode):
        return str(error).strip().partition(" (unhinted:")[0]
    return str(error).strip().partition("\n")[0].strip() or type(error).__name__
