"""Excerpts of the sources behind an operator: the lines of the model, and the C function of its kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from linecache import getlines

from flambeau.runtime.emit.c_program.kernel_sources import runtime_sources
from flambeau.runtime.manifest import kernel_rows

_AROUND = 5
"""The lines of the model before and after the one that matters."""

_MOST_LINES = 90
"""The lines of a C function that are shown."""


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file.

    Attributes:
        file: the path of the file, or its name within the C runtime.
        first: the number of the first line, from 1.
        lines: the lines.
        marked: the number of the line that matters; None where all of them do.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    marked: int | None = None


def model_excerpt(file: str, line: int) -> Excerpt | None:
    """Returns the surroundings of a line of the model, or None if the file is not on this machine."""
    lines = getlines(file)
    if not 1 <= line <= len(lines):
        return None
    first = max(1, line - _AROUND)
    return Excerpt(file, first, tuple(text.rstrip("\n") for text in lines[first - 1 : line + _AROUND]), line)


def kernel_excerpt(operator: str) -> Excerpt | None:
    """Returns the C function of a kernel, or the macro call that makes it; None for an operator without a kernel of ours."""
    row = kernel_rows().get(operator)
    if row is None:
        return None
    own = f"kernels/{row.table.removesuffix('.def')}.c"
    # Macros paste names from parts, as short as `add`: those of the file of the kernel's table come first.
    words = row.run.removeprefix("fl_").removesuffix("_out").split("_")
    stems = ["_".join(words[start:]) for start in range(len(words))]
    patterns = [(rf"^fl_status {row.run}\(", ""), *((_macro_call(stem), own) for stem in stems), (_macro_call(stems[0]), "")]
    for pattern, only in patterns:
        for file, text in _sources().items():
            if file.startswith(only) and (found := re.search(pattern, text, re.MULTILINE)) is not None:
                return _statement(file, text, found.start())
    return None


def _macro_call(stem: str) -> str:
    return rf"^[A-Z][A-Z0-9_]*\({stem}\b"


def _sources() -> dict[str, str]:
    """Returns the C files of the kernels by name."""
    return {path: text for path, text in sorted(runtime_sources().items()) if path.startswith("kernels/") and path.endswith(".c")}


def _statement(file: str, text: str, start: int) -> Excerpt:
    """Returns the function or the macro call that begins at an offset, with the comment above it."""
    lines = text.splitlines()
    begin = text.count("\n", 0, start)
    end = begin
    if lines[begin].rstrip().endswith("{"):
        while end + 1 < len(lines) and lines[end] != "}":
            end += 1
    else:
        depth = 0
        for end in range(begin, len(lines)):
            depth += lines[end].count("(") - lines[end].count(")")
            if depth <= 0:
                break
    while begin > 0 and re.match(r"^(/\*| \*)", lines[begin - 1]):
        begin -= 1
    return Excerpt(file, begin + 1, tuple(lines[begin : min(end + 1, begin + _MOST_LINES)]))
