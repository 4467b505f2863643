"""`flambeau test-backend`: judges a backend on graphs drawn from the samples of the operators that it takes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flambeau.tools.commands.console import ProgressLine, print_json, stderr_console, working
from flambeau.tools.commands.engines import EngineError
from flambeau.tools.commands.shared_options import AsJson, Cluster, Jobs, LoadPlugins
from flambeau.tools.conformance.conformance import GRAPHS, ConformanceOptions, judge
from flambeau.tools.conformance.conformance_report import Report
from flambeau.tools.jobs.executors import open_executor


def test_backend_command(
    backend: Annotated[str, typer.Argument(metavar="NAME", help="a backend, perhaps with options: npu{level=2}")],
    graphs: Annotated[int, typer.Option(metavar="N", min=1, help="the number of graphs")] = GRAPHS,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="the seed of the first graph; each later graph has the next number")] = 0,
    quantized: Annotated[bool, typer.Option("--quantized", help="draw quantized graphs only")] = False,
    size: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="the most operators in a graph; by default, graphs have several sizes")
    ] = None,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="write graphs that fail into this folder, as .mlir files")] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PLACE",
            help="run programs there too: PLACE, package.module:name or file.py:name, is a function that takes the bytes of a program and"
            " gives a function from arrays to arrays; may be given again",
        ),
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Judge the backend NAME: whether what its table takes is compiled, and right, and what it does with bad payloads.

    Prints a table of its operators and their results, and each failure with the seed that shows it alone. Fails if there are failures.
    """
    console = stderr_console()
    with working(console, f"testing {backend}") as status, open_executor(jobs, cluster) as executor:
        progress = ProgressLine(console, status, f"testing {backend}")
        options = ConformanceOptions(seed, graphs, quantized, size, keep, dict(map(_engine, engine or ())))
        report = judge(
            backend, options, lambda found: progress(f"{found.graphs} of {graphs} graphs, {len(found.failures)} failures"), executor
        )
    if json:
        print_json(report.data())
    else:
        given = [("--size", size), *(("--engine", text) for text in engine or ()), *(("--load-plugin", path) for path in load_plugin or ())]
        _print(report, [word for option, value in given if value is not None for word in (option, str(value))])
    if report.failures:
        raise typer.Exit(1)


def _engine(text: str) -> tuple[str, str]:
    name, _, place = text.partition("=")
    if not (name and ":" in place):
        raise EngineError(f"--engine is NAME=PLACE, as in npu=npu.py:load; not {text!r}")
    return name, place


def _print(report: Report, options: Sequence[str]) -> None:
    _print_table(report)
    for failure in report.failures:
        known = filter(None, (failure.kind, *failure.operators))
        where = "" if failure.seed is None else f"{', '.join([f'seed {failure.seed}', *known])}: "
        print(f"failed: {where}{failure.check}: {failure.details}")
        if failure.seed is not None:
            print(f"  {shlex.join(['flambeau', 'test-backend', report.backend, '--seed', str(failure.seed), '--graphs', '1', *options])}")
    for origin, count in report.payloads.items():
        print(f"payloads: {count}{origin and f', {origin}'}")
    for check, count in report.passed.items():
        print(f"{check}: {count} of {report.graphs} graphs")
    for check in report.checks:
        print(f"{check}: passed")
    for note in report.notes:
        print(f"note: {note}")
    for engine, why in report.absent.items():
        print(f"{engine}: not checked: {why}")


def _print_table(report: Report) -> None:
    """Prints a table: as wide as the terminal; elsewhere a line for each operator, for other tools."""
    if sys.stdout.isatty():
        Console(highlight=False, markup=False).print(report.table())
        return
    text = StringIO()
    Console(file=text, highlight=False, markup=False, width=1000).print(report.table())
    print("\n".join(line.rstrip() for line in text.getvalue().splitlines()))
