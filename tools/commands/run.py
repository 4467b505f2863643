"""`flambeau run`: runs a program on inputs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import ml_dtypes
import numpy as np
import typer
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.compiler.stages import stage_of
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.support.files import no_file
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.commands.bundled_cases import run_test_cases
from flambeau.tools.commands.console import print_json, stderr_console, working
from flambeau.tools.commands.delegate_summary import how_delegates_run
from flambeau.tools.commands.engines import EngineError, default_engine, make_engine
from flambeau.tools.commands.model_source import load_program
from flambeau.tools.commands.output_paths import check_outputs
from flambeau.tools.commands.shared_options import DataPaths, LoadPlugins, Threads


def parse_input(text: str) -> Any:
    """Parses an input on the command line: a `.npy` file, a number, `true`, `false` or `none`. Raises ValueError."""
    words: dict[str, bool | None] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    path = Path(text)
    if not path.is_file():
        raise EngineError(no_file(text))
    try:
        loaded: Any = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise EngineError(f"{text} is not a .npy file of numbers") from error
    if not isinstance(loaded, np.ndarray):
        raise EngineError(f"{text} is not a .npy file: give each input a file of its own, written with numpy.save")
    # numpy does not know bfloat16 and writes it as a type of two bytes.
    array = cast("np.ndarray[Any, Any]", loaded)
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


def parse_backend_options(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """Parses `NAME.OPTION=VALUE` into options by backend. Raises EngineError."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        place, equal, value = text.partition("=")
        name, _, option = place.partition(".")
        if not (name and option and equal):
            raise EngineError(f"--backend-option is NAME.OPTION=VALUE, as in npu.threads=2; not {text!r}")
        found.setdefault(name, {})[option] = value
    return found


def _takes_inputs(module: ModuleOp, method: str) -> bool:
    """Returns whether a method of a planned module has inputs."""
    methods = (op for op in module.body.block.ops if isinstance(op, MethodOp) and op.sym_name.data == method)
    return any(bool(op.terminator.inputs) for op in methods)


def run_command(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte or .bpte, or a .mlir of any stage")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="VALUE", help="a .npy file, a number, true, false or none; one per input")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE.npz", help="an .npz file for the outputs")] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="the method to run, by default forward; with --bundled by default all methods with test cases"),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="ENGINE", help="c, numpy or torch (only for aten); by default chosen for the program")
    ] = None,
    backend_options: Annotated[
        list[str] | None,
        typer.Option(
            "--backend-option",
            metavar="NAME.OPTION=VALUE",
            help="for the engine c: an option of the backend NAME, as in npu.threads=2; may be repeated",
        ),
    ] = None,
    threads: Threads = 1,
    bundled: Annotated[
        bool, typer.Option("--bundled", help="run the test cases that PROGRAM, a .bpte, holds, and compare their outputs")
    ] = False,
    rtol: Annotated[float, typer.Option(metavar="R", min=0, help="with --bundled: the relative tolerance of outputs")] = 1e-2,
    atol: Annotated[float, typer.Option(metavar="A", min=0, help="with --bundled: the absolute tolerance of outputs")] = 1e-2,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="run this often and report the times")] = 1,
    data_path: DataPaths = None,
    load_plugin: LoadPlugins = None,
    json: Annotated[bool, typer.Option("--json", help="print outputs and times as JSON on stdout")] = False,
) -> None:
    """Run PROGRAM on inputs."""
    if output is not None and output.suffix != ".npz":
        raise EngineError(f"--output {output}: outputs are written as an .npz file")
    check_outputs([("--output", output, "npz")], program, *(inputs or ()), *(data_path or ()))
    if bundled:
        if inputs or output is not None or repeat > 1:
            raise EngineError("--bundled takes neither --input nor --output nor --repeat: the test cases have their inputs")
        options = parse_backend_options(backend_options or ())
        if not run_test_cases(program, data_path or (), method, engine, options, threads=threads, rtol=rtol, atol=atol, json=json):
            raise typer.Exit(1)
        return
    method = method or "forward"
    context = FlambeauContext()
    module, pte = load_program(program, context, data_path or ())
    names = [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp | MethodOp)]
    if names and method not in names:
        near = did_you_mean(method, names)
        raise EngineError(f"there is no method {method!r}{near}; --method names one of {', '.join(names)}")
    runner = make_engine(engine, module, context, method, pte, parse_backend_options(backend_options or ()), threads)
    if not inputs and program.suffix == ".bpte" and _takes_inputs(module, method):
        raise EngineError(f"{program}: --input gives the inputs of its program; --bundled runs the bundled test cases")
    values = [parse_input(text) for text in inputs or ()]
    console = stderr_console()
    times: list[float] = []
    results: list[Any] = []
    with working(console, f"running {program}"):
        for _ in range(repeat):
            start = time.perf_counter()
            results = runner(values)
            times.append((time.perf_counter() - start) * 1e3)
    arrays = {f"output_{index}": np.asarray(value) for index, value in enumerate(results) if value is not None}
    for line in how_delegates_run(module, method, engine or default_engine(module, pte)):
        console.print(line)
    if output is not None:
        np.savez(output, **arrays)  # pyright: ignore[reportArgumentType] - numpy's stub takes a keyword of its own for one of ours
    if json:
        report: dict[str, Any] = {"stage": stage_of(module), "milliseconds": times}
        report["outputs"] = {name: array.tolist() for name, array in arrays.items()} if output is None else str(output)
        print_json(report, indent=None)
        return
    if output is None:
        for name, array in arrays.items():
            print(f"{name}: {array.dtype} {list(array.shape)}")
            print(np.array2string(array, threshold=64, precision=6))
    if repeat > 1:
        console.print(f"{repeat} runs: median {statistics.median(times):.3f} ms, least {min(times):.3f} ms")
