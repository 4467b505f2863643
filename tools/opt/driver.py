"""`flambeau-opt`: parse modules, run a pipeline over each, verify, print."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.diagnostics import Diagnostic, Severity, listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import ParsedModule, parse_module, verify_parsed
from flambeau.dialects.text.operation_text import operation_text
from flambeau.dialects.text.source_text import Source
from flambeau.passes.manager import Instrumentation, PassCrash, PassError, PassStep, Pipeline
from flambeau.passes.manager.registry import PIPELINE_FILE, PipelineError
from flambeau.plugins.loader import plugin_scope
from flambeau.support.collector import collector_paused
from flambeau.support.files import naming
from flambeau.support.terminal import wants_colour
from flambeau.tools.opt.argument_parser import SPLIT_MARKER, make_parser
from flambeau.tools.opt.expectations import Expectations
from flambeau.tools.opt.groups import GROUPS
from flambeau.tools.opt.groups.printing_options import printing_options
from flambeau.tools.opt.input import is_program, near_markers, read_input, split
from flambeau.tools.opt.option_group import Chunk
from flambeau.tools.opt.result_files import OutputWeights, check_reports
from flambeau.tools.plugin_loading import load_from_environment
from flambeau.tools.process import BROKEN_PIPE, CRASHED, INTERRUPTED, forget_stdout, room_for_nesting, standard_streams
from flambeau.tools.rendering.diagnostics_rendering import Renderer, diagnostics_of, files_of, internal_error, placed

_NO_WEIGHTS = "the text came through a pipe, which takes no weights along: --weights FILE names that file, -o FILE writes both"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool on `argv` (`sys.argv[1:]` by default).

    Returns:
        The exit status: 0, 1 after an error, 70 after an internal one.
    """
    with standard_streams(), plugin_scope():
        try:
            status = _main(argv)
            with naming("<stdout>"):
                sys.stdout.flush()
            return status
        except BrokenPipeError:
            forget_stdout()
            return BROKEN_PIPE
        except KeyboardInterrupt as interrupt:
            print(str(interrupt) or "interrupted", file=sys.stderr)
            return INTERRUPTED
        except OSError as error:
            return _refuse(error)  # such as a full disk, when the last of the output is written


def _main(argv: Sequence[str] | None) -> int:
    parser = make_parser()
    try:
        load_from_environment()
        with naming("<stdout>"):  # some options print to stdout
            arguments = parser.parse_args(argv)
        check_reports(arguments)
        for group in GROUPS:
            group.check(parser, arguments)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        return _refuse(error)  # some options load and print
    if argv is None:
        gc.freeze()  # in a process of its own: imported objects live until the end, so the collector need not scan them
    tool = _Tool(arguments)
    with collector_paused(), room_for_nesting():
        try:
            return tool.run()
        except BrokenPipeError:
            raise
        except Exception as error:
            return tool.fail(error)


def _refuse(error: Exception) -> int:
    """Shows an error that ends the tool before or after its work on modules; returns the exit status."""
    sys.stderr.write(Renderer(wants_colour(sys.stderr)).render(*diagnostics_of(error) or (internal_error(error),)))
    return 1


class _CurrentPass(Instrumentation):
    """An instrumentation that records the running pass, to attribute warnings and remarks to it."""

    def __init__(self) -> None:
        self.name: str | None = None

    def before_pass(self, step: PassStep) -> None:
        self.name = step.name


