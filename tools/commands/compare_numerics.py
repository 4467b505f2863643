"""`flambeau numerics`: finds where the values of a stage begin to differ from those of PyTorch, or of another stage."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES, StageError, stage_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.runtime.etdump import ETDumpError, read_etdump_file
from flambeau.runtime.interpreter import InterpreterError
from flambeau.tools.commands.console import print_json, stderr_console, width_of, working
from flambeau.tools.commands.model_source import load_source
from flambeau.tools.commands.shared_options import AsJson, Backends, LoadPlugins, NoDelegate, with_backends
from flambeau.tools.semantics.numeric_errors import (
    DEVICE,
    EAGER,
    Numerics,
    compare_values,
    method_of,
    read_log,
    rounding_noise,
    run_device,
    run_eager,
    run_stage,
    usual_reference,
)
from flambeau.tools.semantics.reference_results import SemanticsError, inputs_for
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs


def numerics_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file of any stage, package.module:name or file.py:name")
    ],
    stage: Annotated[
        str, typer.Option(metavar="STAGE", help=f"the stage to check: {', '.join(STAGES)}, or device, the C runtime")
    ] = STAGES[-1],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="STAGE",
            help="the reference: eager, which is PyTorch, or a stage; by default eager, or the stage of MODEL if PyTorch cannot run it",
        ),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="the method to run")] = "forward",
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="inputs by name; by default MODEL's example inputs, or generated ones")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="the seed of generated inputs")] = 0,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", min=0, help="relative to a value's largest number, for float32; other dtypes in proportion"),
    ] = None,
    target: Annotated[str, typer.Option(metavar="NAME", help="the target, as for flambeau compile")] = PipelineOptions.target,
    backends: Backends = None,
    no_delegate: NoDelegate = None,
    etdump: Annotated[
        Path | None, typer.Option(metavar="FILE.etdp", help="check the values in this ETDump, which a run on the same inputs logged")
    ] = None,
    debug_buffer: Annotated[Path | None, typer.Option(metavar="FILE", help="the debug buffer, with the values of --etdump")] = None,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="show the N values with the greatest relative errors")] = 20,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Compare every value that a stage of MODEL computes, and name the first operator that is wrong."""
    if (etdump is None) != (debug_buffer is None):
        raise StageError("--etdump and --debug-buffer go together: the file of events and the file of their values")
    log = None if etdump is None or debug_buffer is None else (read_etdump_file(etdump), debug_buffer.read_bytes())
    stage = stage if log is None else DEVICE
    options = SemanticsOptions(tolerance, None if inputs is None else load_inputs(inputs), seed)
    _check_names(stage, against)
    find_target(target)
    road = with_backends(PipelineOptions(target), backends, no_delegate)
    context = FlambeauContext()
    console = stderr_console()
    with working(console, f"reading {model}"):
        module = load_source(model, context)
    source = stage_of(module)
    chosen = against or usual_reference(module, method)
    _check(stage, chosen, source)
    with working(console, f"running {model} at {chosen} and {stage}"):
        reference = module if chosen in (EAGER, source) else _at(module, context, chosen, road)
        try:
            leaves = inputs_for(method_of(reference, method), context, options)
        except InterpreterError as error:
            raise SemanticsError(str(error) if inputs is None else f"{inputs}: {error}") from error
        run = run_eager if chosen == EAGER else run_stage
        expected = run(reference, context, method, leaves)
        judged = _at(module, context, STAGES[-1] if stage == DEVICE else stage, road)
        if log is not None:
            try:
                found = read_log(judged, method, *log)
            except ETDumpError as error:
                raise ETDumpError(f"{debug_buffer}: {error}") from error
        else:
            found = (run_device if stage == DEVICE else run_stage)(judged, context, method, leaves)
        numerics = compare_values(expected, found, options, rounding_noise(reference, context, method, leaves))
    if json:
        print_json(_as_json(numerics, stage, chosen))
    else:
        _print(numerics, stage, chosen, most)
    if numerics.first_bad is not None:
        raise typer.Exit(1)


def _check_names(stage: str, against: str | None) -> None:
    for option, name, other in (("--stage", stage, DEVICE), ("--against", against, EAGER)):
        if name not in (*STAGES, other, None):
            raise StageError(f"{option} {name}: there are the stages {', '.join(STAGES)}, and {other}")


def _check(stage: str, against: str, source: str) -> None:
    for option, name in (("--stage", stage), ("--against", against)):
        if name in STAGES and STAGES.index(name) < STAGES.index(source):
            raise StageError(f"{option} {name}: the program is at stage {source!r} already, which comes after")
    if stage == against:
        help = f"--stage {DEVICE} judges the C runtime" + ("; or give the model that it was compiled from" if source == STAGES[-1] else "")
        raise StageError(f"--stage {stage}: the reference is that stage too, so there is nothing to compare: {help}")
    if against == EAGER and source not in ("aten", "core"):
        raise StageError(f"--against eager: PyTorch runs programs of the stages aten and core, and this one is at {source!r}")


def _at(module: ModuleOp, context: FlambeauContext, stage: str, road: PipelineOptions) -> ModuleOp:
    compilation = Compilation(module.clone(), context, road)
    compilation.to(stage)
    return compilation.module


def _as_json(numerics: Numerics, stage: str, against: str) -> dict[str, Any]:
    first = numerics.first_bad
    return {
        "stage": stage,
        "against": against,
        "values": [error.data() for error in numerics.errors],
        "unmatched": numerics.unmatched,
        "first_bad": None if first is None else first.data(),
    }


def _print(numerics: Numerics, stage: str, against: str, most: int) -> None:
    console = Console(highlight=False, soft_wrap=True, width=width_of(sys.stdout))
    worst = sorted(numerics.errors, key=lambda error: -error.relative)[:most]
    table = Table("operator", "max |Δ|", "of scale", "", "module", "line", box=None, header_style="bold")
    for error in numerics.errors:
        if error in worst:
            mark = "" if error.detail is None else "wrong"
            numbers = (f"{error.difference:.1e}", f"{error.relative:.1e}")
            table.add_row(*map(Text, (error.operator, *numbers, mark, error.module or "", error.line or "")))
    console.print(table)
    alone = ", ".join(f"{count} of {operator}" for operator, count in Counter(numerics.alone).most_common())
    others = f", {numerics.unmatched} more have no counterpart: {alone}" if alone else ""
    console.print(Text(f"{stage} against {against}: {len(numerics.errors)} values{others}"))
    first = numerics.first_bad
    console.print(Text("no operator is wrong" if first is None else f"the first wrong operator is {first}: {first.detail}"))
