"""`flambeau tune`: measures the ways in which a model's operators can be computed, and stores the fastest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from flambeau.compiler.stages import STAGES, StageError, stage_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.passes.tuning.choices import CHOICES
from flambeau.passes.tuning.table import Entry, Place, TuningTable, read_table
from flambeau.runtime import Runtime
from flambeau.runtime.binding.libraries import instruction_set
from flambeau.tools.commands.console import ProgressLine, print_json, stderr_console, working
from flambeau.tools.commands.model_source import load_source, stem_of
from flambeau.tools.commands.output_paths import check_outputs
from flambeau.tools.commands.shared_options import AsJson, LoadPlugins, Threads
from flambeau.tools.tuning.candidate_programs import Builder, Candidate
from flambeau.tools.tuning.search import MARGIN, Result, search


def tune_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file up to the stage edge, package.module:name or file.py:name")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE.json", help="the table to write, or to add to; by default the model's name with .tuning.json"
        ),
    ] = None,
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="the target, which has packed forms")] = "flambeau",
    method: Annotated[str, typer.Option("--method", metavar="NAME", help="the method to run")] = "forward",
    threads: Threads = 1,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="how often it is the turn of each program")] = 10,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Measure the ways to compute the operators of MODEL on this machine, and store the fastest for flambeau compile --tuning."""
    path = output or Path(f"{stem_of(model)}.tuning.json")
    check_outputs([("-o", path, "json")], model)
    table = read_table(path) if path.is_file() else TuningTable()
    if find_target(target).is_plain:
        raise StageError(f"--target {target}: it has one way to compute each operator: there is nothing to measure")
    console = stderr_console()
    context = FlambeauContext()
    isa = instruction_set()
    with working(console, f"reading {model}"):
        module = load_source(model, context)
    if (stage := stage_of(module)) in STAGES[STAGES.index("exec") :]:
        raise StageError(f"{model} is at stage {stage} already, and the choices are made on the way from edge to exec")
    options = PipelineOptions(target=target, isa=isa, threads=threads)
    with working(console, f"tuning {model}") as status:
        say = ProgressLine(console, status, f"tuning {model}")
        builder = Builder(module, context, options, method, Runtime(threads))
        result = search(builder.build, _in_turns(rounds, Candidate.observe, say), _in_turns(rounds, Candidate.run, say))
    for operator, found in result.operators.items():
        table.entries[Place(isa, threads, operator)] = Entry(found.choice, found.seconds)
    table.write(path)
    if json:
        print_json({"output": str(path), "isa": isa, "threads": threads, **asdict(result)})
        return
    console.print(_table(result))
    console.print(Text(_summary(result)))
    console.print(
        Text(f"{path}: {len(table.entries)} operators, {len(result.operators)} of them measured now on {isa} with threads={threads}")
    )


def _in_turns(
    rounds: int, measure: Callable[[Candidate], None], say: Callable[[object], None]
) -> Callable[[Mapping[str, Candidate]], None]:
    """Returns a function that measures programs in turns, so that what else the machine does meets all of them."""

    def run(programs: Mapping[str, Candidate]) -> None:
        for number in range(rounds):
            for name, program in programs.items():
                say(f"round {number + 1} of {rounds}, {name}")
                measure(program)

    return run


def _table(result: Result) -> Table:
    choices = [name for name in CHOICES if any(name in found.seconds for found in result.operators.values())]
    table = Table("operator", box=None, header_style="bold")
    for name in ("calls", *(f"{choice} µs" for choice in choices)):
        table.add_column(name, justify="right")
    table.add_column("choice")
    for operator, found in result.operators.items():
        times = (f"{1e6 * found.seconds[name]:.1f}" if name in found.seconds else "" for name in choices)
        table.add_row(operator, str(found.count), *times, found.choice)
    return table


def _summary(result: Result) -> str:
    before = f"the whole program: {1e3 * result.before:.3f} ms"
    if result.after is None:
        return f"{before}; no choice saves {100 * MARGIN:.0f} % of an operator"
    return f"{before}, with the choices {1e3 * result.after:.3f} ms{'' if result.kept else ': they are not kept'}"
