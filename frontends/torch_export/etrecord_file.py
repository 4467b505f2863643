"""Writes the file of an ETRecord: a zip of exported programs in ExecuTorch's serialisation, and of JSON.

Format: `devtools/etrecord/_etrecord.py` of ExecuTorch 1.5.1.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from io import BytesIO
from os import PathLike
from typing import IO, Any
from zipfile import ZipFile

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree

from flambeau.runtime.inspector.etrecord_reader import IDENTIFIER, PROGRAM
from flambeau.support.files import replacing


def write_etrecord(
    path: str | PathLike[str] | IO[bytes],
    programs: Mapping[str, ExportedProgram],
    maps: Mapping[str, Mapping[str, Mapping[int, Any]]],
    inputs: Sequence[object],
    outputs: Mapping[str, Sequence[object]] | None,
) -> None:
    """Writes the file of an ETRecord.

    Args:
        path: the path to write to, or an open binary file.
        programs: the programs by method, whose nodes have debug handles.
        maps: the JSON files by name: for each method, a value per number of an instruction.
        inputs: the leaves of representative inputs.
        outputs: the expected outputs of the methods, by name, for each test case.

    Raises:
        ModuleNotFoundError: ExecuTorch, which serialises the programs, is not installed.
    """
    try:
        serialize: Any = import_module("executorch.exir.serde.serialize").serialize
    except ImportError as error:
        text = f"an ETRecord holds programs in ExecuTorch's serialisation: install the package executorch ({error})"
        raise ModuleNotFoundError(text, name="executorch") from error
    with replacing(path) if isinstance(path, str | PathLike) else nullcontext(path) as opened, ZipFile(opened, "w") as file:
        # ExecuTorch reads only the files that it knows, and of this one the name.
        file.writestr(IDENTIFIER, json.dumps(maps["event_names"]))
        for method, program in programs.items():
            name, found = f"{PROGRAM}/{method}", serialize(_without_devices(program))
            file.writestr(name, found.exported_program)
            for part in ("state_dict", "constants", "example_inputs"):
                file.writestr(f"{name}_{part}", getattr(found, part))
        for name, content in maps.items():
            if name != "event_names":
                file.writestr(name, json.dumps(content))
        for name, values in (("representative_inputs", list(inputs)), ("reference_outputs", outputs)):
            if values is not None:
                stream = BytesIO()
                torch.save(values, stream)
                file.writestr(name, stream.getvalue())


def _without_devices(program: ExportedProgram) -> ExportedProgram:
    """Returns a program whose conversions name no device, because the Inspector of ExecuTorch 1.5.1 cannot show devices."""
    convert = torch.ops.aten.to
    if not any(node.target is convert.device for node in program.graph.nodes):
        return program
    graph = copy.deepcopy(program.graph)
    for node in graph.nodes:
        if node.target is convert.device:
            node.target, node.args = convert.dtype, (node.args[0], *node.args[2:])
    found: Any = program
    return found._update(fx.GraphModule(program.graph_module, graph), program.graph_signature)


def example_leaves(program: ExportedProgram) -> list[object]:
    """Returns the leaves of the example inputs that a program contains."""
    return _pytree.tree_leaves(program.example_inputs)
