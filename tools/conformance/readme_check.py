"""Checks the README of a backend for the sections that users need."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

from flambeau.plugins.loader import loaded_plugins

SECTIONS = {
    "Hardware": "what runs its payloads",
    "Operators": "what it takes, or the page that says so",
    "Install": "what to install to compile, and to run",
    "Options": "those of the compiler, and those of its part of the C runtime",
    "Debug": "how to see what a payload computes, and why an operator is left",
    "Licence": "that of what it is linked with or loads",
    "Dependencies": "what it needs, and why",
}
"""The sections, and the content of each."""


def folder_of(backend: str) -> Path | None:
    """Returns the folder of a built-in backend or of a plug-in; None for a plug-in that is a single file."""
    spec = importlib.util.find_spec(f"flambeau.backends.{backend}")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    for plugin in loaded_plugins():
        if f"backend {backend!r}" in plugin.declares:
            file = getattr(sys.modules.get(plugin.modules[0]), "__file__", None)
            return Path(file).parent if file is not None and Path(file).name == "__init__.py" else None
    return None


DEPENDENCY_COLUMNS = ("why", "licence", "to upgrade", "to mind")
"""The columns of the table of dependencies after the name."""


def sections_of(readme: Path) -> dict[str, str]:
    """Returns the text of each section of a README, by title."""
    found = re.findall(r"^## (.*)\n((?:(?!## ).*(?:\n|$))*)", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title.strip(): text.strip() for title, text in found}


def readme_complaints(folder: Path) -> list[str]:
    """Returns the defects of the README of a folder, as text."""
    readme = folder / "README.md"
    if not readme.is_file():
        return [f"there is no {readme.name} in {folder.name}"]
    found = sections_of(readme)
    missing = [f"README.md has nothing under '## {title}': {what}" for title, what in SECTIONS.items() if not found.get(title)]
    return missing + _dependency_complaints(found.get("Dependencies", ""))


def _dependency_complaints(text: str) -> list[str]:
    """Returns the defects of the section on dependencies, which must say "none" or have a table with a row per dependency."""
    if not text or text.startswith("None."):
        return []
    head, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")] or [[]]
    if head[1:] != [*DEPENDENCY_COLUMNS]:
        return [f"README.md, Dependencies: 'None.', or a table with the columns {', '.join(DEPENDENCY_COLUMNS)}"]
    return [
        f"README.md, Dependencies: nothing says of {row[0]} {column!r}"
        for row in rows[1:]
        for column, cell in zip(DEPENDENCY_COLUMNS, (*row[1:], *[""] * len(head)), strict=False)
        if not cell
    ]
