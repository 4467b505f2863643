"""Lines and branches of Python and of C that `make test` executes, by folder, and those that one run executes and another does not.

    pip install --group coverage
    PYTHONPATH=test python test/campaigns/suite_coverage.py run --to build/share.json
    FLAMBEAU_SHARE=all PYTHONPATH=test python test/campaigns/suite_coverage.py run --to build/all.json
    PYTHONPATH=test python test/campaigns/suite_coverage.py compare build/all.json build/share.json

`run` checks the commit out into `build/measured`, and builds the C runtime for x86-64-v3, so that its numbers are the same on any machine
that executes it. Then it runs the FileCheck tests, the C tests and pytest, or pytest on some files only (`--tests`). An hour on two cores.
Emitted C, and the libraries of other instruction sets, are built without counters; a test that links the runtime itself fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from campaigns.fault_trials import make_working_tree, variables_of
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("backends", "dialects", "frontends", "passes", "runtime", "tools", "src/flambeau/compiler")
_COUNTED = """[run]
branch = true
parallel = true
concurrency = multiprocessing, thread
patch = subprocess, fork, _exit
data_file = {data}
source =
{sources}
omit =
    */test/*
"""


@dataclass(frozen=True)
class Line:
    """A line of code that can be executed."""

    text: str
    covered: bool
    taken: int
    """The branches that were taken from it."""
    branches: int


def measured(commit: str, jobs: int, tests: Sequence[str]) -> dict[str, list[Line]]:
    """Returns the lines of each file, by its path, after the tests of a commit, all or some; a test that fails is told of."""
    folder = ROOT / "build" / "measured"
    make_working_tree(ROOT, folder, commit)
    packages = Path(sysconfig.get_path("purelib"))
    # Counts in subprocesses. Python reads such files only of an environment's own folder.
    for path in packages.glob("*_coverage.pth"):
        shutil.copy(path, sysconfig.get_path("purelib", vars={"base": str(folder / ".venv")}))
    environment = variables_of(folder) | {"PYTHONPATH": "test/suite"}
    # The runtime looks for it beside the package flambeau, and here that is in another folder than the other packages.
    environment["FLAMBEAU_OPENVINO_LIBRARY"] = next(map(str, packages.glob("openvino/libs/libopenvino_c.so*")), "")
    library, data = folder / "build" / "gcov", folder / "build" / "coverage"
    data.mkdir(parents=True, exist_ok=True)
    for old in (*data.iterdir(), *library.rglob("*.gcda")):
        old.unlink()
    settings = data / "settings"
    sources = "\n".join(f"    {folder / name}" for name in FOLDERS)
    settings.write_text(_COUNTED.format(data=data / "counted", sources=sources))
    python = str(folder / ".venv" / "bin" / "python")
    counted = [python, "-m", "coverage", "run", f"--rcfile={settings}"]

    def run(*command: str, **more: str) -> None:
        print("$", *command, file=sys.stderr, flush=True)
        ended = subprocess.run(command, cwd=folder, env=environment | more, stdout=sys.stderr, check=False)
        if ended.returncode:
            print(f"warning: that ended with {ended.returncode}", file=sys.stderr)

    seeds = f"-DFLAMBEAU_SEEDS={folder / 'build' / 'seeds'}"
    flags = "-DCMAKE_C_FLAGS=--coverage -O1 -fprofile-update=atomic"
    run("make", "-s", ".venv/.runtime", "build/seeds/.made")
    chosen = ("-DCMAKE_BUILD_TYPE=Debug", "-DFLAMBEAU_ARCH=x86-64-v3", "-DFLAMBEAU_WERROR=OFF")
    run("cmake", "-S", "runtime/c", "-B", str(library), "-G", "Ninja", *chosen, flags, seeds)
    run("cmake", "--build", str(library), f"-j{jobs}")
    if not tests:
        run("ctest", "--test-dir", str(library), f"-j{jobs}", "--quiet")
        run(*counted, str(folder / ".venv" / "bin" / "lit"), "--succinct", f"-j{jobs}", "test/filecheck", "backends")
    options = ("-q", "-n", str(jobs), "--dist", "loadfile", "-p", "no:cacheprovider")
    run(*counted, "-m", "pytest", *options, *tests, FLAMBEAU_LIBRARY=str(library / "libflambeau.so"), OMP_NUM_THREADS="1")
    run(python, "-m", "coverage", "combine", f"--rcfile={settings}", "--quiet")
    run(python, "-m", "coverage", "json", f"--rcfile={settings}", "--quiet", "-o", str(data / "python.json"))
    left_out = ("--exclude", ".*/test/", "--gcov-ignore-parse-errors=all")
    run(python, "-m", "gcovr", "--root", str(folder), *left_out, "--json", str(data / "c.json"), str(library))
    return dict([*_of_python(folder, data / "python.json"), *_of_c(folder, data / "c.json")])


