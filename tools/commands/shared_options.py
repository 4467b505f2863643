"""Options shared by commands of `flambeau`, and dataclasses as groups of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from flambeau.compiler.stages import StageError
from flambeau.passes.delegation.partitioner import Partitioner, check_distinct, partitioners
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.passes.tuning.table import read_table
from flambeau.runtime.binding.libraries import instruction_set
from flambeau.runtime.binding.threads import MOST_THREADS
from flambeau.tools.plugin_loading import load_for_tool


def _load(paths: list[Path] | None) -> None:
    for path in paths or ():
        load_for_tool(path)


PredicateFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="a .mlir file of any stage, with its weights beside it; a reproducer, whose pipeline it is; or - for stdin"
    ),
]
"""`file: PredicateFile`: the input of a predicate."""

LoadPlugins = Annotated[
    list[Path] | None,
    # Eager, because other options may name passes or backends of a plug-in.
    typer.Option(
        "--load-plugin",
        metavar="FILE",
        callback=_load,
        is_eager=True,
        help="load front ends, passes and more from a Python file, or dialects from IRDL; may be given again",
    ),
]
"""`load_plugin: LoadPlugins = None`: the plug-ins are loaded before the command begins, which need not look at it."""

DataPaths = Annotated[
    list[Path] | None,
    typer.Option("--data-path", metavar="FILE.ptd", help="of a .pte: a file with weights of it; may be given again"),
]
"""`data_path: DataPaths = None`: the weights that are not in the program."""

Threads = Annotated[
    int, typer.Option(metavar="N", min=1, max=MOST_THREADS, help="of the C runtime: compute with N threads; the outputs are the same")
]
"""`threads: Threads = 1`."""

AllowUnregistered = Annotated[bool, typer.Option("--allow-unregistered-dialect", help="accept operations of unknown dialects")]
AsJson = Annotated[bool, typer.Option("--json", help="print the report as JSON on stdout")]

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="work in N processes at the same time; by default, in the one of the command"),
]
Cluster = Annotated[str | None, typer.Option("--cluster", metavar="tcp://HOST:PORT", help="work on the cluster of this Dask scheduler")]

Backends = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="delegate to this backend, perhaps with options: xnnpack{least=3}; several with commas, or repeated",
    ),
]
"""`backends: Backends = None`: the backends that take operators, in order."""

NoDelegate = Annotated[
    list[str] | None,
    typer.Option(
        "--no-delegate",
        metavar="WHAT",
        help="keep a module, layers.0.attention, or an operator, softmax, from every backend; may be given again",
    ),
]
"""`no_delegate: NoDelegate = None`: what stays on the target."""


def with_backends(road: PipelineOptions, backends: list[str] | None, no_delegate: list[str] | None) -> PipelineOptions:
    """Returns options with those of `Backends` and `NoDelegate`. Raises StageError, BackendError."""
    chosen: list[Partitioner] = []
    for backend in backends or ():
        try:
            chosen += partitioners(backend)
        except ValueError as error:
            raise StageError(f"--backend {backend.strip() or repr(backend)}: {error}") from error
    check_distinct(chosen)
    if no_delegate and not backends:
        raise StageError("--no-delegate is for --backend")
    return replace(road, backends=tuple(chosen), no_delegate=tuple(no_delegate or ()))


def with_tuning(road: PipelineOptions, tuning: Path | None, isa: str | None, threads: int | None) -> PipelineOptions:
    """Returns options with the choices of a table. Raises StageError, TuningError."""
    if tuning is None:
        if isa is not None or threads is not None:
            raise StageError(f"--{'threads' if isa is None else 'isa'} is for --tuning")
        return road
    if find_target(road.target).is_plain:
        raise StageError(f"--tuning: the target {road.target!r} has one way to compute each operator: there is nothing to choose")
    read_table(tuning)
    return replace(road, tuning=str(tuning), isa=isa or instruction_set(), threads=threads or 1)


def why_not_tuned(road: PipelineOptions) -> list[str]:
    """Returns a note if a table has no choice for the processor that is compiled for."""
    if not road.tuning or (table := read_table(road.tuning)).choices(road.isa, road.threads):
        return []
    measured = ", ".join(sorted({f"{place.isa} with threads={place.threads}" for place in table.entries})) or "nothing"
    missing = f"{road.tuning} has no choice for {road.isa} with threads={road.threads}, but for {measured}"
    return [f"{missing}; --isa and --threads say what to compile for"]


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command for typer in which each field of a dataclass parameter becomes an option."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {name: kind for name, parameter in signature.parameters.items() if is_dataclass(kind := parameter.annotation)}

    @wraps(command)
    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(f"{name}_{field.name}") for field in fields(kind)})
        command(**given)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(f"{name}_{field.name}", inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
            for field in fields(groups[name])
        ]
    vars(call)["__signature__"] = signature.replace(parameters=parameters)
    return call
