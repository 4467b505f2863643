"""`flambeau bisect`: finds the pass, and the rewrite, that makes a predicate hold."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from flambeau.dialects.text.module_text import write_module
from flambeau.plugins.loader import loaded_plugins
from flambeau.tools.bisection import Bisection, BisectionError, BisectionResult
from flambeau.tools.commands.console import ProgressLine, print_json, stderr_console, working
from flambeau.tools.commands.output_paths import check_output
from flambeau.tools.commands.shared_options import AllowUnregistered, AsJson, LoadPlugins, PredicateFile
from flambeau.tools.predicates.crash import Crash
from flambeau.tools.predicates.predicate_input import STDIN, read_predicate_input
from flambeau.tools.predicates.predicate_options import PredicateOptions, make_predicate
from flambeau.tools.predicates.wrong_result import WrongResult
from flambeau.tools.rendering.diagnostics_rendering import LINE_WIDTH

MOST_LINES = 60
"""The number of lines of a rewrite's diff that are printed."""
_FORMS = ("before pass", "before rewrite", "after rewrite")
"""The files with the IR around the culprit."""


@dataclass(frozen=True)
class _Figures:
    runs: int
    judged: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.runs} runs of passes, the predicate asked {self.judged} times, {self.seconds:.1f} s"


def bisect_command(
    file: PredicateFile,
    options: PredicateOptions,
    output_dir: Annotated[
        Path | None, typer.Option("-o", "--output-dir", metavar="DIR", help="the folder for the IR around the culprit")
    ] = None,
    allow_unregistered_dialect: AllowUnregistered = False,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Find the pass of a pipeline, and the rewrite within it, that makes a predicate hold for FILE.

    Without a predicate: what makes the pipeline fail, or what changes the result if it does not fail.
    """
    start = time.perf_counter()
    target = output_dir or Path(f"{'stdin' if file == STDIN else file.stem}-bisect")
    for name in _FORMS:
        if (path := _path_of(target, name)).exists():
            check_output(path, "mlir", file)
    given = read_predicate_input(file, options, allow_unregistered=allow_unregistered_dialect, locate=True)
    parsed, context, options = given.parsed, given.context, given.options
    console = stderr_console()
    with working(console, f"bisecting {file}") as status:
        predicate = make_predicate(options, parsed.module, context)
        progress = ProgressLine(console, status, "bisecting")
        bisection = Bisection(parsed.module, context, predicate, parsed, on_progress=progress)
        result = bisection.run()
    files = _write(result, target)
    flags = [f"--load-plugin={plugin.path}" for plugin in loaded_plugins() if plugin.path is not None]
    flags += ["--allow-unregistered-dialect"] * given.allow_unregistered
    if isinstance(predicate.question, WrongResult):
        flags += _semantics_flags(options)
    if isinstance(predicate.question, WrongResult | Crash):
        # The search also treats invalid IR as a result, not as an error.
        unverified = ["--verify-each=0"] if isinstance(predicate.question, WrongResult) else []
        pattern = predicate.question.pattern if isinstance(predicate.question, Crash) else "changes the result"
        result = _in_new_process(result, lambda given: _run(_replay(given, files["before pass"], [*flags, *unverified]), given, pattern))
        if result.rewrite is None:
            files = _write(result, target)
    replay = shlex.join(_replay(result, files["before pass"], flags))
    figures = _Figures(bisection.runs, bisection.judged, time.perf_counter() - start)
    if json:
        print_json(_report(result, predicate.description, files, replay, figures))
        return
    _print(result, files, replay)
    console.print(str(figures))


def _semantics_flags(options: PredicateOptions) -> list[str]:
    flags = ["--check-semantics" if options.tolerance is None else f"--check-semantics={options.tolerance:g}"]
    if options.inputs is not None:
        flags.append(f"--inputs={options.inputs}")
    if options.seed:
        flags.append(f"--seed={options.seed}")
    return flags


def _path_of(folder: Path, form: str) -> Path:
    return folder / f"{form.replace(' ', '-')}.mlir"


def _write(result: BisectionResult, folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    rewrite = result.rewrite
    modules = (result.before, *((None, None) if rewrite is None else (rewrite.before, rewrite.after)))
    files: dict[str, Path] = {}
    for name, module in zip(_FORMS, modules, strict=True):
        path = _path_of(folder, name)
        if module is None:
            # Files of an earlier bisection do not belong to this one.
            path.unlink(missing_ok=True)
            continue
        write_module(module, result.context if rewrite is None or module is result.before else rewrite.context, path)
        files[name] = path
    return files


@dataclass(frozen=True)
class _Ended:
    """The outcome of a new process."""

    fails: bool
    """Whether the predicate holds: then the pass is confirmed."""
    said: str = ""
    """The error in the new process, if it differs from the expected error."""


def _in_new_process(result: BisectionResult, run: Callable[[BisectionResult], _Ended]) -> BisectionResult:
    """Confirms a result in a new process, because passes may keep state between runs.

    Returns the result, without the rewrite if only the pass is confirmed. Raises BisectionError if the pass is not confirmed either.
    """
    rewrite, replay = result.rewrite, result.replay
    if rewrite is not None and replay.count is not None:
        fewer = replace(result, replay=replace(replay, count=replay.count - 1))
        if run(result).fails and not run(fewer).fails:
            return result
        reason = f"in a new process it is not attempt {rewrite.attempt}: the pass keeps something from one run to the next"
        result = replace(result, rewrite=None, reason=reason, replay=replace(replay, skip=0, count=None))
    ended = run(result)
    if ended.said:
        raise BisectionError(
            f"pass {result.number}, {result.pass_text}, seemed guilty, but fails differently in a new process: {ended.said}"
        )
    if not ended.fails:
        raise BisectionError(
            f"this is not reproducible: pass {result.number}, {result.pass_text}, seemed guilty, but does no harm in a new process; "
            "passes that keep something from one run to the next, or depend on chance, cannot be bisected"
        )
    return result


def _run(words: list[str], result: BisectionResult, pattern: str | None) -> _Ended:
    tool = "import sys; from flambeau.tools.opt.driver import main; sys.exit(main())"
    command = [sys.executable, "-c", tool, *words[1:], "--no-reproducer", "-o", os.devnull]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if ended.returncode == 0:
        return _Ended(False)
    errors = [line.partition("error: ")[2] for line in ended.stderr.splitlines() if "error: " in line]
    of_pass = [error for error in errors if error.startswith(f"{result.step.name}: ")]
    if any(pattern is None or re.search(pattern, error) for error in of_pass):
        return _Ended(True)
    return _Ended(False, (errors or ended.stderr.splitlines()[-1:] or [f"it ended with status {ended.returncode}"])[0])


def _replay(result: BisectionResult, file: Path, flags: list[str]) -> list[str]:
    words = ["flambeau-opt", str(file), *flags, "-p", str(result.replay.pipeline)]
    if (counter := result.replay.debug_counter) is not None:
        words.append(f"--debug-counter={counter}")
    return words


def _print(result: BisectionResult, files: dict[str, Path], replay: str) -> None:
    on = f" on {result.function}" if result.function else ""
    if result.first_number < result.number:
        print(f"one of passes {result.first_number} to {result.number} of {result.total}, perhaps the last: {result.pass_text}{on}")
    else:
        print(f"pass {result.number} of {result.total}: {result.pass_text}{on}")
    print(f"  {result.detail}")
    rewrite = result.rewrite
    if rewrite is None:
        print(f"  the rewrite is unknown: {result.reason}")
    else:
        print(f"rewrite {rewrite.ordinal} of {rewrite.total}: {rewrite.pattern}, attempt {rewrite.attempt}")
        places = [str(place) for place in (rewrite.position, rewrite.place) if place]
        if places:
            print(f"  at {', '.join(places)}")
        print(_cut(f"  {rewrite.op}"))
        if rewrite.after is None:
            print("  it raised")
        for line in rewrite.diff[:MOST_LINES]:
            print(_cut(line))
        if len(rewrite.diff) > MOST_LINES:
            print(f"… and {len(rewrite.diff) - MOST_LINES} more lines: compare {files['before rewrite']} with {files['after rewrite']}")
    for note in result.notes:
        print(f"note: {note}")
    for name, path in files.items():
        print(f"IR {name}: {path}")
    print(f"replay: {replay}")


def _cut(line: str) -> str:
    return line if len(line) <= LINE_WIDTH else f"{line[: LINE_WIDTH - 1]}…"


def _report(result: BisectionResult, description: str, files: dict[str, Path], replay: str, figures: _Figures) -> dict[str, Any]:
    rewrite = result.rewrite
    return {
        "predicate": description,
        "detail": result.detail,
        "pass": {
            "name": result.step.name,
            "text": result.pass_text,
            "number": result.number,
            "first_number": result.first_number,
            "total": result.total,
            "on": result.function,
        },
        "rewrite": None
        if rewrite is None
        else {
            "pattern": rewrite.pattern,
            "number": rewrite.ordinal,
            "total": rewrite.total,
            "attempt": rewrite.attempt,
            "operation": rewrite.op,
            "module_path": rewrite.place or None,
            "position": None if rewrite.position is None else str(rewrite.position),
            "diff": list(rewrite.diff),
        },
        "reason": result.reason or None,
        "notes": list(result.notes),
        "files": {name: str(path) for name, path in files.items()},
        "replay": replay,
        **vars(figures),
    }
