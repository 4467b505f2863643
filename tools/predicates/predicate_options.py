"""The predicate that command-line options describe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_text
from flambeau.passes.manager import Pipeline
from flambeau.tools.predicates.crash import Crash
from flambeau.tools.predicates.output_checks import FileCheck, Script
from flambeau.tools.predicates.predicate import Predicate, PredicateError, Question, run_pipeline
from flambeau.tools.predicates.wrong_result import WrongResult
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs


@dataclass(frozen=True)
class PredicateOptions:
    """The predicate of a command line. By default, it is a crash if the pipeline fails, else a wrong result."""

    pipeline: Annotated[
        str, typer.Option("-p", "--passes", "--pass-pipeline", metavar="PIPELINE", help="the passes whose output the predicate judges")
    ] = ""
    wrong_result: Annotated[bool, typer.Option("--wrong-result", help="predicate: the pipeline changes the result")] = False
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="NUMBER",
            help="how far float32 results may lie apart, relative to the largest number; other dtypes alike",
        ),
    ] = None
    inputs: Annotated[
        Path | None, typer.Option("--inputs", metavar="FILE.npz", help="an .npz file of inputs by name; made up by default")
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="the seed of the made-up inputs")] = 0
    crash: Annotated[bool, typer.Option("--crash", help="predicate: the pipeline fails")] = False
    error: Annotated[
        str | None,
        typer.Option("--error", metavar="REGEX", help="predicate: the pipeline fails with a message that this expression matches"),
    ] = None
    filecheck: Annotated[
        Path | None, typer.Option("--filecheck", metavar="FILE", help="predicate: the pipeline's output passes the checks of this file")
    ] = None
    script: Annotated[
        str | None,
        typer.Option("--script", metavar="COMMAND", help="predicate: this command, given the path of the pipeline's output, ends with 0"),
    ] = None
    negated: Annotated[bool, typer.Option("--not", help="predicate: --filecheck or --script fails instead")] = False
    timeout: Annotated[
        float,
        typer.Option(
            "--script-timeout", metavar="SECONDS", help="seconds after which a script is stopped, and the predicate does not hold"
        ),
    ] = 60.0


def make_predicate(options: PredicateOptions, module: ModuleOp, context: FlambeauContext) -> Predicate:
    """Returns the predicate of a command line, for a module.

    Raises:
        PredicateError: options contradict each other, or files are invalid.
        PipelineError: the pipeline does not parse.
    """
    pipeline = Pipeline.parse(options.pipeline) if options.pipeline else Pipeline.of([])
    return Predicate(pipeline, _question(options, pipeline, module, context))


def _question(options: PredicateOptions, pipeline: Pipeline, module: ModuleOp, context: FlambeauContext) -> Question:
    is_crash = options.crash or options.error is not None
    is_wrong = options.wrong_result or options.inputs is not None or options.tolerance is not None
    if is_crash + is_wrong + (options.filecheck is not None) + (options.script is not None) > 1:
        raise PredicateError("give one predicate only: a wrong result, a crash, FileCheck or a script")
    if not options.timeout > 0:
        raise PredicateError(f"the time that a script may take must be more than 0 s, got {options.timeout}")
    if options.negated and options.filecheck is None and options.script is None:
        raise PredicateError("--not is for --filecheck and --script")
    if options.filecheck is not None:
        read_text(options.filecheck)
        return FileCheck(options.filecheck, options.negated)
    if options.script is not None:
        return Script(options.script, options.negated, options.timeout)
    if options.error is not None:
        try:
            re.compile(options.error)
        except (re.error, OverflowError, RecursionError) as error:
            raise PredicateError(f"--error {options.error!r} is not a regular expression: {error}") from error
    if not is_crash and not is_wrong and not pipeline.elements:
        raise PredicateError("give a pipeline (-p), or a predicate that needs none: --script or --filecheck")
    if not is_wrong and (is_crash or run_pipeline(pipeline, module, context).error is not None):
        return Crash(options.error)
    return WrongResult(_semantics(options))


def _semantics(options: PredicateOptions) -> SemanticsOptions:
    try:
        return SemanticsOptions(options.tolerance, None if options.inputs is None else load_inputs(options.inputs), options.seed)
    except ValueError as error:
        raise PredicateError(str(error)) from error
