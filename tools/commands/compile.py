"""`flambeau compile`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flambeau.backends.delegate import register_passes
from flambeau.backends.interface import find_backend, run_payload
from flambeau.dialects.exec.target import find_target
from flambeau.dialects.registry import FlambeauContext, find_op
from flambeau.passes.manager import Instrumentation, Pipeline
from flambeau.passes.manager.crash import CrashReproducer
from flambeau.passes.manager.dumping import StageDump
from flambeau.passes.manager.printing import CHANGE_MODES, print_changes
from flambeau.passes.manager.semantics import CheckSemantics
from flambeau.passes.pipelines import PipelineOptions
from flambeau.tools.commands.output import print_json
from flambeau.tools.compiler import STAGES, Compilation, StageError, stage_of, write_module
from flambeau.tools.reports import MemoryReport, memory_reports
from flambeau.tools.reproducers import run_options
from flambeau.tools.sources import load_source


def compile_command(
    model: str,
    output: Path | None,
    *,
    target: str,
    emit: str,
    to: str,
    dump_dir: Path | None,
    preserve: tuple[str, ...],
    backends: tuple[str, ...] = (),
    check_semantics: bool = False,
    tolerance: float | None = None,
    dump_passes: Path | None = None,
    print_changed: str | None = None,
    passes: tuple[str, ...] = (),
    json: bool,
) -> None:
    """Compiles `model` and writes `output` (by default the model's name beside the current folder). Raises ValueError, OSError."""
    if emit not in ("pte", "mlir"):
        raise StageError(f"--emit is pte or mlir, not {emit!r}")
    if to not in STAGES:
        raise StageError(f"there is no stage {to!r}; there are {', '.join(STAGES)}")
    find_target(target)
    if tolerance is not None and not check_semantics:
        raise StageError("--tolerance is for --check-semantics")
    for operator in preserve:
        if find_op(f"aten.{operator}") is None:
            raise StageError(f"--preserve {operator}: ATen has no operator of that name")
    for backend in backends:
        find_backend(backend)
    if print_changed not in (None, *CHANGE_MODES):
        raise StageError(f"--print-changed is {', '.join(CHANGE_MODES)}, not {print_changed!r}")
    path = output or Path(f"{Path(model.partition(':')[0].rpartition('.')[2] if ':' in model else model).stem}.{emit}")
    console = Console(stderr=True)
    context = FlambeauContext()
    start = time.perf_counter()
    with console.status(f"reading {model}"):
        module = load_source(model, context)
    imported = time.perf_counter() - start
    if (stage := stage_of(module)) != "aten" and (target != "executorch" or preserve):
        console.print(f"note: {model} is at stage {stage} already; what --target and --preserve mean for earlier stages was decided there")
    options = PipelineOptions(target=target, preserve=preserve, backends=backends)
    checks = (CheckSemantics(tolerance, delegates=run_payload),) if check_semantics else ()
    watchers = (CrashReproducer(options=run_options()), *checks, *_watchers(dump_passes, print_changed))
    compilation = Compilation(module, context, options, dump_dir, watchers, extra_passes(passes))
    with console.status(f"compiling {model}"):
        if emit == "mlir":
            compilation.to(to)
            write_module(compilation.module, context, path)
            size = path.stat().st_size
        else:
            data = compilation.emit()
            path.write_bytes(data)
            size = len(data)
    memory = memory_reports(compilation.module, context)
    if json:
        report = {
            "output": str(path),
            "bytes": size,
            "import_seconds": imported,
            "stages": [vars(record) for record in compilation.records],
            "methods": {name: {**vars(item), "total": item.total} for name, item in memory.items()},
        }
        print_json(report)
        return
    _print_report(console, compilation, memory, path, size, imported)


def extra_passes(options: Sequence[str]) -> dict[str, Pipeline]:
    """What `--passes STAGE:PIPELINE` says, by stage; several for one stage follow each other. Raises StageError, PipelineError."""
    register_passes()
    found: dict[str, Pipeline] = {}
    for option in options:
        stage, colon, text = option.partition(":")
        if not colon or stage not in STAGES:
            raise StageError(f"--passes is STAGE:PIPELINE, where STAGE is {', '.join(STAGES)}; not {option!r}")
        pipeline = Pipeline.parse(text)
        before = found[stage].elements if stage in found else ()
        found[stage] = Pipeline(pipeline.anchor, (*before, *pipeline.elements))
    return found


def _watchers(dump_passes: Path | None, print_changed: str | None) -> list[Instrumentation]:
    watchers: list[Instrumentation] = []
    if dump_passes is not None:
        watchers.append(StageDump(dump_passes))
    if print_changed is not None:
        watchers.append(print_changes(sys.stderr, print_changed))
    return watchers


def _print_report(
    console: Console, compilation: Compilation, memory: dict[str, MemoryReport], path: Path, size: int, imported: float
) -> None:
    table = Table("stage", "operations", "seconds", box=None, header_style="bold")
    for record in compilation.records:
        seconds = imported if record is compilation.records[0] else record.seconds
        table.add_row(record.stage, str(record.operations), f"{seconds:.3f}")
    console.print(table)
    for name, item in memory.items():
        console.print(f"{name}: {item.describe()}", highlight=False)
    console.print(f"{path}: {size} bytes", highlight=False)
