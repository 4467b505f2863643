"""`flambeau`: compile, run and inspect programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flambeau.dialects.text.source_text import Source
from flambeau.passes.manager import PassCrash, PassError
from flambeau.passes.manager.registry import PIPELINE_FILE, PipelineError
from flambeau.plugins.loader import plugin_scope
from flambeau.support.terminal import wants_colour
from flambeau.tools.commands import shared_options as options
from flambeau.tools.commands.bisect import bisect_command
from flambeau.tools.commands.compile import CompileOptions, compile_command
from flambeau.tools.commands.inspect import inspect_command
from flambeau.tools.commands.lsp import lsp_command
from flambeau.tools.commands.new import new_command
from flambeau.tools.commands.reduce import reduce_command
from flambeau.tools.commands.run import run_command
from flambeau.tools.commands.unknown_options import CompileCommand, PredicateCommand
from flambeau.tools.plugin_loading import load_from_environment
from flambeau.tools.predicates.predicate_options import PredicateOptions
from flambeau.tools.process import BROKEN_PIPE, CRASHED, INTERRUPTED, forget_stdout, room_for_nesting, standard_streams
from flambeau.tools.rendering.diagnostics_rendering import Renderer, diagnostics_of, files_of, internal_error
from flambeau.tools.rendering.legality_report import above_table, legality_table

app = typer.Typer(
    name="flambeau",
    help="Takes PyTorch programs to devices, through compiler IR that can be read, run and changed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command("compile", cls=CompileCommand)
def _compile(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="a .pt2 file, a .mlir file of any stage, or package.module:factory")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="the .pte to write, or the .mlir; by default the model's name in this folder"),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="NAME", help="what the program may use: a target that flambeau-opt --list-targets names")
    ] = "executorch",
    emit: Annotated[str | None, typer.Option(metavar="FORM", help="pte or mlir; by default as the output is named, or pte")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="STAGE", help="write IR: stop at aten, core, edge, exec or planned, where IR stops by default")
    ] = None,
    preserve: Annotated[list[str] | None, typer.Option(metavar="OPERATOR", help="keep this operator whole; may be given again")] = None,
    passes: Annotated[
        list[str] | None, typer.Option(metavar="STAGE:PIPELINE", help="run these passes too when STAGE is reached; may be given again")
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="hand what this backend takes to it; may be given again")
    ] = None,
    planner: Annotated[
        str,
        typer.Option(
            metavar="PLANNER", help="what plans memory, perhaps with options of plan-memory: greedy, best{alignment=64}, a plug-in's"
        ),
    ] = "best",
    check_semantics: Annotated[
        bool,
        typer.Option(
            "--check-semantics",
            help="run the program after each pass, on the model's example inputs and others, and stop at the first that changes a result",
        ),
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", min=0, help="of --check-semantics, relative to a result's largest number; for float32, others alike"
        ),
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="of --check-semantics: an .npz file of inputs by name, instead")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="of --check-semantics: makes up other inputs")] = None,
    dump_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="write the IR of each stage into this folder")] = None,
    dump_passes: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write the IR after each pass that changed it into this folder")
    ] = None,
    print_changed: Annotated[
        str | None, typer.Option(metavar="MODE", help="print to stderr what each pass changed: full, quiet, diff or cdiff (in colour)")
    ] = None,
    load_plugin: options.LoadPlugins = None,
    json: options.AsJson = False,
) -> None:
    """Compile MODEL to a .pte, or to the IR of a stage."""
    compile_command(
        model,
        CompileOptions(
            output,
            target,
            emit,
            to,
            tuple(preserve or ()),
            tuple(backend or ()),
            planner,
            tuple(passes or ()),
            check_semantics=check_semantics,
            tolerance=tolerance,
            inputs=inputs,
            seed=seed,
            dump_dir=dump_dir,
            dump_passes=dump_passes,
            print_changed=print_changed,
            json=json,
        ),
    )


@app.command("run")
def _run(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte, or a .mlir of any stage")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="VALUE", help="a .npy file, a number, true, false or none; one per input")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE.npz", help="an .npz file for the outputs")] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="the method to run")] = "forward",
    engine: Annotated[
        str | None, typer.Option(metavar="ENGINE", help="c, numpy or torch (only for aten); by default what fits the program")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="run this often and report the times")] = 1,
    load_plugin: options.LoadPlugins = None,
    json: Annotated[bool, typer.Option("--json", help="print outputs and times as JSON on stdout")] = False,
) -> None:
    """Run PROGRAM on inputs."""
    run_command(program, inputs or [], output, method=method, engine=engine, repeat=repeat, json=json)


@app.command("inspect")
def _inspect(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM", help="a .pte, or a .mlir of any stage")],
    load_plugin: options.LoadPlugins = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON on stdout")] = False,
) -> None:
    """Show methods, inputs, outputs, operators, delegates, memory and weights of PROGRAM."""
    inspect_command(program, json=json)


@app.command("bisect", cls=PredicateCommand)
@options.takes_predicate
def _bisect(
    file: options.PredicateFile,
    predicate: PredicateOptions,
    output_dir: Annotated[
        Path | None, typer.Option("-o", "--output-dir", metavar="DIR", help="the folder for the IR around the culprit")
    ] = None,
    allow_unregistered_dialect: options.AllowUnregistered = False,
    load_plugin: options.LoadPlugins = None,
    json: options.AsJson = False,
) -> None:
    """Find the pass of a pipeline, and the rewrite within it, that makes a predicate hold for FILE.

    Without a predicate: what makes the pipeline fail, or what changes the result if it does not fail.
    """
    bisect_command(file, output_dir, predicate, allow_unregistered=allow_unregistered_dialect, json=json)


@app.command("reduce", cls=PredicateCommand)
@options.takes_predicate
def _reduce(
    file: options.PredicateFile,
    predicate: PredicateOptions,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.mlir", help="the .mlir to write; weights go beside it")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="seconds after which the best so far is the result")
    ] = None,
    max_tests: Annotated[int | None, typer.Option(metavar="N", min=1, help="how often the predicate may be asked")] = None,
    keep_locations: Annotated[bool, typer.Option("--keep-locations", help="leave locations as they are")] = False,
    keep_names: Annotated[bool, typer.Option("--keep-names", help="leave the names of values as they are")] = False,
    allow_unregistered_dialect: options.AllowUnregistered = False,
    load_plugin: options.LoadPlugins = None,
    json: options.AsJson = False,
) -> None:
    """Shrink the IR in FILE while a predicate holds.

    Without a predicate: the pipeline fails as it does on FILE, or changes the result if it does not fail.
    """
    reduce_command(
        file,
        output,
        predicate,
        keep_locations=keep_locations,
        keep_names=keep_names,
        timeout=timeout,
        max_tests=max_tests,
        allow_unregistered=allow_unregistered_dialect,
        json=json,
    )


@app.command("new")
def _new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pass, dialect or backend")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="its name, such as fuse-mul-add or my_npu")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder to write into")] = Path("."),
) -> None:
    """Write the beginning of a pass, a dialect or a backend, which works and has its test."""
    new_command(kind, name, folder)


@app.command("lsp")
def _lsp(
    allow_unregistered_dialect: options.AllowUnregistered = False,
    stdio: Annotated[bool, typer.Option("--stdio", help="talk on stdin and stdout, as always; some editors say so")] = True,
    load_plugin: Annotated[
        list[Path] | None, typer.Option("--load-plugin", metavar="FILE", help="as elsewhere, but one that fails is told to the editor")
    ] = None,
) -> None:
    """Serve an editor: diagnostics, hover, definitions, references, completion for .mlir files."""
    lsp_command(load_plugin or (), allow_unregistered=allow_unregistered_dialect)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool on `argv` (`sys.argv[1:]` by default); returns the exit status. Any failure is told on stderr."""
    try:
        with standard_streams(), plugin_scope(), room_for_nesting():
            load_from_environment()
            app(args=None if argv is None else list(argv), standalone_mode=True)
    except SystemExit as end:
        if end.__context__ is not None and isinstance(
            interrupt := end.__context__.__cause__, KeyboardInterrupt
        ):  # typer ends so without a word
            print(str(interrupt) or "interrupted", file=sys.stderr)
        return end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get("FLAMBEAU_DEBUG"):
            raise
        sys.stderr.write(describe(error, colour=wants_colour(sys.stderr)))
        return CRASHED if diagnostics_of(error) is None or isinstance(error, PassCrash) else 1
    return 0


def describe(error: Exception, *, colour: bool = False) -> str:
    """A failure as people read it: what, where in the text and in the model, and which files say more."""
    renderer = Renderer(colour, show_changes=isinstance(error, PassError))
    if isinstance(error, PipelineError) and error.text is not None:
        renderer.sources[PIPELINE_FILE] = Source(error.text, PIPELINE_FILE)
    diagnostics = diagnostics_of(error) or (internal_error(error),)
    table = legality_table(error)
    shown = above_table(error) if table and isinstance(error, PassError) else diagnostics
    return renderer.render(*shown) + table + renderer.render(*files_of(error))


if __name__ == "__main__":
    sys.exit(main())
