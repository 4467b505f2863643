"""The table in docs/comparison.md names options and commands that exist, in our tools and in others that are installed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from xdsl.transforms import get_all_passes

from flambeau.passes.manager.registry import all_passes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "comparison.md"
COLUMNS = ("flambeau-opt", "mlir-opt", "iree-opt", "xdsl-opt", "ExecuTorch")
ASSERTIONS = "-debug"
"""An option of mlir-opt that only builds with assertions have."""


def rows() -> Iterator[tuple[str, dict[str, str]]]:
    """What each row is about, and its cells by column."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(COLUMNS) + 1 and cells[0]:
            yield cells[0], dict(zip(COLUMNS, cells[1:], strict=True))


def code(column: str) -> set[str]:
    """What stands in backticks in a column."""
    return {word for _, cells in rows() for word in re.findall(r"`([^`]+)`", cells[column])}


def options(column: str) -> set[str]:
    return {word.partition("=")[0] for word in code(column) if word.startswith("-")} - {ASSERTIONS}


def options_of(*command: str) -> set[str]:
    """The options that a tool's help names."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", done.stdout))


def tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def test_the_table_is_read():
    subjects = [subject for subject, _ in rows()]
    assert len(subjects) > 30
    assert len(subjects) == len(set(subjects))
    assert all(cell for _, cells in rows() for cell in cells.values())
    assert all(len(options(column)) > 3 for column in ("flambeau-opt", "mlir-opt", "xdsl-opt"))


def test_what_it_says_of_flambeau_exists():
    named = code("flambeau-opt")
    assert options("flambeau-opt") - options_of(tool("flambeau-opt"), "--help") == set()
    commands = {word.removeprefix("flambeau ") for word in named if word.startswith("flambeau ")}
    help_text = subprocess.run([tool("flambeau"), "--help"], capture_output=True, text=True, check=True).stdout
    assert commands and all(re.search(rf"^ *{command} ", help_text, re.MULTILINE) for command in commands)
    passes = {word for word in named if not word.startswith(("-", "flambeau "))}
    assert passes and passes <= set(all_passes())


def test_what_it_says_of_xdsl_opt_exists():
    assert options("xdsl-opt") - options_of(tool("xdsl-opt"), "--help") == set()
    passes = {word for word in code("xdsl-opt") if not word.startswith("-")}
    assert passes and passes <= set(get_all_passes())


def test_what_it_says_of_mlir_opt_exists_where_that_is_installed():
    path = shutil.which("mlir-opt-19")
    missing = options("mlir-opt") - options_of(path, "--help") if path is not None else set[str]()
    assert missing == set()