class _Tool:
    """One run of the tool."""

    def __init__(self, arguments: argparse.Namespace):
        self._arguments = arguments
        self._renderer = Renderer(wants_colour(sys.stderr) if arguments.color is None else arguments.color)
        self._status = 0
        self._weights = OutputWeights()
        self._blobs = BlobStore()
        """The weights that the input itself holds."""

    def run(self) -> int:
        arguments = self._arguments
        pipeline = self._pipeline()
        whole = read_input(arguments.input, self._blobs)
        marker = arguments.split_input_file
        sources = split(whole, marker) if marker else [whole]
        if marker:
            self._renderer.sources[whole.file] = whole
            self._print(*near_markers(whole, marker))
        outputs: list[str] = []
        try:
            with redirect_stdout(sys.stderr):  # the output of passes is not IR
                for number, source in enumerate(sources):
                    outputs.append(self._chunk(source, pipeline, number))
        finally:
            for group in GROUPS:
                group.finish(arguments)
        result = f"{arguments.output_split_marker or marker or SPLIT_MARKER}\n".join(outputs)
        if arguments.output == "-":
            with naming("<stdout>"):
                sys.stdout.write(result)
        elif self._status == 0:
            self._weights.write(result, arguments.output, arguments.input)
        return self._status

    def fail(self, error: Exception) -> int:
        """Reports the error that ended the tool; returns the exit status."""
        diagnostics = diagnostics_of(error)
        if diagnostics is not None and not isinstance(error, PassCrash):
            if isinstance(error, PipelineError) and error.text is not None:
                self._renderer.sources[PIPELINE_FILE] = Source(error.text, PIPELINE_FILE)
            self._print(*diagnostics)
            return 1
        if os.environ.get("FLAMBEAU_DEBUG"):
            raise error
        self._print(internal_error(error), *files_of(error))
        return CRASHED

    def _pipeline(self) -> Pipeline:
        pipeline = Pipeline.of([])
        if self._arguments.passes:
            pipeline = Pipeline.parse(self._arguments.passes)
        if self._arguments.dump_pass_pipeline:
            print(pipeline, file=sys.stderr)
        return pipeline

    def _chunk(self, source: Source, pipeline: Pipeline, number: int) -> str:
        """Processes one module; returns its printed result, empty after an error."""
        self._renderer.sources[source.file] = source
        report = _Report(self._print, source, self._arguments)
        text = self._process(source, pipeline, number, report)
        if not report.finish():
            self._fail(1)
        return text

    def _process(self, source: Source, pipeline: Pipeline, number: int, report: _Report) -> str:
        arguments = self._arguments
        context = FlambeauContext(allow_unregistered=arguments.allow_unregistered_dialect, blobs=self._blobs.copy())
        try:
            for path in arguments.weights:
                context.blobs.open(path)
            if arguments.input != "-" and not is_program(arguments.input):
                context.blobs.open_beside(arguments.input)
            elif arguments.input == "-" and not arguments.weights:
                context.blobs.note_absence(_NO_WEIGHTS)
            with self._phase("parse"):
                report.parsed = parsed = parse_module(source.text, context, source.file, line_offset=source.line_offset, locate=True)
            with self._phase("verify"):
                verify_parsed(parsed)
            with self._phase("passes"), listening(report.emitted, report.listens_to):
                run_pipeline(Chunk(parsed, context, pipeline, number, arguments), (report.watcher,))
            with self._phase("print"):
                text = operation_text(parsed.module, printing_options(arguments))
            if arguments.output != "-":
                self._weights.add(parsed.module, context.blobs)
            return text
        except Exception as error:
            diagnostics = diagnostics_of(error)
            if diagnostics is None:
                self._fail(self.fail(error))
            elif isinstance(error, PassError):
                self._pass_failed(error, report)
            elif not report.add(*diagnostics):
                self._fail(1)
            report.show_stack(error)
            return ""

    def _pass_failed(self, error: PassError, report: _Report) -> None:
        """Reports a failed pass, and where its IR was written."""
        crashed = isinstance(error, PassCrash)
        if crashed and os.environ.get("FLAMBEAU_DEBUG"):
            raise error
        from flambeau.tools.rendering.legality_report import above_table, legality_table

        table = legality_table(error, report.parsed)
        self._renderer.show_changes = True
        judged = report.add(*error.diagnostics, shown=above_table(error, error.diagnostics) if table else None)
        self._renderer.show_changes = False
        if not judged:
            sys.stderr.write(table)
            self._print(*files_of(error))
            self._fail(CRASHED if crashed else 1)

    def _fail(self, status: int) -> None:
        self._status = max(self._status, status)

    def _print(self, *diagnostics: Diagnostic) -> None:
        sys.stderr.write(self._renderer.render(*diagnostics))

    @contextmanager
    def _phase(self, name: str) -> Generator[None, None, None]:
        with ExitStack() as stack:
            for group in GROUPS:
                stack.enter_context(group.phase(name, self._arguments))
            yield


class _Report:
    """The receiver of the diagnostics of one chunk: shows them, or matches them with the comments that expect them."""

    def __init__(self, output: Callable[..., None], source: Source, arguments: argparse.Namespace):
        self.parsed: ParsedModule | None = None
        self.watcher = _CurrentPass()
        self._print = output
        self._remarks = re.compile(arguments.remarks or "")
        self.listens_to: tuple[Severity, ...] = ("warning",) if arguments.remarks is None else ("warning", "remark")
        self._shows_stacks: bool = arguments.print_stacktrace_on_diagnostic
        if arguments.why_not:
            self.listens_to = (*self.listens_to, "note")
        level = arguments.verify_diagnostics
        self._expectations = Expectations(source, only_expected=level == "only-expected") if level else None
        if self._expectations is not None and "remark" in self._expectations.severities:
            self.listens_to = (*self.listens_to, "remark")

    def emitted(self, diagnostic: Diagnostic) -> None:
        """Receives a warning or remark of a pass."""
        message = f"{self.watcher.name}: {diagnostic.message}" if self.watcher.name else diagnostic.message
        if diagnostic.severity != "remark" or self._remarks.search(message):
            self.add(replace(diagnostic, message=message))
            self.show_stack(None)

    def show_stack(self, error: Exception | None) -> None:
        """Prints, if requested, the stack of the root cause of an error, or the current stack without one."""
        if not self._shows_stacks:
            return
        import traceback

        while error is not None and error.__cause__ is not None and isinstance(error.__cause__, Exception):
            error = error.__cause__
        lines = traceback.format_stack() if error is None else traceback.format_tb(error.__traceback__)
        sys.stderr.write("".join(["from here, the innermost call last:\n", *lines]))

    def add(self, *diagnostics: Diagnostic, shown: Sequence[Diagnostic] | None = None) -> bool:
        """Receives diagnostics, shown as they are or in another form; returns whether comments of the text judge them."""
        if self._expectations is None:
            self._print(*map(self._placed, diagnostics if shown is None else shown))
            return False
        for diagnostic in map(self._placed, diagnostics):
            self._expectations.see(diagnostic)
        return True

    def _placed(self, diagnostic: Diagnostic) -> Diagnostic:
        return diagnostic if self.parsed is None else placed(diagnostic, self.parsed)

    def finish(self) -> bool:
        """Returns whether all expected diagnostics came, and no others; reports the deviations."""
        problems = self._expectations.finish() if self._expectations else ()
        if problems:
            self._print(*problems)
        return not problems


def run_pipeline(chunk: Chunk, watchers: Sequence[Instrumentation] = ()) -> None:
    """Runs the pipeline over one chunk, watched as the options ask. Raises PassError."""
    instrumentations = [*watchers, *(item for group in GROUPS for item in group.instrumentations(chunk))]
    verify_each: bool = chunk.arguments.verify_each
    chunk.pipeline.run(chunk.parsed.module, chunk.context, instrumentations, verify_each=verify_each)


if __name__ == "__main__":
    sys.exit(main())
