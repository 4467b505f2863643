"""The README of a backend: a section for each thing that its users ask."""

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
"""The sections, and what each says."""


def folder_of(backend: str) -> Path | None:
    """The folder of a backend: built in, or a plug-in. None for a plug-in of one file, which has none."""
    spec = importlib.util.find_spec(f"flambeau.backends.{backend}")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    for plugin in loaded_plugins():
        if f"backend {backend!r}" in plugin.declares:
            file = getattr(sys.modules.get(plugin.modules[0]), "__file__", None)
            return Path(file).parent if file is not None and Path(file).name == "__init__.py" else None
    return None


def missing_sections(folder: Path) -> list[str]:
    """What the README of a folder lacks, each in words."""
    readme = folder / "README.md"
    if not readme.is_file():
        return [f"there is no {readme.name} in {folder.name}"]
    found = {
        title.strip(): text.strip()
        for title, text in re.findall(r"^## (.*)\n((?:(?!## ).*(?:\n|$))*)", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    return [f"README.md has nothing under '## {title}': {what}" for title, what in SECTIONS.items() if not found.get(title)]
