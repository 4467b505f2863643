"""Reproducers: one file that holds all it takes to see a pass fail again.

The file is a module that parses as any other, below a header of comments with the pipeline and what else matters:

    // flambeau reproducer, version 1; flambeau-opt --run-reproducer FILE
    // error: "fold-constants: …"
    // pipeline: "builtin.module(fold-constants,cse)"
    // …
    // end of the header
    builtin.module { … }

Weights lie beside it in a `.safetensors` file, or stay where they are when they are large; where the failure does not need them, they are
left out.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

VERSION = 1
"""The version of the header."""

_FIRST = "// flambeau reproducer, version "
_TRACEBACK = "// | "
_LAST = "// end of the header"
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_LINE = re.compile(r"// (?P<key>[a-z-]+): (?P<value>.*)")


class ReproducerError(ValueError):
    """A file that is no reproducer, or a damaged one. One line, for people."""


def versions() -> dict[str, str]:
    """The versions of what runs here."""
    from importlib import metadata

    return {"flambeau": metadata.version("flambeau"), "xdsl": metadata.version("xdsl"), "python": platform.python_version()}


def seeds() -> dict[str, str]:
    """What decides chance here: the seed of the hashes of strings, on which the order of sets depends."""
    return {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "random")}


@dataclass(frozen=True)
class Reproducer:
    """What stands in the header."""

    pipeline: str
    """Canonical, from the failing pass on."""
    error: str = ""
    """What is to be seen again; empty in a reproducer that was asked for without a failure."""
    note: str = ""
    """What whoever runs this should know."""
    verify_each: bool = True
    allow_unregistered: bool = False
    debug_counters: str = ""
    verify_roundtrip: bool = False
    check_semantics: str = ""
    """Whether results are compared, and how: as the option takes it."""
    inputs: str = ""
    """The file with the inputs that these are the results for."""
    seed: int = 0
    """What makes up inputs."""
    plugins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The plug-ins to load first: path -> digest of what they were."""
    weights: tuple[str, ...] = ()
    """Weight files; relative to the folder of the reproducer."""
    relative: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the files that have absolute names: how they are reached from the folder of the reproducer, should both have moved."""
    versions: Mapping[str, str] = field(default_factory=versions)
    seeds: Mapping[str, str] = field(default_factory=seeds)
    last_action: str = ""
    """The last attempt to rewrite before the failure."""
    traceback: tuple[str, ...] = ()
    """Its lines."""

    def header(self) -> str:
        """The header's text."""
        lines = [f"{_FIRST}{VERSION}; flambeau-opt --run-reproducer FILE"]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "traceback":
                lines += [f"{_TRACEBACK}{line}" for line in self.traceback]
            elif value != ({} if item.default is MISSING and item.name != "pipeline" else item.default):
                lines.append(f"// {item.name.replace('_', '-')}: {_dump(value)}")
        return "\n".join([*lines, _LAST, ""])

    def find(self, name: str, folder: Path) -> Path:
        """Where a file is that the header of a reproducer in `folder` names: where it was, or else where it is as seen from there."""
        path, moved = folder / name, folder / self.relative.get(name, name)
        return moved if moved.exists() and not path.exists() else path

    def is_error(self, error: str) -> bool:
        """Whether an error is that of the reproducer, but for what differs from run to run."""
        return without_addresses(error) == without_addresses(self.error)

    @staticmethod
    def parse(text: str, file: str) -> Reproducer:
        """Reads the header of a file's text. Raises ReproducerError."""
        lines = text.split("\n")
        if not lines[0].startswith(_FIRST):
            raise ReproducerError(f"{file} is no reproducer: it does not begin with {_FIRST!r}")
        version = lines[0].removeprefix(_FIRST).partition(";")[0]
        if version != str(VERSION):
            raise ReproducerError(f"{file} is a reproducer of version {version!r}; this program reads version {VERSION}")
        if _LAST not in lines:
            raise ReproducerError(f"{file} is damaged: the line {_LAST!r} is missing")
        kinds = {item.name.replace("_", "-"): item for item in fields(Reproducer) if item.name != "traceback"}
        found: dict[str, Any] = {}
        traceback: list[str] = []
        for number, line in enumerate(lines[1 : lines.index(_LAST)], 2):
            if line.startswith(_TRACEBACK):
                traceback.append(line.removeprefix(_TRACEBACK))
                continue
            match = _LINE.fullmatch(line)
            if match is None or match["key"] not in kinds:
                raise ReproducerError(f"{file}:{number} is damaged: this is no line of a reproducer's header")
            item = kinds[match["key"]]
            value = _load(match["value"], str(item.type))
            if value is None or item.name in found:
                raise ReproducerError(f"{file}:{number} is damaged: {match['key']!r} has no such value, or has one already")
            found[item.name] = value
        if "pipeline" not in found:
            raise ReproducerError(f"{file} is damaged: its header names no pipeline")
        return Reproducer(**found, traceback=tuple(traceback))


def without_addresses(message: str) -> str:
    """A message without what differs from run to run."""
    return _ADDRESS.sub("", message)


def relative_names(names: Iterable[str], folder: Path) -> dict[str, str]:
    """How the files of absolute names are reached from a folder, where they have more in common with it than the root."""
    start = os.path.abspath(folder)
    found: dict[str, str] = {}
    for name in filter(os.path.isabs, names):
        try:
            if os.path.dirname(common := os.path.commonpath([name, start])) != common:
                found[name] = os.path.relpath(name, start)
        except ValueError:
            pass  # they are on different drives
    return found


def is_reproducer(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(len(_FIRST)) == _FIRST.encode()


def _dump(value: object) -> str:
    if isinstance(value, Mapping):
        value = dict(cast("Mapping[str, str]", value))
    return json.dumps(value, ensure_ascii=False)


def _load(text: str, kind: str) -> object:
    """The value of a JSON text; None when it is not of the kind that a field's annotation names."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match kind, value:
        case ("str", str()) | ("bool", bool()):
            return value
        case "int", int() if not isinstance(value, bool):
            return value
        case "tuple[str, ...]", list() if all(isinstance(item, str) for item in cast("list[object]", value)):
            return tuple(cast("list[str]", value))
        case "Mapping[str, str]", dict() if all(isinstance(item, str) for item in cast("dict[str, object]", value).values()):
            return cast("dict[str, str]", value)
        case _:
            return None


def read_reproducer(path: str | os.PathLike[str]) -> Reproducer:
    """The header of a reproducer. Raises ReproducerError, OSError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ReproducerError(f"{path} is no reproducer: it is not text") from None
    return Reproducer.parse(text, str(path))
