"""Reads the facts about instructions, and about calls of the exported program, in an ETRecord of Flambeau or ExecuTorch.

Format: `devtools/etrecord/_etrecord.py` of ExecuTorch 1.5.1. Programs are JSON, so that reading names and places needs no PyTorch.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import IO, Any, cast

from flambeau.support.one_line import OneLineError

IDENTIFIER = "ETRECORD_V0"
PROGRAM = "edge_dialect_exported_program"
"""The folder of the exported programs, by method; a file in older records."""

_MOST_BYTES = 1 << 28
"""The greatest size of a part that is read. A small file may claim to hold parts that memory does not."""
MOST_VALUES = 1 << 23
"""The greatest number of values of a part, each of which takes up to a hundred bytes of memory."""


class ETRecordError(OneLineError):
    """Reports a file that is not an ETRecord, or is a damaged one, in one line for people."""


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
    """Returns the facts in an ETRecord about a method, none for an unknown method.

    Raises:
        ETRecordError: the file is not an ETRecord, or is damaged; the message names the file, and the place in it.
        OSError: the file cannot be opened.
    """
    with open(path, "rb") if isinstance(path, str | PathLike) else nullcontext(path) as file:
        try:
            return _Archive(file).program(method)
        except ETRecordError as error:
            raise ETRecordError(f"{path}: {error}") from error


class _Archive:
    """An opened ETRecord."""

    def __init__(self, file: IO[bytes]):
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:  # zipfile documents one of its errors for damaged archives
            raise ETRecordError(f"this is not an ETRecord: {error}") from error
        self._names = frozenset(self._zip.namelist())
        if IDENTIFIER not in self._names:
            raise ETRecordError(f"this is not an ETRecord: the archive has no {IDENTIFIER}")

    def program(self, method: str) -> RecordedProgram:
        """Returns the facts about a method. Raises ETRecordError."""
        program = next((name for name in (f"{PROGRAM}/{method}", PROGRAM) if name in self._names), None)
        return RecordedProgram(
            self._by_instruction("debug_handle_map", method, _handles),
            self._by_instruction("delegate_map", method, _delegate),
            self._by_instruction("instruction_id_to_num_outs_map", method, _number),
            {} if program is None else _nodes(self._json(program), program),
            self._by_instruction(IDENTIFIER, method, _text),
        )

    def _json(self, name: str) -> object:
        """Returns the content of a part of the archive; an object without fields for an absent or empty part."""
        if name not in self._names:
            return {}
        try:
            if (size := self._zip.getinfo(name).file_size) > _MOST_BYTES:
                raise ETRecordError(f"the ETRecord is damaged: {name}: its {size} bytes are more than {_MOST_BYTES}")
            text = self._zip.read(name)
            if (values := sum(map(text.count, (b",", b"[", b"{")))) > MOST_VALUES:
                raise ETRecordError(f"the ETRecord is damaged: {name}: its {values} values are more than {MOST_VALUES}")
            return json.loads(text or "{}")
        except ETRecordError:
            raise
        except Exception as error:  # nor do the decompressors, and deep JSON is a RecursionError
            raise ETRecordError(f"the ETRecord is damaged: {name}: {error}") from error

    def _by_instruction(self, name: str, method: str, read: Callable[[object, str], Any]) -> dict[int, Any]:
        """Returns the values of a part for the instructions of a method."""
        content = _object(self._json(name), name)
        where = f"{name}, method {method!r}"
        given = _object(content.get(method, {}), where)
        return {_key(number, where): read(value, f"{where}, instruction {number}") for number, value in given.items()}


def _wrong(where: str, wanted: str, found: object) -> ETRecordError:
    shown = repr(found)
    return ETRecordError(f"the ETRecord is damaged: {where}: expected {wanted}, got {shown if len(shown) < 80 else f'{shown[:77]}...'}")


def _object(found: object, where: str) -> dict[str, object]:
    if not isinstance(found, dict):
        raise _wrong(where, "an object", found)
    return cast("dict[str, object]", found)


def _array(found: object, where: str) -> list[object]:
    if not isinstance(found, list):
        raise _wrong(where, "an array", found)
    return cast("list[object]", found)


def _text(found: object, where: str) -> str:
    if not isinstance(found, str):
        raise _wrong(where, "a text", found)
    return found


def _number(found: object, where: str) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise _wrong(where, "a whole number", found)
    return found


def _key(text: str, where: str) -> int:
    """Returns the number that a key of an object is."""
    try:
        return int(text)
    except ValueError:
        raise _wrong(where, "the number of an instruction", text) from None


def _handles(found: object, where: str) -> tuple[int, ...]:
    return tuple(_number(item, where) for item in cast("list[object]", found)) if isinstance(found, list) else (_number(found, where),)


def _delegate(found: object, where: str) -> Mapping[str, Any]:
    given = _object(found, where)
    identifiers = _object(given.get("delegate_map"), f"{where}, delegate_map")
    return {
        "name": _text(given.get("name"), f"{where}, name"),
        "delegate_map": {key: _handles(value, f"{where}, delegate_map, {key!r}") for key, value in identifiers.items()},
    }


def _nodes(program: object, where: str) -> dict[int, tuple[CallNode, ...]]:
    graph = _object(_object(program, where).get("graph_module"), f"{where}, graph_module")
    graph = _object(graph.get("graph"), f"{where}, graph")
    found: dict[int, list[CallNode]] = {}
    for index, item in enumerate(_array(graph.get("nodes"), f"{where}, nodes")):
        place = f"{where}, node {index}"
        node = _object(item, place)
        metadata = _object(node.get("metadata"), f"{place}, metadata")
        if "debug_handle" in metadata:
            handle = metadata["debug_handle"]
            number = _key(handle, f"{place}, debug_handle") if isinstance(handle, str) else _number(handle, f"{place}, debug_handle")
            found.setdefault(number, []).append(_call(node, metadata, place))
    return {handle: tuple(calls) for handle, calls in found.items()}


def _call(node: Mapping[str, object], metadata: Mapping[str, object], where: str) -> CallNode:
    target = _text(node.get("target"), f"{where}, target")
    operator = target.removeprefix("torch.ops.").partition(".")[2] or target
    trace = metadata.get("stack_trace")
    name = node.get("name") or _first_output(node, where) or target
    modules = _text(metadata.get("nn_module_stack", ""), f"{where}, nn_module_stack")
    return CallNode(
        _text(name, f"{where}, name"), operator, None if trace is None else _text(trace, f"{where}, stack_trace"), _modules(modules)
    )


def _first_output(node: Mapping[str, object], where: str) -> object:
    """Returns the name of the first output of a node that has one."""
    for output in _array(node.get("outputs", []), f"{where}, outputs"):
        for value in _object(output, f"{where}, outputs").values():
            if isinstance(value, dict) and "name" in value:
                return cast("dict[str, object]", value)["name"]
    return None


def _modules(text: str) -> dict[str, tuple[str, str]]:
    """Returns the modules of a node from its metadata, a text `key,path,type;…`, as `{key: (path, type)}`."""
    entries = (entry.split(",") for entry in text.split(";") if entry)
    return {entry[0]: (",".join(entry[1:-1]), entry[-1]) for entry in entries}
