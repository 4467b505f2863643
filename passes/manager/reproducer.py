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
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

VERSION = 1
"""The version of the header."""

_FIRST = "// flambeau reproducer, version "
_TRACEBACK = "// | "
_LAST = "// end of the header"
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
    plugins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The plug-ins to load first: path -> digest of what they were."""
    weights: tuple[str, ...] = ()
    """Weight files; relative to the folder of the reproducer."""
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
