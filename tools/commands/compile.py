"""`flambeau compile`: compiles a model to a .pte, to a file of a backend, or to IR of a stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import MemoryReport, memory_reports
from flambeau.compiler.stages import STAGES, StageError, stage_of
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.emitc.c_names import c_name
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.text.module_text import write_module
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import Instrumentation, Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import planner_pass
from flambeau.passes.planning.banks import banks_of
from flambeau.passes.storage.pins import pins_of
from flambeau.passes.targets.interface import find_target
from flambeau.runtime.emit.c_program import WEIGHTS
from flambeau.support.files import replacing, write_files
from flambeau.tools.commands.console import PassProgress, print_json, stderr_console, working
from flambeau.tools.commands.model_source import load_source, stem_of
from flambeau.tools.commands.output_paths import (
    FOLDER_FORM,
    OWN_FORMS,
    OutputError,
    check_output,
    check_outputs,
    external_files,
    external_outputs,
    form_of,
)
from flambeau.tools.commands.shared_options import AsJson, Backends, LoadPlugins, NoDelegate, why_not_tuned, with_backends, with_tuning
from flambeau.tools.instruments.ir_printing import CHANGE_MODES, print_changes
from flambeau.tools.instruments.partition_report import PartitionReport
from flambeau.tools.instruments.stage_dump import StageDump, is_stage
from flambeau.tools.reproducers.crash_reproducer import CrashReproducer
from flambeau.tools.reproducers.reproducer_file import Reproducer, with_plugins
from flambeau.tools.semantics.check_semantics import CheckSemantics
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs


@dataclass(frozen=True)
class CompileOptions:
    """The options of `flambeau compile` for its output and for watching passes."""

    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="the .pte or .mlir to write, the folder of --emit c, a file of a backend, as model.tflite; by default the model's name",
        ),
    ] = None
    target: Annotated[
        str,
        typer.Option("--target", metavar="NAME", help="the target: the operators that the program may use (flambeau-opt --list-targets)"),
    ] = PipelineOptions.target
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="FORM",
            help="pte, mlir, c (a folder), or the suffix of a backend's files; by default as the output is named, or pte",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="STAGE", help="write IR: stop at aten, core, edge, exec or planned, where IR stops by default"),
    ] = None
    preserve: Annotated[
        list[str] | None, typer.Option("--preserve", metavar="OPERATOR", help="keep this operator whole; may be given again")
    ] = None
    bounds: Annotated[
        list[str] | None, typer.Option("--bound", metavar="NAME=MAX", help="bound this symbol of the sizes; may be given again")
    ] = None
    passes: Annotated[
        list[str] | None,
        typer.Option("--passes", metavar="STAGE:PIPELINE", help="run these passes too when STAGE is reached; may be given again"),
    ] = None
    backends: Backends = None
    no_delegate: NoDelegate = None
    explain_partitions: Annotated[
        bool,
        typer.Option(
            "--explain-partitions",
            help="of --backend: print a table of the operators that backends took and left, with the reasons and the work",
        ),
    ] = False
    tuning: Annotated[
        Path | None,
        typer.Option("--tuning", metavar="FILE.json", help="compute operators as this table says, which flambeau tune writes"),
    ] = None
    isa: Annotated[
        str | None,
        typer.Option("--isa", metavar="NAME", help="of --tuning: the instruction set to compile for, x86-64-v4; by default this machine's"),
    ] = None
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", min=1, help="of --tuning: the threads to compile for, 1 by default")
    ] = None
    planner: Annotated[
        str,
        typer.Option(
            "--planner",
            metavar="PLANNER",
            help="the memory planner, perhaps with options of plan-memory: greedy, best{alignment=64}, a plug-in's",
        ),
    ] = "best"
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="NAME=SIZE,...",
            help="the banks of the device's memory, the fastest first: sram=512K,dram; without a size, a bank has no limit",
        ),
    ] = None
    pins: Annotated[
        list[str] | None,
        typer.Option(
            "--pin",
            metavar="NAME=BANK",
            help="of --memory: put a tensor, an input, an output, a state or all tensors of a module into this bank; may be given again",
        ),
    ] = None
    external_constants: Annotated[
        list[str] | None,
        typer.Option(
            "--external-constants",
            metavar="NAME[=PATTERN]",
            help="put constants whose names match PATTERN, or all, into NAME.ptd beside the .pte; may be given again",
        ),
    ] = None
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            metavar="FORM",
            help="of --emit c: array, incbin: a file that the assembler includes, or blob: a file that the application reads",
        ),
    ] = WEIGHTS[0]
    strip_debug: Annotated[
        bool,
        typer.Option("--strip-debug", help="leave out where in the model each instruction comes from, which errors at run time name"),
    ] = False
    check_semantics: Annotated[
        bool,
        typer.Option(
            "--check-semantics",
            help="run the program after each pass, on the model's example inputs and others, and stop at the first that changes a result",
        ),
    ] = False
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="NUMBER",
            min=0,
            help="of --check-semantics, relative to a result's largest number, for float32; other dtypes in proportion",
        ),
    ] = None
    inputs: Annotated[
        Path | None, typer.Option("--inputs", metavar="FILE.npz", help="of --check-semantics: an .npz file of inputs by name, instead")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="of --check-semantics: the seed of generated inputs")] = None
    dump_dir: Annotated[Path | None, typer.Option("--dump-dir", metavar="DIR", help="write the IR of each stage into this folder")] = None
    dump_passes: Annotated[
        Path | None,
        typer.Option("--dump-passes", metavar="DIR", help="write the IR after each pass that changed it into this folder"),
    ] = None
    print_changed: Annotated[
        str | None,
        typer.Option(
            "--print-changed", metavar="MODE", help="print the changes of each pass to stderr: full, quiet, diff or cdiff (in colour)"
        ),
    ] = None


def compile_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file of any stage, package.module:name or file.py:name")
    ],
    options: CompileOptions,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Compile MODEL to a .pte, to a file of a backend, or to the IR of a stage."""
    form = form_of(options.output, options.emit, options.to)
    path = options.output or Path(f"{stem_of(model)}{'_c' if form == FOLDER_FORM else f'.{form}'}")
    whole = None if form in OWN_FORMS else Partitioner.of_file(form, options.backends or ())
    road = _road(options, whole)
    if options.external_constants and form != "pte":
        where = "beside a .mlir, all weights are in one .safetensors" if form == "mlir" else f"a .{form} file has its weights in it"
        raise OutputError(f"--external-constants is for a .pte: {where}")
    end = options.to or ("edge" if whole is not None else STAGES[-1])
    _check_all_read(options, form, end, is_file=whole is not None)
    if options.weights not in WEIGHTS or (options.weights != WEIGHTS[0] and form != FOLDER_FORM):
        raise OutputError(f"--weights is {', '.join(WEIGHTS[:-1])} or {WEIGHTS[-1]}, and for --emit c; not {options.weights!r} for {form}")
    check_output(path, form, model, named=options.output is not None)
    external = external_files(options.external_constants or ())
    if form == "pte":
        check_outputs([("-o", path, form), *external_outputs(options.external_constants or (), path.parent)], model)
    if options.dump_passes is not None and is_stage(Path(model), options.dump_passes):
        raise OutputError(f"--dump-passes: {model} is a stage in this folder, which would be written anew: name another folder")
    watchers = [CrashReproducer(settings=_run_settings(options), checks=lambda: _checks(options)), *_watchers(options)]
    extra = extra_passes(options.passes or ())
    partitions = PartitionReport()
    watchers += [partitions] if options.explain_partitions else []
    console = stderr_console()
    context = FlambeauContext()
    start = time.perf_counter()
    with working(console, f"reading {model}"):
        module = load_source(model, context)
    imported = time.perf_counter() - start
    if (stage := stage_of(module)) != "aten" and (options.target != CompileOptions.target or options.preserve):
        console.print(f"note: {model} is at stage {stage} already; --target and --preserve have no effect on its earlier stages")
    if options.bounds and stage != "aten":
        raise StageError(f"--bound: {model} is at stage {stage} already, and sizes get their bounds on the way from aten")
    if options.backends and whole is None and stage not in ("aten", "core"):
        other = "" if stage != "edge" else f"; --passes 'edge:delegate{{backends={','.join(options.backends)}}}' does it here"
        raise StageError(f"--backend: {model} is at stage {stage} already, and backends take over on the way there{other}")
    with working(console, f"compiling {model}") as status:
        watchers.append(PassProgress(status, f"compiling {model}"))
        compilation = Compilation(module, context, road, options.dump_dir, watchers, extra, source=model, strip_debug=options.strip_debug)
        compilation.to(end)
        status.update(Text(f"writing {path}"))
        if whole is not None:
            write_files(path, compilation.emit_file(whole))
        elif form == FOLDER_FORM:
            write_files(path, compilation.emit_c(c_name(path.name), options.weights))
        elif form == "mlir":
            if options.strip_debug:
                Pipeline.parse("strip-debuginfo").run(compilation.module, context)
            write_module(compilation.module, context, path)
        else:
            compilation.external = external
            parts = compilation.emit_parts()
            with replacing(path) as file:
                file.writelines(parts)
            for name, weights in compilation.external.encoded().items() if compilation.external is not None else ():
                with replacing(path.parent / f"{name}.ptd") as file:
                    file.write(weights)
    notes = _notes(road, compilation.module)
    beside = [] if compilation.external is None else [path.parent / f"{name}.ptd" for name in compilation.external.files]
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    memory = memory_reports(compilation.module, context)
    if json:
        report = {
            "output": str(path),
            "bytes": size,
            "external": {str(file): file.stat().st_size for file in beside},
            "import_seconds": imported,
            "stages": [vars(record) for record in compilation.records],
            "methods": {name: {**vars(item), "total": item.total} for name, item in memory.items()},
            "notes": notes,
        }
        print_json(report | ({"partitions": partitions.data()} if options.explain_partitions else {}))
        return
    if options.explain_partitions:
        console.print(partitions.table())
    _print_report(console, compilation, memory, path, size, imported)
    for file in beside:
        console.print(Text(f"{file}: {file.stat().st_size} bytes"))
    for note in notes:
        console.print(f"note: {note}")


