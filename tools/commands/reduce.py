"""`flambeau reduce`: shrinks IR while a predicate holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from flambeau.dialects.ir.weight_files import weights_beside
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_text
from flambeau.support.files import write_text
from flambeau.tools.commands.console import ProgressLine, print_json, stderr_console, working
from flambeau.tools.commands.output_paths import check_output
from flambeau.tools.commands.shared_options import AllowUnregistered, AsJson, LoadPlugins, PredicateFile
from flambeau.tools.predicates.new_process import ask_in_new_process
from flambeau.tools.predicates.predicate import Verdict
from flambeau.tools.predicates.predicate_input import STDIN, read_predicate_input
from flambeau.tools.predicates.predicate_options import PredicateOptions, make_predicate
from flambeau.tools.reduction import Reduction, ReductionError, ReductionResult
from flambeau.tools.reduction.reducers import all_reducers
from flambeau.tools.reduction.reducers.reduce_texts import LocationsReducer, NamesReducer

_STOPS = {"timeout": "the time is up", "limit": "the limit of tests is reached", "interrupt": "interrupted"}


def reduce_command(
    file: PredicateFile,
    options: PredicateOptions,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.mlir", help="the .mlir to write; weights go beside it")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="seconds after which the smallest module so far is the result")
    ] = None,
    max_tests: Annotated[int | None, typer.Option(metavar="N", min=1, help="how often the predicate may be evaluated")] = None,
    keep_locations: Annotated[bool, typer.Option("--keep-locations", help="leave locations as they are")] = False,
    keep_names: Annotated[bool, typer.Option("--keep-names", help="leave the names of values as they are")] = False,
    allow_unregistered_dialect: AllowUnregistered = False,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Shrink the IR in FILE while a predicate holds.

    Without a predicate: the pipeline fails as it does on FILE, or changes the result if it does not fail.
    """
    path = output or Path(f"{'stdin' if file == STDIN else file.stem}-reduced.mlir")
    if path.suffix != ".mlir":
        raise ReductionError(f"--output {path}: the input and the result are .mlir files")
    check_output(path, "mlir", file)
    weights = weights_beside(path)
    if weights.exists() and not (path.is_file() and "#flambeau.blob<" in read_text(path)):
        raise ReductionError(f"{weights} exists, and there is no {path} that it belongs to: name another file to write with -o")
    given = read_predicate_input(file, options, allow_unregistered=allow_unregistered_dialect)
    parsed, context, options = given.parsed, given.context, given.options
    predicate = make_predicate(options, parsed.module, context)
    verdict = predicate.ask(parsed.module, context)
    if not verdict:
        raise ReductionError(f"{file}: there is nothing to reduce: the predicate is that {predicate.description}, but {verdict.detail}")
    console = stderr_console()
    with working(console, f"reducing {file}") as status:
        progress = ProgressLine(console, status, "reducing")
        reduction = Reduction(parsed.module, context, predicate.like(verdict), timeout=timeout, max_tests=max_tests, on_progress=progress)
        unwanted = (*([LocationsReducer] if keep_locations else []), *([NamesReducer] if keep_names else []))
        try:
            reduction.run([reducer for reducer in all_reducers(context.blobs) if not isinstance(reducer, unwanted)])
        finally:
            if reduction.begun:
                _write(reduction.result, context, path)
        if not reduction.begun:
            raise ReductionError(f"{file}: the predicate was not asked before the time was up")
    # A pass may keep state between runs; a new process shows the result without it.
    verdict = ask_in_new_process(path, predicate, options, allow_unregistered=given.allow_unregistered)
    if not verdict:
        raise ReductionError(
            f"{path}: this is not reproducible: the predicate held for this module, but does not in a new process: {verdict.detail}"
        )
    _report(console, file, path, reduction.result, verdict, json)


def _write(result: ReductionResult, context: FlambeauContext, path: Path) -> None:
    write_text(path, result.text)
    weights = weights_beside(path)
    if not save_weights(result.module, context.blobs, weights):
        weights.unlink(missing_ok=True)  # the weights of an earlier result


def _report(console: Console, file: Path, path: Path, result: ReductionResult, verdict: Verdict, json: bool) -> None:
    if json:
        fields = ("operations_before", "operations", "tests", "invalid", "repeated", "seconds", "stopped")
        report: dict[str, Any] = {"input": str(file), "output": str(path), **{name: getattr(result, name) for name in fields}}
        report |= {"accepted": dict(result.accepted), "detail": verdict.detail}
        print_json(report)
        return
    reason = "" if result.stopped is None else f"; not to the end: {_STOPS[result.stopped]}"
    effort = f"{result.tests} tests and {result.seconds:.1f} s"
    text = f"{path}: {result.operations} operations, from {result.operations_before}, in {effort}{reason}"
    console.print(text)
    console.print(f"the result still shows: {verdict.detail}")
