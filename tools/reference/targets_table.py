"""The table of targets and backends in README.md."""

from __future__ import annotations

from pathlib import Path

from flambeau.compiler.target_choices import target_choices
from flambeau.passes.targets.interface import find_target
from flambeau.tools.reference.markdown import cell, table

BEGIN, END = "<!-- targets: written by `make docs` -->\n", "<!-- end of targets -->\n"
README = "README.md"


def targets_table() -> str:
    """Returns a table with a row for each target alone, and for each backend on the target that suits it."""
    rows: list[tuple[str, ...]] = []
    for choice in target_choices():
        target = find_target(choice.target)
        told = None if choice.backend is None else choice.backend.description
        choose, runtimes = (target.choose, target.runs_on) if told is None else (told.choose, told.runtimes)
        rows.append((f"`{choice.options}`", *map(cell, (choose, choice.hardware, runtimes, choice.state))))
    return "\n".join(table(("`flambeau compile model.py:make …`", "For what", "Hardware", "Runs in", "State"), rows))


def with_targets_table(readme: str) -> str:
    """Returns a text in which the table is what the registries say. Raises ValueError if the marks around it are gone."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{README}: the table of targets stands between {BEGIN.strip()} and {END.strip()}, and one of them is gone")
    return f"{before}{begin}\n{targets_table()}\n{end}{after}"


def write_targets_table(folder: Path) -> None:
    """Writes the table into the README of a folder; nothing if there is none."""
    path = folder / README
    if path.is_file():
        path.write_text(with_targets_table(path.read_text(encoding="utf-8")), encoding="utf-8")