def _check_all_read(options: CompileOptions, form: str, end: str, *, is_file: bool) -> None:
    """Raises OutputError for an option that is given, and that nothing reads on the way to the stage at which a form ends."""
    if is_file and options.target != CompileOptions.target:
        raise OutputError(f"--target {options.target}: what reads a .{form} runs all of it, and a target is for what no backend takes")
    planned, edge = f"memory is planned on the way from exec to {STAGES[-1]}", "it is read on the way from core to edge"
    given = {
        "--bound": (options.bounds, "core", "it is read on the way from aten to core"),
        "--target": (options.target != CompileOptions.target, "edge", edge),
        "--backend": (options.backends, "edge", edge),
        **{f"--passes {item}": (True, item.partition(":")[0], "they run at that stage") for item in options.passes or ()},
        "--tuning": (options.tuning is not None, "exec", "it is read on the way from edge to exec"),
        "--planner": (options.planner != CompileOptions.planner, STAGES[-1], planned),
        "--memory": (options.memory is not None, STAGES[-1], planned),
        "--pin": (options.pins, STAGES[-1], planned),
    }
    for name, (is_given, stage, why) in given.items():
        if is_given and stage in STAGES[STAGES.index(end) + 1 :]:
            raise OutputError(f"{name}: {why}, and a .{form} ends at {end}")


