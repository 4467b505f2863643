"""`flambeau memory`: the bytes of RAM that a program needs, by bank, on machines of 32 and of 64 bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flambeau.compiler.memory_report import MemoryReport, memory_reports
from flambeau.compiler.scratch_memory import measure_scratch
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.interface import SourceError
from flambeau.tools.commands.console import print_json, width_of
from flambeau.tools.commands.model_source import load_program
from flambeau.tools.commands.shared_options import AsJson, DataPaths, LoadPlugins


def memory_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte, or a planned .mlir")],
    data_path: DataPaths = None,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Show the bytes of RAM that PROGRAM needs in each bank of memory, for pointers of 32 and of 64 bits."""
    context = FlambeauContext()
    module, pte = load_program(program, context, data_path or ())
    why = measure_scratch(module, context, pte)
    reports = memory_reports(module, context)
    if not reports:
        raise SourceError(f"{program} has no planned method: compile it to a .pte, or to the stage planned")
    if json:
        print_json({"methods": {name: _data(report) for name, report in reports.items()}, "unmeasured": why})
        return
    console = Console(highlight=False, width=width_of(sys.stdout))
    for name, report in reports.items():
        console.print(_table(name, report))
    if why is not None:
        console.print(f"note: not all of it could be measured: {why}", markup=False)


def _parts(report: MemoryReport) -> dict[str, tuple[int | None, int | None]]:
    """Returns the bytes of each part of a method's memory, with pointers of 32 and of 64 bits; None for what is not known."""
    banks = {f"bank {name}": size for name, size in report.bytes_by_bank().items()}
    arenas = banks or {f"arena {index}": size for index, size in enumerate(report.arenas, 1)}
    parts: dict[str, tuple[int | None, int | None]] = {name: (size, size) for name, size in arenas.items()}
    parts |= {"records": (report.method_32, report.method), "kernels": (report.scratch, report.scratch)}
    return parts if report.delegates == 0 else parts | {"delegates": (None, report.delegates)}


def _totals(report: MemoryReport) -> list[int | None]:
    columns = zip(*_parts(report).values(), strict=True)
    return [sum(known) if len(known := [size for size in column if size is not None]) == len(column) else None for column in columns]


def _data(report: MemoryReport) -> dict[str, Any]:
    parts = _parts(report) | {"total": tuple(_totals(report))}
    return {name: {"32": small, "64": large} for name, (small, large) in parts.items()}


def _table(name: str, report: MemoryReport) -> Table:
    table = Table(f"method {name}", box=None, header_style="bold")
    for bits in (32, 64):
        table.add_column(f"{bits} bits", justify="right")
    # Of these bytes, tables of pointers take fewer where pointers are short.
    small = "<= " if report.scratch else ""
    for part, sizes in (_parts(report) | {"total": tuple(_totals(report))}).items():
        words = ["unknown" if size is None else str(size) for size in sizes]
        marked = small if part in ("kernels", "total") and sizes[0] is not None else ""
        table.add_row(part, f"{marked}{words[0]}", words[1])
    return table