def _of_python(folder: Path, report: Path) -> Iterator[tuple[str, list[Line]]]:
    for name, found in json.loads(report.read_text())["files"].items():
        path = (folder / name).resolve()
        text = path.read_text(encoding="utf-8").splitlines()
        taken = Counter(start for start, _ in found["executed_branches"])
        missed = Counter(start for start, _ in found["missing_branches"])
        executed = set(found["executed_lines"])
        numbers = sorted(executed | set(found["missing_lines"]))
        lines = [Line(text[at - 1].strip(), at in executed, taken[at], taken[at] + missed[at]) for at in numbers]
        yield path.relative_to(folder).as_posix(), lines


def _of_c(folder: Path, report: Path) -> Iterator[tuple[str, list[Line]]]:
    for found in json.loads(report.read_text())["files"]:
        path = (folder / found["file"]).resolve()
        text = path.read_text(encoding="utf-8").splitlines()
        counts: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for line in found["lines"]:  # one for each function that has it
            counts[line["line_number"]].append(line)
        lines: list[Line] = []
        for at, parts in sorted(counts.items()):
            branches = [branch for part in parts for branch in part.get("branches", ())]
            taken = sum(branch["count"] > 0 for branch in branches)
            lines.append(Line(text[at - 1].strip(), any(part["count"] for part in parts), taken, len(branches)))
        yield path.relative_to(folder).as_posix(), lines


def room(path: str) -> str:
    """Returns the folder that a file counts for: of three names at most."""
    return "/".join(PurePosixPath(path).parent.parts[:3])


def table_of(runs: list[tuple[str, dict[str, list[Line]]]]) -> Table:
    """Returns the shares of lines and branches by folder, a pair of columns for each run."""
    table = Table("folder", *(f"{title}, {what}" for title, _ in runs for what in ("lines", "branches")))
    rooms = sorted({room(path) for _, files in runs for path in files})
    for wanted in (*rooms, "all of Python", "all of C"):
        cells: list[str] = []
        for _, files in runs:
            of_room = [line for path, lines in files.items() for line in lines if wanted in (room(path), _language(path))]
            cells.append(_share(sum(line.covered for line in of_room), len(of_room)))
            cells.append(_share(sum(line.taken for line in of_room), sum(line.branches for line in of_room)))
        table.add_row(wanted, *cells)
    return table


def _language(path: str) -> str:
    return "all of Python" if path.endswith(".py") else "all of C"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} of {whole}" if whole else ""


def lost(before: dict[str, list[Line]], after: dict[str, list[Line]]) -> Iterator[tuple[str, str]]:
    """Yields the lines that only the first run executes, and that are in both, by file."""
    for path, lines in before.items():
        executed = {line.text for line in lines if line.covered}
        missed = Counter(line.text for line in after.get(path, ()) if not line.covered)
        was_missed = Counter(line.text for line in lines if not line.covered)
        for text in (missed - was_missed).keys() & executed:
            yield path, text


def _read(path: Path) -> dict[str, list[Line]]:
    return {name: [Line(**line) for line in lines] for name, lines in json.loads(path.read_text()).items()}


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the tests of a commit and write the lines that they execute")
    run.add_argument("--commit", default="HEAD")
    run.add_argument("--jobs", type=int, default=2)
    run.add_argument("--tests", nargs="+", default=[], metavar="FILE", help="run pytest on these only, and nothing else")
    run.add_argument("--to", type=Path, required=True)
    compare = commands.add_parser("compare", help="print the table by folder, and the lines that only the first run executes")
    compare.add_argument("runs", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "run":
        found = measured(arguments.commit, arguments.jobs, arguments.tests)
        arguments.to.write_text(json.dumps({path: [asdict(line) for line in lines] for path, lines in found.items()}))
        runs = [(arguments.to.stem, found)]
    else:
        runs = [(path.stem, _read(path)) for path in arguments.runs]
    Console(width=160).print(table_of(runs))
    for path, text in sorted(lost(runs[0][1], runs[-1][1])) if len(runs) > 1 else ():
        print(f"lost: {path}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
