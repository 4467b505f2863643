"""`flambeau kernels`: lists what programs need of the C runtime, for people and for builds."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flambeau.compiler.arduino_library import PROPERTIES, SOURCES, arduino_library
from flambeau.compiler.called_kernels import Selection, SelectionError, TensorKind
from flambeau.dialects.emitc.c_names import c_name
from flambeau.frontends.interface import SourceError
from flambeau.runtime.manifest import kernel_rows, table_source
from flambeau.runtime.pte import Program, PteError, program_in, read_program
from flambeau.support.files import replacing
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.commands.console import print_json, width_of
from flambeau.tools.commands.model_source import absent
from flambeau.tools.commands.shared_options import AsJson

FORMATS = ("table", "cmake", "c", "arduino")


def kernels_command(
    programs: Annotated[list[Path], typer.Argument(metavar="PROGRAM...", help="a .pte, or several that one runtime has to run")],
    format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="table; cmake: variables of the runtime's build; c: the source of a table of only these kernels; "
            "arduino: the folder of a library with the programs",
        ),
    ] = FORMATS[0],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="the file or folder to write; a file that has the same text is left alone")
    ] = None,
    own: Annotated[list[str] | None, typer.Option("--own", metavar="OPERATOR", help="an operator with a kernel of your own")] = None,
    json: AsJson = False,
) -> None:
    """List the operators, element types, layouts and backends that each PROGRAM needs of the C runtime."""
    if format not in FORMATS:
        raise SelectionError(f"--format {format}{did_you_mean(format, FORMATS)}: the formats are {', '.join(FORMATS)}")
    selection = Selection()
    for path in programs:
        selection.add(_program(path))
        try:
            selection.check_kernels(own or ())
        except SelectionError as error:
            raise SelectionError(f"{path}: {error}") from error
    for name in set(own or ()) - selection.operators.keys():
        raise SelectionError(f"--own {name}{did_you_mean(name, selection.operators)}: no program calls it")
    if json:
        print_json(_report(selection))
    elif format == "table":
        _print(selection)
    elif format == "arduino":
        named = {c_name(path.stem): _bytes(path) for path in programs}
        if len(named) < len(programs):
            raise SelectionError(f"two of the programs have one name; there are {', '.join(named)}")
        _write_folder(output, arduino_library(selection, named, own or ()))
    else:
        text = (_cmake if format == "cmake" else _c)(selection, set(own or ()))
        _write(output, text)


def _bytes(path: Path) -> bytes:
    return bytes(program_in(path.read_bytes()))


def _program(path: Path) -> Program:
    if not path.is_file():
        raise absent(path)
    try:
        return read_program(_bytes(path))
    except PteError as error:
        raise SourceError(f"{path}: {error}") from error


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
    elif not output.is_file() or output.read_text(encoding="utf-8") != text:
        with replacing(output) as file:
            file.write(text.encode())


def _write_folder(output: Path | None, files: Mapping[str, bytes]) -> None:
    """Writes a library's folder anew. Raises SelectionError for a folder with other files."""
    if output is None:
        raise SelectionError("--format arduino writes a folder: name one with -o")
    known = output / PROPERTIES
    if output.exists() and not (known.is_file() and known.read_bytes() == files[PROPERTIES]) and any(output.iterdir()):
        raise SelectionError(f"{output} has other files: name a new folder")
    shutil.rmtree(output / SOURCES, ignore_errors=True)
    for name, data in files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_bytes(data)


def _cmake(selection: Selection, own: set[str]) -> str:
    """Returns what `include` takes before `runtime/c` is added."""
    names = [f'"{name}"' for name in sorted(set(selection.operators) - own)]
    lines = [
        "# Written by `flambeau kernels`.",
        f'set(FLAMBEAU_GROUPS "{"" if names else "none"}")',
        _set("FLAMBEAU_KERNELS", names),
        _set("FLAMBEAU_DTYPES", selection.dtypes() or ("all",)),
        _set("FLAMBEAU_BACKENDS", selection.backend_folders()),
    ]
    return "\n".join([*lines, ""])


def _set(name: str, items: Sequence[str]) -> str:
    return "\n  ".join([f"set({name}", *items]) + ")" if items else f'set({name} "")'


def _c(selection: Selection, own: set[str]) -> str:
    dtypes = ", ".join(selection.dtypes() or ("every element type",))
    rows = [row for name, row in sorted(kernel_rows().items()) if name in set(selection.operators) - own]
    return f"/* Written by `flambeau kernels`. The kernels compute with {dtypes}. */\n{table_source(rows)}"


def _report(selection: Selection) -> dict[str, Any]:
    return {
        "operators": {name: _calls(calls) for name, calls in sorted(selection.operators.items())},
        "dtypes": selection.dtypes() or "all",
        "backends": sorted(selection.backends),
    }


def _calls(calls: Counter[tuple[TensorKind, ...]]) -> list[dict[str, Any]]:
    return [{"tensors": [{"dtype": kind.dtype, "layout": list(kind.layout)} for kind in kinds], "calls": calls[kinds]} for kinds in calls]


def _print(selection: Selection) -> None:
    console = Console(highlight=False, width=width_of(sys.stdout))
    table = Table("operator", "tensors", box=None, header_style="bold")
    table.add_column("calls", justify="right")
    for name, calls in sorted(selection.operators.items()):
        for kinds, count in calls.items():
            table.add_row(name, " ".join(map(str, kinds)).replace("[", "\\["), str(count))
            name = ""
    if selection.operators:
        console.print(table)
    console.print(f"element types: {', '.join(selection.dtypes() or ('all',))}")
    console.print(f"backends: {', '.join(sorted(selection.backends)) or 'none'}", markup=False)
