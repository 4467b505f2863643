"""The files of the C runtime that functions of kernels need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

_INCLUDE = re.compile(r'^ *# *include "([^"]+)"', re.MULTILINE)
_FOLDERS = ("include", "core", "kernels", "emitted")
_ALWAYS = ("emitted/emitted.c", "core/value.c")


@cache
def runtime_sources() -> dict[str, str]:
    """Returns the texts of the runtime's C files by their path in `runtime/c`."""
    root = resources.files("flambeau.runtime").joinpath("c")
    found: dict[str, str] = {}
    for folder in _FOLDERS:
        stack = [(folder, root.joinpath(folder))]
        while stack:
            path, entry = stack.pop()
            if entry.is_dir():
                stack += [(f"{path}/{item.name}", item) for item in entry.iterdir()]
            elif path.endswith((".c", ".h", ".def")):
                found[path] = entry.read_text(encoding="utf-8")
    return found


def needed_sources(functions: Iterable[str], headers: Iterable[str] = ()) -> dict[str, str]:
    """Returns the files that define functions of kernels, headers, and the files that these need, by their path in `runtime/c`.

    What a file needs is declared in the headers that it includes, and stands in the `.c` beside each header.
    """
    sources = runtime_sources()
    todo = [*_ALWAYS, *headers, *(path for function in functions for path in _defining(function))]
    found: dict[str, str] = {}
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found[path] = sources[path]
        for name in _INCLUDE.findall(sources[path]):
            folders = (path.rpartition("/")[0], "include", ".")
            paths = [f"{folder}/{name}".removeprefix("./") for folder in folders]
            header = next((candidate for candidate in paths if candidate in sources), None)
            if header is not None:
                beside = re.sub(r"\.h$", ".c", header)
                todo += [header, beside] if beside in sources and beside.startswith("kernels/") else [header]
    return dict(sorted(found.items()))


@cache
def _defining(function: str) -> tuple[str, ...]:
    """Returns the files that may define a kernel: the one that has its definition, or, where a macro makes it, those of its rows."""
    sources = {path: text for path, text in runtime_sources().items() if path.startswith("kernels/")}
    defines = re.compile(rf"^[a-z][a-z_0-9 *]* {function}\([^;]*$", re.MULTILINE)
    found = [path for path, text in sources.items() if path.endswith(".c") and defines.search(text)]
    if not found:
        rows = (path.removesuffix("def") + "c" for path, text in sources.items() if path.endswith(".def") and f", {function}," in text)
        found = [path for path in rows if path in sources]
    return tuple(found)
