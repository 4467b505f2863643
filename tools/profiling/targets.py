"""`flambeau targets`: compiles a model for every target and backend, and compares size, speed and accuracy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import memory_reports
from flambeau.compiler.stages import StageError, stage_of
from flambeau.compiler.target_choices import TargetChoice, target_choices
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.interface import has_torch
from flambeau.passes.delegation.partitioner import partitioners
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError
from flambeau.runtime.interpreter import Leaf
from flambeau.support.one_line import one_line
from flambeau.tools.commands.console import ProgressLine, print_json, stderr_console, width_of, working
from flambeau.tools.commands.engines import Runner, make_engine
from flambeau.tools.commands.model_source import load_source
from flambeau.tools.commands.shared_options import AsJson, LoadPlugins
from flambeau.tools.instruments.partition_report import PartitionReport
from flambeau.tools.profiling.latency import latencies
from flambeau.tools.profiling.machine import machine_name
from flambeau.tools.semantics.numeric_errors import EAGER, distance, method_of, usual_reference
from flambeau.tools.semantics.reference_results import inputs_for
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs


@dataclass(frozen=True)
class TargetRow:
    """What is found of a model on one target, perhaps with a backend.

    Attributes:
        options: the options of `flambeau compile` that choose it.
        hardware: what computes.
        state: how far its programs are tried here.
        bytes: the size of the `.pte`.
        arena: the bytes of its arenas.
        delegated: the operators that the backend takes, and all operators; None without a backend.
        difference: the greatest difference of an output from the reference; infinite if one of them is not finite.
        scale: the greatest number of the reference.
        milliseconds: the median latency.
        refused: why it was not compiled or not run; None if it was.
    """

    options: str
    hardware: str
    state: str
    bytes: int | None = None
    arena: int | None = None
    delegated: tuple[int, int] | None = None
    difference: float | None = None
    scale: float | None = None
    milliseconds: float | None = None
    refused: str | None = None


def targets_command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file of the stage aten or core, package.module:name or file.py:name"),
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="the method to run")] = "forward",
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="inputs by name; by default MODEL's example inputs, or generated ones")
    ] = None,
    iterations: Annotated[int, typer.Option(metavar="N", min=1, help="the number of runs of each, in turns")] = 20,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Compile MODEL for every target and backend, run each here, and compare size, speed and the distance from PyTorch."""
    options = SemanticsOptions(inputs=None if inputs is None else load_inputs(inputs))
    context = FlambeauContext()
    console = stderr_console()
    with working(console, f"reading {model}"):
        module = load_source(model, context)
    if (stage := stage_of(module)) not in ("aten", "core"):
        raise StageError(f"{model} is at stage {stage!r} already, for one target: give the model that it was made from, or its stage core")
    leaves = inputs_for(method_of(module, method), context, options)
    if not context.examples and inputs is None and leaves:
        console.print("note: inputs are made up, since the model brings none and there is no --inputs; times and errors may depend on them")
    reference = usual_reference(module, method) if has_torch() else stage
    with working(console, f"comparing targets for {model}") as status:
        tell = ProgressLine(console, status, f"comparing targets for {model}")
        engine = make_engine("torch" if reference == EAGER else "numpy", module.clone(), context, method)
        trial = _Trial(module, context, method, leaves, engine(_fresh(leaves)))
        choices = target_choices()
        tried = [trial.row(choice, tell, f"{number} of {len(choices)}") for number, choice in enumerate(choices, 1)]
        tell("running all of them in turns")
        found = iter(latencies([(lambda: _fresh(leaves), run) for _, run in tried if run is not None], iterations))
        rows = [row if run is None else replace(row, milliseconds=next(found)) for row, run in tried]
    against = "PyTorch" if reference == EAGER else f"the interpreter at stage {stage}"
    if json:
        print_json({"machine": machine_name(), "date": str(date.today()), "against": against, "rows": list(map(_as_json, rows))})
        return
    _print(model, rows, against)


@dataclass(frozen=True)
class _Trial:
    module: ModuleOp
    context: FlambeauContext
    method: str
    leaves: Sequence[Leaf]
    expected: Sequence[Leaf]

    def row(self, choice: TargetChoice, tell: Callable[[str], object], position: str) -> tuple[TargetRow, Runner | None]:
        """Returns what compiling for a choice and a first run give, and what runs it; without the latter if it cannot run here."""
        tell(f"{choice.options} ({position})")
        known: dict[str, Any] = {"options": choice.options, "hardware": choice.hardware, "state": choice.state}
        try:
            if choice.backend is not None and (missing := choice.backend.missing()) is not None:
                return TargetRow(**known, refused=missing), None
            report = PartitionReport()
            road = PipelineOptions(choice.target, backends=() if choice.backend is None else partitioners(choice.backend.name))
            compilation = Compilation(self.module.clone(), self.context, road, instrumentations=(report,))
            data = compilation.emit()
            known["bytes"] = len(data)
            known["arena"] = sum(memory_reports(compilation.module, self.context)[self.method].arenas)
            if choice.backend is not None:
                taken, every = sum(row.count for row in report.rows if row.backend), sum(row.count for row in report.rows)
                known["delegated"] = (taken, every)
                if not taken:
                    return TargetRow(**known, refused=f"{choice.backend.name} takes none of the {every} operators"), None
            run = make_engine("c", compilation.module, self.context, self.method, data)
            distances = [distance(np.asarray(a), np.asarray(b)) for a, b in zip(self.expected, run(_fresh(self.leaves)), strict=True)]
        except (ValueError, FlambeauError, OSError, MemoryError) as error:
            return TargetRow(**known, refused=one_line(str(error)) or type(error).__name__), None
        known["difference"] = max((difference for difference, _ in distances), default=0.0)
        known["scale"] = max((scale for _, scale in distances), default=0.0)
        return TargetRow(**known), run


def _as_json(row: TargetRow) -> dict[str, Any]:
    finite = row.difference is not None and np.isfinite(row.difference)
    return asdict(row) | {"difference": row.difference if finite else None}


def _print(model: str, rows: Sequence[TargetRow], against: str) -> None:
    table = Table("options", box=None, header_style="bold")
    for head in ("ms (p50)", ".pte bytes", "arena", "delegated", "max |Δ|", "of scale"):
        table.add_column(head, justify="right")
    table.add_column("runs on, or why not")
    for row in rows:
        relative = None if row.difference is None or row.scale is None else row.difference / row.scale if row.scale else row.difference
        cells = (
            row.options,
            "" if row.milliseconds is None else f"{row.milliseconds:.3f}",
            *("" if number is None else str(number) for number in (row.bytes, row.arena)),
            "" if row.delegated is None else "{} of {}".format(*row.delegated),
            *("" if number is None else f"{number:.1e}" for number in (row.difference, relative)),
            row.refused or f"{row.hardware}; {row.state}",
        )
        table.add_row(*map(Text, cells))
    console = Console(highlight=False, soft_wrap=True, width=width_of(sys.stdout))
    console.print(table)
    console.print(Text(f"on {machine_name()}, {date.today()}; differences are those from {against}"))
    if ran := [row for row in rows if row.milliseconds is not None]:
        best = min(ran, key=lambda row: row.milliseconds or 0.0)
        console.print(Text(f"the fastest here: flambeau compile {model} {best.options}"))


def _fresh(inputs: Sequence[Leaf]) -> list[Leaf]:
    return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in inputs]
