"""`flambeau`: compile, run and inspect programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import typer

from flambeau.dialects.text.source_text import Source
from flambeau.passes.manager import PassCrash, PassError
from flambeau.passes.manager.registry import PIPELINE_FILE, PipelineError
from flambeau.plugins.loader import plugin_scope
from flambeau.support.terminal import wants_colour
from flambeau.tools.commands.bisect import bisect_command
from flambeau.tools.commands.compare_numerics import numerics_command
from flambeau.tools.commands.compile import compile_command
from flambeau.tools.commands.inspect import inspect_command
from flambeau.tools.commands.lsp import lsp_command
from flambeau.tools.commands.new import new_command
from flambeau.tools.commands.quantize_program import quantize_command
from flambeau.tools.commands.reduce import reduce_command
from flambeau.tools.commands.run import run_command
from flambeau.tools.commands.shared_options import takes_options
from flambeau.tools.commands.test_backend import test_backend_command
from flambeau.tools.commands.unknown_options import CompileCommand, PredicateCommand
from flambeau.tools.environment import env_command
from flambeau.tools.kernels_command import kernels_command
from flambeau.tools.message_command import message_command
from flambeau.tools.opt.help import versions
from flambeau.tools.plugin_loading import load_from_environment
from flambeau.tools.process import BROKEN_PIPE, CRASHED, INTERRUPTED, forget_stdout, room_for_nesting, standard_streams
from flambeau.tools.profiling.diff import diff_command
from flambeau.tools.profiling.memory_command import memory_command
from flambeau.tools.profiling.profile import profile_command
from flambeau.tools.profiling.size import size_command
from flambeau.tools.profiling.targets import targets_command
from flambeau.tools.rendering.diagnostics_rendering import Renderer, diagnostics_of, files_of, internal_error, warnings_on_stderr
from flambeau.tools.rendering.legality_report import above_table, legality_table
from flambeau.tools.report.report_command import report_command
from flambeau.tools.tuning.tune_command import tune_command

app = typer.Typer(
    name="flambeau",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_versions(wanted: bool) -> None:
    if wanted:
        print(versions(), end="")
        raise typer.Exit


@app.callback()
def _flambeau(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_versions, is_eager=True, help="print the versions of Flambeau, xDSL and Python")
    ] = False,
) -> None:
    """Takes PyTorch programs to devices, through compiler IR that can be read, run and changed."""


app.command("compile", cls=CompileCommand)(takes_options(compile_command))
app.command("targets")(targets_command)
app.command("quantize")(takes_options(quantize_command))
app.command("run")(run_command)
app.command("inspect")(inspect_command)
app.command("profile")(profile_command)
app.command("tune")(tune_command)
app.command("size")(size_command)
app.command("memory")(memory_command)
app.command("kernels")(kernels_command)
app.command("diff")(diff_command)
app.command("report")(report_command)
app.command("numerics")(numerics_command)
app.command("bisect", cls=PredicateCommand)(takes_options(bisect_command))
app.command("reduce", cls=PredicateCommand)(takes_options(reduce_command))
app.command("new")(new_command)
app.command("test-backend")(test_backend_command)
app.command("env")(env_command)
app.command("message")(message_command)
app.command("lsp")(lsp_command)


@cache
def _command() -> Callable[..., object]:
    """Returns the group of commands, which Typer would build from every signature at each call."""
    return typer.main.get_command(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool on `argv` (`sys.argv[1:]` by default); returns the exit status. Failures are printed on stderr."""
    try:
        with standard_streams(), plugin_scope(), room_for_nesting(), warnings_on_stderr():
            load_from_environment()
            _command()(args=None if argv is None else list(argv), standalone_mode=True)
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
    """Returns a failure as text for the user: message, position in the text, location in the model, files that say more."""
    renderer = Renderer(colour, show_changes=isinstance(error, PassError))
    if isinstance(error, PipelineError) and error.text is not None:
        renderer.sources[PIPELINE_FILE] = Source(error.text, PIPELINE_FILE)
    diagnostics = diagnostics_of(error) or (internal_error(error),)
    table = legality_table(error)
    shown = above_table(error, diagnostics) if table else diagnostics
    return renderer.render(*shown) + table + renderer.render(*files_of(error))


if __name__ == "__main__":
    sys.exit(main())
