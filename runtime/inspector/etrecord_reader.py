"""Reads the facts about instructions, and about calls of the exported program, in an ETRecord of Flambeau or ExecuTorch.

Format: `devtools/etrecord/_etrecord.py` of ExecuTorch 1.5.1. Programs are JSON, so that reading names and places needs no PyTorch.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import IO, Any

IDENTIFIER = "ETRECORD_V0"
PROGRAM = "edge_dialect_exported_program"
"""The folder of the exported programs, by method; a file in older records."""


class ETRecordError(ValueError):
    """Reports a file that is not an ETRecord, in one line for people."""


@dataclass(frozen=True)
class CallNode:
    """A call of an exported program.

    Attributes:
        name: the name of the node.
        operator: the operator, such as `linear.default`.
        stack_trace: the lines of the model, in PyTorch's form; None if PyTorch kept none.
        modules: the modules of the model around the call, from the outermost, as `{key: (path, type)}`.
    """

    name: str
    operator: str
    stack_trace: str | None
    modules: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class RecordedProgram:
    """The facts in an ETRecord about one method.

    Attributes:
        handles: the debug handles of each instruction.
        delegates: for calls of delegates, the `name` of the backend, and the `delegate_map` from debug identifiers to handles.
        outputs: the number of tensors that each instruction computes.
        nodes: the calls that have a handle, by their handles.
        event_names: the names of the events of kernels and delegates; empty in ExecuTorch's records.
    """

    handles: Mapping[int, tuple[int, ...]]
    delegates: Mapping[int, Mapping[str, Any]]
    outputs: Mapping[int, int]
    nodes: Mapping[int, tuple[CallNode, ...]]
    event_names: Mapping[int, str]


def read_etrecord(path: str | PathLike[str] | IO[bytes], method: str = "forward") -> RecordedProgram:
    """Returns the facts in an ETRecord about a method, none for an unknown method. Raises ETRecordError for other files, and OSError."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            if IDENTIFIER not in names:
                raise ETRecordError(f"{path}: this is not an ETRecord: the archive has no {IDENTIFIER}")
            handles, delegates, outputs = (
                _by_instruction(json.loads(file.read(name)), method) if name in names else {}
                for name in ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map")
            )
            events = _by_instruction(json.loads(file.read(IDENTIFIER) or "{}"), method)
            program = next((name for name in (f"{PROGRAM}/{method}", PROGRAM) if name in names), None)
            nodes = {} if program is None else _nodes(json.loads(file.read(program)))
    except (zipfile.BadZipFile, json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ETRecordError(f"{path}: this is not an ETRecord: {error}") from error
    return RecordedProgram({number: _handles(given) for number, given in handles.items()}, delegates, outputs, nodes, events)


def _by_instruction(content: Mapping[str, Mapping[str, Any]], method: str) -> dict[int, Any]:
    return {int(number): value for number, value in content.get(method, {}).items()}


def _handles(given: int | list[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _nodes(program: Mapping[str, Any]) -> dict[int, tuple[CallNode, ...]]:
    found: dict[int, tuple[CallNode, ...]] = {}
    for node in program["graph_module"]["graph"]["nodes"]:
        metadata = node["metadata"]
        if "debug_handle" in metadata:
            operator = node["target"].removeprefix("torch.ops.").partition(".")[2] or node["target"]
            call = CallNode(node.get("name") or _first_output(node), operator, metadata.get("stack_trace"), _modules(metadata))
            handle = int(metadata["debug_handle"])
            found[handle] = (*found.get(handle, ()), call)
    return found


def _first_output(node: Mapping[str, Any]) -> str:
    values: list[dict[str, Any]] = [value for output in node.get("outputs", ()) for value in output.values() if isinstance(value, dict)]
    return next((value["name"] for value in values if "name" in value), node["target"])


def _modules(metadata: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Returns the modules of a node from its metadata, a text `key,path,type;…`, as `{key: (path, type)}`."""
    entries = (entry.split(",") for entry in metadata.get("nn_module_stack", "").split(";") if entry)
    return {entry[0]: (",".join(entry[1:-1]), entry[-1]) for entry in entries}
