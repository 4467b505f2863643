"""`flambeau inspect`: describes a program: methods, operators, memory, weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.scratch_memory import measure_scratch
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime.emit.pte_writer import EmitError
from flambeau.tools.commands.console import print_json, width_of
from flambeau.tools.commands.model_source import load_program
from flambeau.tools.commands.program_description import describe_program
from flambeau.tools.commands.shared_options import DataPaths, LoadPlugins


def inspect_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte, or a .mlir of any stage")],
    data_path: DataPaths = None,
    load_plugin: LoadPlugins = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON on stdout")] = False,
) -> None:
    """Show methods, inputs, outputs, operators, delegates, memory and weights of PROGRAM."""
    context = FlambeauContext()
    module, pte = load_program(program, context, data_path or ())
    unmeasured = None if pte is None else _measure(module, context, pte)
    report = describe_program(module, context)
    report["file_bytes"] = program.stat().st_size
    report["unmeasured"] = unmeasured
    if json:
        print_json(report)
        return
    _print(report)


def _measure(module: ModuleOp, context: FlambeauContext, program: bytes) -> str | None:
    """Records on a module the memory that kernels and delegates of its `.pte` need. Returns why some of it is unknown, or None."""
    try:
        return measure_scratch(module, context, program)
    except EmitError as error:
        return str(error)


def _print_delegate(console: Console, name: str, delegate: dict[str, Any]) -> None:
    size = f", {delegate['bytes']} bytes" if "bytes" in delegate else ""
    console.print(f"\ndelegate {name} ({delegate['backend']}){size}", style="bold", markup=False)
    for words in filter(None, (delegate.get("properties"), delegate.get("expected"))):
        console.print(f"  {words}", markup=False, soft_wrap=True)
    if "unread" in delegate:
        console.print(f"  not disassembled: {delegate['unread']}", markup=False, soft_wrap=True)
        return
    if named := delegate.get("named_data"):
        console.print(f"  named data {sum(named.values())} bytes, {len(named)} entries")
    console.print(f"  constants {delegate['constant_bytes']} bytes")
    table = Table("node", "count", box=None, header_style="bold")
    for node, count in sorted(delegate["nodes"].items(), key=lambda item: (-item[1], item[0])):
        table.add_row(node, str(count))
    console.print(table)


def _shape(item: dict[str, Any]) -> str:
    """Returns a shape as text, with the name, if known, and the range of each dynamic dimension: `[batch in 2..8, ?<=6, 4]`."""
    sizes = zip(item["shape"], *(item.get(key, item["shape"]) for key in ("sizes", "least", "bounds")), strict=True)
    return f"[{', '.join(map(_size, sizes))}]"


def _size(size: tuple[int | None, str | int, int, int | None]) -> str:
    extent, name, least, most = size
    if extent is not None:
        return str(extent)
    if least == 0:
        return str(name) if most is None else f"{name}<={most}"
    return f"{name}>={least}" if most is None else f"{name} in {least}..{most}"


def _print(report: dict[str, Any]) -> None:
    console = Console(highlight=False, width=width_of(sys.stdout))
    inside = sum(item.get("constant_bytes", 0) for item in report["delegates"].values())
    delegates = f", {inside} in constants of delegates" if inside else ""
    sizes = f"{report['weight_bytes']} of them in {len(report['weights'])} weights{delegates}"
    console.print(f"stage {report['stage']}, {report['file_bytes']} bytes, {sizes}")
    if report["unmeasured"] is not None:
        console.print(f"note: not all of its memory could be measured: {report['unmeasured']}", markup=False)
    for name, method in report["methods"].items():
        console.print(f"\nmethod {name}: {method['instructions']} instructions", style="bold")
        if memory := method.get("memory"):
            scratch = "unknown" if memory["scratch"] is None else memory["scratch"]
            banks = "" if memory["banks"] is None else f" in the banks {', '.join(memory['banks'])}"
            parts = f"arenas {list(memory['arenas'])}{banks}, method {memory['method']}, kernels {scratch}"
            if memory["delegates"] != 0:
                parts += f", delegates {'unknown' if memory['delegates'] is None else memory['delegates']}"
            console.print(f"  memory {memory['total']} bytes: {parts}", markup=False)
        for kind in ("inputs", "outputs"):
            for item in method[kind]:
                shape = f" {item['dtype']} {_shape(item)}" if "shape" in item else f" {item['type']}"
                order = f" dim order {item['dim_order']}" if "dim_order" in item else ""
                console.print(f"  {kind[:-1]} {item['name']}:{shape}{order}", markup=False)
        table = Table("operator", "calls", box=None, header_style="bold")
        for operator, count in sorted(method["operators"].items(), key=lambda item: (-item[1], item[0])):
            table.add_row(operator, str(count))
        for delegate, count in method.get("delegates", {}).items():
            table.add_row(f"delegate {delegate} ({report['delegates'].get(delegate, {}).get('backend', 'unknown backend')})", str(count))
        console.print(table)
    for name, delegate in report["delegates"].items():
        _print_delegate(console, name, delegate)
    if report["weights"]:
        table = Table("weight", "type", "bytes", box=None, header_style="bold")
        for item in report["weights"][:20]:
            table.add_row(item["name"], f"{item['dtype']} {item['shape']}", str(item["bytes"]))
        if len(report["weights"]) > 20:
            rest = report["weights"][20:]
            table.add_row(f"and {len(rest)} more", "", str(sum(item["bytes"] for item in rest)))
        console.print(table)
