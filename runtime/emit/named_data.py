"""Writes and reads `flambeau.json`, named data of a program that hold facts without a field in the format, such as names and memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from flambeau.runtime.pte import PteError

KEY = "flambeau.json"
VERSION = 1


@dataclass(frozen=True)
class MethodMetadata:
    """The entry of one method in `flambeau.json`.

    Attributes:
        inputs, outputs: names, in the order of the plan; None if they are unknown.
        memory: bytes by purpose: `method` and `method_32` for the runtime's own records on 64-bit and 32-bit machines, `arenas` for planned
            tensors, and `scratch` for kernels, if it was measured.
        banks: the memory of the device in which each arena lies, the first one first; None where the plan knows no banks.
        writes: the positions of the inputs that the method writes.
    """

    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    memory: Mapping[str, int] | None = None
    banks: tuple[str, ...] | None = None
    writes: tuple[int, ...] = ()


def encode(methods: Mapping[str, MethodMetadata]) -> bytes:
    """Returns the JSON of `flambeau.json` as bytes, from the metadata of each method by its name."""
    entries: dict[str, dict[str, object]] = {}
    for name, method in methods.items():
        fields = {
            "inputs": method.inputs,
            "outputs": method.outputs,
            "memory": method.memory,
            "banks": method.banks,
            "writes": method.writes or None,
        }
        entries[name] = {key: value for key, value in fields.items() if value is not None}
    return json.dumps({"version": VERSION, "methods": entries}, separators=(",", ":"), ensure_ascii=False).encode()


def decode(data: memoryview) -> dict[str, MethodMetadata]:
    """Returns the metadata of each method, by its name, from the bytes of `flambeau.json`.

    Raises:
        PteError: the named data are damaged.
    """
    try:
        content = json.loads(str(data, "utf-8"))
    except (ValueError, RecursionError):
        raise PteError(f"the program's {KEY} is damaged: it is not JSON") from None
    methods = _object(content, "methods")
    return {name: _method(_object(methods, name)) for name in methods}


def _method(entry: dict[str, object]) -> MethodMetadata:
    memory: dict[str, int] | None = None
    if "memory" in entry:
        memory = {}
        for key, value in _object(entry, "memory").items():
            if not isinstance(value, int):
                raise _damaged(key)
            memory[key] = value
    writes = entry.get("writes", [])
    if not isinstance(writes, list) or not all(isinstance(item, int) for item in cast("list[object]", writes)):
        raise _damaged("writes")
    return MethodMetadata(
        _names(entry, "inputs"), _names(entry, "outputs"), memory, _names(entry, "banks"), tuple(cast("list[int]", writes))
    )


def _damaged(key: str) -> PteError:
    return PteError(f"the program's {KEY} is damaged: {key} is not what it should be")


def _object(container: object, key: str) -> dict[str, object]:
    found = cast("dict[str, object]", container).get(key) if isinstance(container, dict) else None
    if not isinstance(found, dict):
        raise _damaged(key)
    return cast("dict[str, object]", found)


def _names(entry: dict[str, object], key: str) -> tuple[str, ...] | None:
    found = entry.get(key)
    if found is None:
        return None
    names = cast("list[object]", found) if isinstance(found, list) else [found]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(key)
    return tuple(cast("list[str]", names))
