"""`flambeau profile`: runs a program and shows the time of its instructions."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import methods_of
from flambeau.compiler.program_profile import BY, By, profile_program
from flambeau.dialects.ml_program.weights import check_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import FlambeauError
from flambeau.runtime.binding.recorded_runs import to_etdump
from flambeau.runtime.etdump import write_etdump
from flambeau.runtime.interpreter.inputs import generate_inputs
from flambeau.support.files import write_bytes, write_text
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.commands.console import print_json, stderr_console, width_of, working
from flambeau.tools.commands.delegate_summary import delegate_summaries
from flambeau.tools.commands.engines import EngineError, about_backends
from flambeau.tools.commands.model_source import load_program
from flambeau.tools.commands.output_paths import check_outputs
from flambeau.tools.commands.run import parse_backend_options, parse_input
from flambeau.tools.commands.shared_options import AsJson, DataPaths, LoadPlugins, Threads
from flambeau.tools.profiling.machine import measure_machine
from flambeau.tools.profiling.profile_report import headline, profile_data, profile_table
from flambeau.tools.profiling.profile_trace import trace_of


def profile_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte, or a .mlir of any stage")],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="VALUE", help="a .npy file, a number, true, false or none; one per input; made up by default"),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="the method to run")] = "forward",
    iterations: Annotated[int, typer.Option(metavar="N", min=1, help="the number of runs, after a first one that is not counted")] = 10,
    by: Annotated[str, typer.Option(metavar="WHAT", help=f"the kind of rows: {', '.join(BY)}")] = BY[0],
    peak: Annotated[bool, typer.Option("--peak", help="measure this machine's peak, and compare")] = False,
    trace: Annotated[Path | None, typer.Option(metavar="FILE.json", help="write a trace, which Perfetto opens")] = None,
    etdump: Annotated[Path | None, typer.Option(metavar="FILE.etdp", help="write an ETDump, which ExecuTorch's Inspector reads")] = None,
    backend_options: Annotated[
        list[str] | None,
        typer.Option(
            "--backend-option",
            metavar="NAME.OPTION=VALUE",
            help="an option of the backend NAME, as in npu.threads=2; may be repeated",
        ),
    ] = None,
    threads: Threads = 1,
    data_path: DataPaths = None,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Run PROGRAM in the C runtime and show where the time goes, by instruction, operator, module or line of the model."""
    rows = _rows_of(by)
    check_outputs([("--trace", trace, "json"), ("--etdump", etdump, "etdp")], program, *(inputs or ()), *(data_path or ()))
    options = parse_backend_options(backend_options or ())
    context = FlambeauContext()
    module, pte = load_program(program, context, data_path or ())
    check_weights(module, context.blobs)
    if pte is not None:
        planned, data = module, pte
    else:
        planned = module.clone()
        data = Compilation(planned, context).emit()
    console = stderr_console()
    estimates = {name: each for name, each in delegate_summaries(planned, method).items() if each.estimates}
    for name, each in estimates.items():
        console.print(f"note: delegate {name} of {each.backend} is {each.expected}", markup=False, soft_wrap=True)
    give = _inputs(planned, method, inputs, console)
    try:
        with working(console, f"profiling {program}"):
            found = profile_program(data, give, method=method, iterations=iterations, backend_options=options, threads=threads)
    except FlambeauError as error:
        raise EngineError(f"{error}{about_backends(module, str(error))}") from error
    if len(found.runs) < iterations:
        console.print(f"note: {len(found.runs)} of {iterations} runs were recorded: the rest had more instructions than the first")
    machine = measure_machine() if peak else None
    if trace is not None:
        write_text(trace, json_text.dumps(trace_of(found)))
    if etdump is not None:
        write_bytes(etdump, write_etdump(to_etdump(found.runs)))
    if json:
        data = profile_data(found, rows, machine)
        print_json({**data, "estimates": {name: each.estimates for name, each in estimates.items()}} if estimates else data)
        return
    out = Console(highlight=False, width=width_of(sys.stdout))
    out.print(headline(found), style="bold", markup=False)
    if machine is not None:
        out.print(f"this machine: {machine.flops / 1e9:.1f} GFLOP/s, {machine.bandwidth / 1e9:.1f} GB/s")
    out.print(profile_table(found, rows, machine))


def _rows_of(text: str) -> By:
    """Returns the rows that `--by` names. Raises EngineError."""
    for by in BY:
        if text == by:
            return by
    raise EngineError(f"--by {text}{did_you_mean(text, BY)}: the kinds of rows are {', '.join(BY)}")


def _inputs(module: ModuleOp, method: str, texts: Sequence[str] | None, console: Console) -> Callable[[], Sequence[Any]]:
    """Returns a function that makes the inputs of a run, which the method may write. Raises EngineError."""
    methods = methods_of(module)
    if method not in methods:
        near = did_you_mean(method, methods)
        raise EngineError(f"there is no method {method!r}{near}; --method names one of {', '.join(methods)}")
    wanted = len(methods[method].terminator.inputs)
    if texts:
        values: Sequence[Any] = [parse_input(text) for text in texts]
    else:
        values = generate_inputs(methods[method], seed=0)
        if wanted:
            console.print("note: inputs are made up, since there is no --input; times may depend on them")
    return lambda: [value.copy() if isinstance(value, np.ndarray) else value for value in values]
