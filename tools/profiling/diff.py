"""`flambeau diff`: compares two programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.memory_report import methods_of
from flambeau.compiler.scratch_memory import measure_scratch
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module
from flambeau.runtime.emit.pte_writer import EmitError
from flambeau.runtime.interpreter.inputs import generate_inputs
from flambeau.runtime.pte import PROGRAM_SUFFIXES
from flambeau.tools.commands.console import print_json, width_of
from flambeau.tools.commands.engines import EngineError, make_engine
from flambeau.tools.commands.model_source import load_program
from flambeau.tools.commands.program_description import describe_program
from flambeau.tools.commands.shared_options import AsJson, DataPaths, LoadPlugins
from flambeau.tools.profiling.latency import TimedProgram, latencies

Facts = Mapping[str, int | float | str]

LATENCY = "latency, ms (p50)"


@dataclass(frozen=True)
class _Given:
    """A program to compare, and its bytes if it is a `.pte`."""

    path: Path
    module: ModuleOp
    pte: bytes | None
    context: FlambeauContext


def diff_command(
    first: Annotated[Path, typer.Argument(metavar="A", help="a .pte, or a .mlir of any stage")],
    second: Annotated[Path, typer.Argument(metavar="B", help="the program to compare with A")],
    latency: Annotated[int, typer.Option(metavar="N", min=0, help="run both N times in turns in the C runtime, on made-up inputs")] = 0,
    method: Annotated[str, typer.Option(metavar="NAME", help="the method that --latency runs")] = "forward",
    ir: Annotated[bool, typer.Option("--ir", help="print the changes of the IR too, line by line")] = False,
    data_path: DataPaths = None,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Show in what A and B differ: inputs and outputs, operators, memory, bytes, and latency when asked."""
    contexts = [FlambeauContext(), FlambeauContext()]
    paths = (first, second)
    files = data_path or ()
    loaded = [
        load_program(path, context, files if path.suffix in PROGRAM_SUFFIXES else ()) for path, context in zip(paths, contexts, strict=True)
    ]
    programs = [_Given(path, *found, context) for path, found, context in zip(paths, loaded, contexts, strict=True)]
    facts = [dict(_facts(program)) for program in programs]
    if latency:
        for known, time in zip(facts, latencies([_planned(program, method) for program in programs], latency), strict=True):
            known[LATENCY] = time
    names = sorted(dict.fromkeys((*facts[0], *facts[1])), key=lambda name: name == LATENCY)
    changed = [name for name in names if facts[0].get(name) != facts[1].get(name)]
    lines = _ir_changes(*programs) if ir else []
    if json:
        rows = [{"name": name, "a": facts[0].get(name), "b": facts[1].get(name)} for name in changed]
        print_json({"a": str(first), "b": str(second), "differences": rows} | ({"ir": lines} if ir else {}))
        return
    console = Console(highlight=False, width=width_of(sys.stdout))
    if not changed:
        console.print("no difference in inputs, outputs, operators, memory and bytes")
    else:
        console.print(_table(changed, facts[0], facts[1], first, second))
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _facts(program: _Given) -> Iterator[tuple[str, int | float | str]]:
    if program.pte is not None:
        try:
            measure_scratch(program.module, program.context, program.pte)
        except EmitError:
            pass  # memory is not compared then
    report = describe_program(program.module, program.context)
    yield "stage", report["stage"]
    yield "bytes of the file", program.path.stat().st_size
    yield "bytes of weights", report["weight_bytes"]
    yield "weights", len(report["weights"])
    for name, found in report["methods"].items():
        for kind in ("inputs", "outputs"):
            for item in found[kind]:
                yield f"{name}: {kind[:-1]} {item['name']}", _kind(item)
        yield f"{name}: instructions", found["instructions"]
        if (memory := found.get("memory")) is not None:
            yield f"{name}: bytes of memory", memory["total"]
            yield f"{name}: bytes of arenas", sum(memory["arenas"])
        for operator, count in found["operators"].items():
            yield f"{name}: {operator}", count
        for delegate, count in found.get("delegates", {}).items():
            yield f"{name}: delegate {delegate}", count
    for name, delegate in report["delegates"].items():
        for node, count in delegate.get("nodes", {}).items():
            yield f"delegate {name}: {node}", count
        if "bytes" in delegate:
            yield f"delegate {name}: bytes", delegate["bytes"]


def _kind(item: Mapping[str, Any]) -> str:
    if "shape" not in item:
        return str(item["type"])
    order = f" dim order {item['dim_order']}" if "dim_order" in item else ""
    return f"{item['dtype']} [{', '.join(map(str, item.get('sizes', item['shape'])))}]{order}"


def _planned(program: _Given, method: str) -> TimedProgram:
    """Returns a function that makes the inputs of a method, and one that runs it. Raises EngineError."""
    known = methods_of(program.module)
    if method not in known:
        raise EngineError(f"{program.path}: --latency runs planned programs, and this one has no planned method {method!r}")
    return lambda: generate_inputs(known[method], seed=0), make_engine("c", program.module, program.context, method, program.pte)


def _ir_changes(first: _Given, second: _Given) -> list[str]:
    before, after = (print_module(program.module).splitlines() for program in (first, second))
    return list(unified_diff(before, after, str(first.path), str(second.path), n=1, lineterm=""))


def _table(changed: list[str], a: Facts, b: Facts, first: Path, second: Path) -> Table:
    table = Table("", box=None, header_style="bold")
    for head in (str(first), str(second), "change"):
        table.add_column(head, justify="right")
    for name in changed:
        table.add_row(name, _shown(a.get(name)), _shown(b.get(name)), _change(a.get(name), b.get(name)))
    return table


def _shown(value: float | str | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _change(before: float | str | None, after: float | str | None) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return ""
    if not before or not after:
        return f"{(after or 0) - (before or 0):+}"
    return f"{100 * (after - before) / before:+.1f} %"
