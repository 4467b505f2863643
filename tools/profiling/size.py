"""`flambeau size`: shows the sizes of a program's parts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flambeau.compiler.program_size import SIZE_BY, SizeBy, SizeRow, program_sizes
from flambeau.frontends.interface import SourceError
from flambeau.runtime.pte import PteError, program_in, read_program
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.commands.console import print_json, width_of
from flambeau.tools.commands.engines import EngineError
from flambeau.tools.commands.model_source import absent
from flambeau.tools.commands.shared_options import AsJson
from flambeau.tools.profiling.library_size import LibrarySize, library_size


def size_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte")],
    by: Annotated[str, typer.Option(metavar="WHAT", help=f"the kind of rows: {', '.join(SIZE_BY)}")] = SIZE_BY[0],
    library: Annotated[
        bool, typer.Option("--library", help="tell the bytes of the C library with only the kernels of PROGRAM too; needs a C compiler")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show where the bytes of PROGRAM lie, by part of the file, by module or by operator."""
    chosen = _rows_of(by)
    if not program.is_file():
        raise absent(program)
    try:
        data = bytes(program_in(program.read_bytes()))
        rows = program_sizes(data, chosen)
        operators = {operator.full_name for plan in read_program(data).execution_plan for operator in plan.operators}
    except PteError as error:
        raise SourceError(f"{program}: {error}") from error
    code = library_size(operators) if library else None
    if json:
        report: dict[str, Any] = {"file_bytes": len(data), "by": by, "rows": [_data(row) for row in rows]}
        print_json(report if code is None else report | {"library": vars(code)})
        return
    console = Console(highlight=False, width=width_of(sys.stdout))
    console.print(f"{len(data)} bytes", style="bold")
    console.print(_table(rows, chosen, len(data)))
    if code is not None:
        console.print(f"\nthe C library: {code.core + code.kernels} bytes, {code.core} of them without a kernel", style="bold")
        console.print(_code_table(code))


def _rows_of(text: str) -> SizeBy:
    """Returns the rows that `--by` names. Raises EngineError."""
    for by in SIZE_BY:
        if text == by:
            return by
    raise EngineError(f"--by {text}{did_you_mean(text, SIZE_BY)}: the kinds of rows are {', '.join(SIZE_BY)}")


def _data(row: SizeRow) -> dict[str, Any]:
    return {"name": row.name, "bytes": row.bytes, "weights": row.weights, "delegates": row.delegates, "items": row.items}


def _code_table(code: LibrarySize) -> Table:
    table = Table("kernel", box=None, header_style="bold")
    table.add_column("bytes, alone", justify="right")
    for name, size in sorted(code.alone.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(name, str(size))
    for name in code.absent:
        table.add_row(name, "not in the library")
    return table


def _table(rows: list[SizeRow], by: SizeBy, total: int) -> Table:
    table = Table(by, box=None, header_style="bold")
    heads = ("bytes", "share", "items") if by == "part" else ("bytes", "share", "weights", "delegates", "items")
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        figures = [str(row.bytes), f"{100 * row.bytes / total:.1f} %"]
        figures += [] if by == "part" else [str(row.weights or ""), str(row.delegates or "")]
        table.add_row(row.name, *figures, str(row.items or ""))
    return table