def _notes(road: PipelineOptions, module: ModuleOp) -> list[str]:
    """Returns notes for the user on the delegates of a program."""
    used = {op.backend.data for op in module.body.block.ops if isinstance(op, PartitionOp | PayloadOp)}
    told = {item.backend.name: item.options.only_here for item in road.backends if item.backend.identifier in used}
    asked = () if stage_of(module) in ("aten", "core") else road.backends
    unused = [item.backend.name for item in asked if item.backend.identifier not in used]
    notes = [f"{name} has no operator of this program; --explain-partitions says why" for name in unused]
    return [
        *why_not_tuned(road),
        *notes,
        *(f"ExecuTorch cannot run the delegates of {name} in this program: {why}" for name, why in told.items() if why is not None),
    ]


def _road(options: CompileOptions, whole: Partitioner | None) -> PipelineOptions:
    """Returns the options of pipelines; those of a file name no backend. Raises ValueError for contradictory options, before slow work."""
    if options.to is not None and options.to not in STAGES:
        raise StageError(f"there is no stage {options.to!r}; there are {', '.join(STAGES)}")
    find_target(options.target)
    for operator in options.preserve or ():
        if find_op(f"aten.{operator}") is None:
            raise StageError(f"--preserve {operator}: ATen has no operator of that name")
    bounds = tuple(map(_bound, options.bounds or ()))
    memory, pins = tuple(options.memory.split(",")) if options.memory is not None else (), tuple(options.pins or ())
    _check_banks(memory or find_target(options.target).banks, pins)
    road = PipelineOptions(options.target, tuple(options.preserve or ()), bounds=bounds, planner=options.planner, memory=memory, pins=pins)
    road = with_tuning(road, options.tuning, options.isa, options.threads)
    if whole is None:
        road = with_backends(road, options.backends, options.no_delegate)
    else:
        road = replace(road, no_delegate=tuple(options.no_delegate or ()))
    if options.explain_partitions and not options.backends and whole is None:
        raise StageError("--explain-partitions is for --backend")
    try:
        planner_pass(road)
    except ValueError as error:
        raise StageError(f"--planner {options.planner}: {error}") from error
    for name in ("tolerance", "inputs", "seed"):
        if getattr(options, name) is not None and not options.check_semantics:
            raise StageError(f"--{name} is for --check-semantics")
    if options.check_semantics:
        SemanticsOptions(options.tolerance, seed=options.seed or 0)
    if options.print_changed not in (None, *CHANGE_MODES):
        raise StageError(f"--print-changed is {', '.join(CHANGE_MODES)}, not {options.print_changed!r}")
    return road


