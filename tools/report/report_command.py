"""`flambeau report`: writes a page about the compilation and the runs of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.stages import stage_of
from flambeau.dialects.ml_program.weights import check_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.runtime.pte import PROGRAM_SUFFIXES
from flambeau.support.files import write_text
from flambeau.tools.commands.console import ProgressLine, stderr_console, working
from flambeau.tools.commands.model_source import load_program, load_source, stem_of
from flambeau.tools.commands.output_paths import OutputError, check_outputs
from flambeau.tools.commands.shared_options import Backends, LoadPlugins, NoDelegate, with_backends
from flambeau.tools.report.model_explorer import graph_collection
from flambeau.tools.report.report_data import Subject, gather, lower
from flambeau.tools.report.report_page import report_page
from flambeau.tools.semantics.numeric_errors import method_of
from flambeau.tools.semantics.reference_results import inputs_for
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs


def report_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file of any stage, package.module:name, file.py:name, or a .pte")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.html", help="the page; by default the model's name in this folder")
    ] = None,
    target: Annotated[str, typer.Option(metavar="NAME", help="the target, as for flambeau compile")] = PipelineOptions.target,
    backends: Backends = None,
    no_delegate: NoDelegate = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="the method that runs and whose graph is shown")] = "forward",
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="inputs by name; by default MODEL's example inputs, or generated ones")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="the seed of generated inputs")] = 0,
    iterations: Annotated[int, typer.Option(metavar="N", min=1, help="the number of runs that are timed")] = 10,
    model_explorer: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="write the graphs for Google's Model Explorer too")
    ] = None,
    load_plugin: LoadPlugins = None,
) -> None:
    """Write a page that shows MODEL: its stages, graph, memory, times, numbers, sizes and partitions. The page works offline."""
    path = output or Path(f"{stem_of(model)}.html")
    for file, suffix in ((path, ".html"), (model_explorer, ".json")):
        if file is not None and file.suffix != suffix:
            raise OutputError(f"{file} does not end with {suffix}: name a {suffix} file, so that no other file is replaced by mistake")
    check_outputs([("-o", path, "html"), ("--model-explorer", model_explorer, "json")], model, inputs)
    find_target(target)
    road = with_backends(PipelineOptions(target), backends, no_delegate)
    options = SemanticsOptions(inputs=None if inputs is None else load_inputs(inputs), seed=seed)
    context = FlambeauContext()
    console = stderr_console()
    with working(console, f"reading {model}"):
        module, data = _load(model, context)
    leaves = inputs_for(method_of(module, method), context, options)
    if not context.examples and inputs is None and leaves:
        console.print("note: inputs are made up, since the model brings none and there is no --inputs; times and errors may depend on them")
    subject = Subject(module, context, method, road, data)
    with working(console, f"compiling {model}") as status:
        lowered = lower(subject, ProgressLine(console, status, f"compiling {model}"))
    with working(console, f"reporting {model}") as status:
        parts = gather(subject, lowered, leaves, options, iterations, ProgressLine(console, status, f"reporting {model}"))
    write_text(path, report_page(f"{model} · {method}", parts))
    if model_explorer is not None:
        write_text(model_explorer, json.dumps(graph_collection(model, lowered.graphs)))
    for name, part in parts.items():
        if "missing" in part and name not in ("partitions", "pytorch"):
            console.print(f"note: {name}: {part['missing']}")
    console.print(f"{path}: {path.stat().st_size} bytes")


def _load(model: str, context: FlambeauContext) -> tuple[ModuleOp, bytes | None]:
    """Returns the module and, if it is read from a `.pte`, the bytes. Raises SourceError, IRError, UnsupportedProgramError."""
    if not model.endswith(PROGRAM_SUFFIXES):
        return load_source(model, context), None
    module, data = load_program(Path(model), context)
    check_weights(module, context.blobs)
    return module, data if stage_of(module) == "planned" else None