def _run_settings(options: CompileOptions) -> Reproducer:
    if not options.check_semantics:
        return with_plugins(Reproducer())
    inputs = "" if options.inputs is None else str(options.inputs.resolve())
    tolerance = "default" if options.tolerance is None else repr(options.tolerance)
    return with_plugins(Reproducer(check_semantics=tolerance, inputs=inputs, seed=options.seed or 0))


def _checks(options: CompileOptions) -> list[Instrumentation]:
    if not options.check_semantics:
        return []
    inputs = None if options.inputs is None else load_inputs(options.inputs)
    return [CheckSemantics(options.tolerance, inputs, options.seed or 0)]


def _watchers(options: CompileOptions) -> list[Instrumentation]:
    watchers = _checks(options)
    if options.dump_passes is not None:
        watchers.append(StageDump(options.dump_passes))
    if options.print_changed is not None:
        watchers.append(print_changes(sys.stderr, options.print_changed))
    return watchers


def _bound(option: str) -> str:
    """Returns the value of a `--bound` in the syntax of the pass `bound-symbols`. Raises StageError."""
    name, _, number = option.partition("=")
    if not name.isidentifier() or not number.isdecimal():
        raise StageError(f"--bound is NAME=MAX, where MAX is an integer, as in seq=512; not {option!r}")
    return f"{name}:{number}"


def _check_banks(memory: Sequence[str], pins: Sequence[str]) -> None:
    """Raises StageError for banks or pins that are none."""
    if pins and not memory:
        raise StageError(f"--pin {pins[0]}: --memory names the banks")
    try:
        banks = banks_of(memory)
    except ValueError as error:
        raise StageError(f"--memory: {error}") from error
    try:
        pins_of(pins, banks)
    except ValueError as error:
        raise StageError(f"--pin: {error}") from error


def extra_passes(options: Sequence[str]) -> dict[str, Pipeline]:
    """Returns the pipelines of `--passes STAGE:PIPELINE` by stage; several for one stage are concatenated.

    Raises StageError, PipelineError.
    """
    found: dict[str, Pipeline] = {}
    for option in options:
        stage, colon, text = option.partition(":")
        if not colon or stage not in STAGES:
            raise StageError(f"--passes is STAGE:PIPELINE, where STAGE is {', '.join(STAGES)}; not {option!r}")
        pipeline = Pipeline.parse(text)
        before = found[stage].elements if stage in found else ()
        found[stage] = Pipeline(pipeline.anchor, (*before, *pipeline.elements))
    return found


def _print_report(
    console: Console, compilation: Compilation, memory: dict[str, MemoryReport], path: Path, size: int, imported: float
) -> None:
    table = Table("stage", "operations", "seconds", box=None, header_style="bold")
    for record in compilation.records:
        seconds = imported if record is compilation.records[0] else record.seconds
        table.add_row(record.stage, str(record.operations), f"{seconds:.3f}")
    console.print(table)
    for name, item in memory.items():
        console.print(f"{name}: {item.describe()}")
    if compilation.unmeasured is not None:
        console.print(Text(f"note: not all of it could be measured: {compilation.unmeasured}"))
    console.print(f"{path}: {size} bytes")
