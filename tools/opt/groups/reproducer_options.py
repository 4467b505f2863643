"""`--run-reproducer` and related options: files with everything needed to reproduce the failure of a pass."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.weight_files import check_beside, files_beside, takes_weights
from flambeau.passes.manager import Instrumentation, PassStep, Pipeline
from flambeau.support.files import same_file
from flambeau.tools.opt.groups.semantics_options import semantics_checks
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup
from flambeau.tools.opt.result_files import text_file

if TYPE_CHECKING:
    from flambeau.tools.reproducers.reproducer_file import Reproducer


class ReproducerGroup(OptionGroup):
    """The options for writing and running reproducers."""

    title = "reproducers"

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._weights: tuple[Path, ...] = ()
        self._outcome: _Outcome | None = None
        self._unread = 0
        """The modules that were not read to their end."""

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--run-reproducer",
            action="store_true",
            help="the input is a reproducer: take the pipeline and the options from its header, and say whether its error came again",
        )
        group.add_argument(
            "--crash-reproducer",
            metavar="FILE",
            type=text_file,
            help="where to leave a reproducer when a pass fails, by default a new file in the folder for temporary files; given a "
            "FILE, also a pass that aborts, is killed or never ends leaves one, which costs a print of the module before each pass",
        )
        group.add_argument(
            "--generate-reproducer",
            metavar="FILE",
            type=text_file,
            help="write a reproducer of this run, whether it fails or not",
        )
        group.add_argument("--no-reproducer", action="store_true", help="write no reproducer when a pass fails")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Reads the header of the reproducer to run; options given on the command line take priority."""
        self._forget()
        if arguments.no_reproducer and arguments.crash_reproducer:
            parser.error("--crash-reproducer and --no-reproducer contradict each other")
        taken = {Path(arguments.output).resolve(): "-o"}
        for option in ("--crash-reproducer", "--generate-reproducer"):
            name: str | None = getattr(arguments, option[2:].replace("-", "_"))
            if name is None:
                continue
            if name == "-":
                parser.error(f"{option} needs the name of a file")
            if (other := taken.setdefault(Path(name).resolve(), option)) != option:
                parser.error(f"{option} and {other} name the same file")
            try:
                _place(arguments, name, 0)
            except ValueError as error:
                parser.error(f"{option}: {error}")
        if arguments.run_reproducer:
            self._read(parser, arguments)

    def _read(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        if arguments.input == "-":
            parser.error("--run-reproducer needs the name of a file")
        from flambeau.plugins.loader import load_plugin
        from flambeau.tools.rendering.diagnostics_rendering import tell
        from flambeau.tools.reproducers.reproducer_file import read_reproducer

        found, folder = read_reproducer(arguments.input), Path(arguments.input).parent
        for name, digest in found.plugins.items():
            path = found.find(name, folder)
            if load_plugin(path).digest != digest:
                tell("warning", f"plug-in {path} has changed since {arguments.input} was written", arguments.color)
        if arguments.passes and arguments.passes != found.pipeline:
            tell("note", f"instead of the pipeline of {arguments.input}, that of the command line runs", arguments.color)
        arguments.passes = arguments.passes or found.pipeline
        arguments.verify_each &= found.verify_each
        arguments.allow_unregistered_dialect |= found.allow_unregistered
        arguments.debug_counter = arguments.debug_counter or found.debug_counters or None
        arguments.verify_roundtrip |= found.verify_roundtrip
        if arguments.check_semantics is None:
            arguments.check_semantics = found.check_semantics or None
        if arguments.check_semantics is not None:
            arguments.inputs = arguments.inputs or (str(found.find(found.inputs, folder)) if found.inputs else None)
            arguments.seed = found.seed if arguments.seed is None else arguments.seed
        self._weights = tuple(found.find(name, folder) for name in found.weights)
        self._outcome = _Outcome(found) if found.error else None

    def phase(self, name: str, arguments: argparse.Namespace) -> AbstractContextManager[None]:
        """Counts the modules."""
        self._unread += name == "parse"
        return nullcontext()

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Opens the weights of a reproducer to run, and returns the instrumentations that write requested ones and detect failures."""
        arguments = chunk.arguments
        self._unread -= 1
        opened = files_beside(arguments.input) if self._weights else []
        for path in self._weights:
            if path not in opened:
                chunk.context.blobs.open(path)
        if arguments.generate_reproducer:
            from flambeau.tools.reproducers.reproducer_file import write_reproducer

            path = _place(arguments, arguments.generate_reproducer, chunk.number)
            write_reproducer(path, chunk.parsed.module, chunk.pipeline, chunk.context, _settings(arguments))
        outcome = () if self._outcome is None else (self._outcome,)
        if arguments.crash_reproducer:
            path = _place(arguments, arguments.crash_reproducer, chunk.number)
            if not takes_weights(path):
                return (*outcome, _OnFailure(chunk, path))
            from flambeau.tools.reproducers.abort_reproducer import AbortReproducer

            return (*outcome, AbortReproducer(path, _settings(arguments)), _OnFailure(chunk, path))
        unwanted = arguments.no_reproducer or arguments.verify_diagnostics or arguments.run_reproducer
        return outcome if unwanted else (*outcome, _OnFailure(chunk, None))

    def finish(self, arguments: argparse.Namespace) -> None:
        """Reports whether the error of a reproducer came again, and which requested reproducers were not written."""
        from flambeau.tools.rendering.diagnostics_rendering import tell

        if self._outcome is not None:
            tell("note", self._outcome.text(arguments.input), arguments.color)
        if self._unread and arguments.generate_reproducer:
            what = "the module that was read is not valid" if self._unread == 1 else f"{self._unread} of the modules are not valid"
            tell("note", f"{what}: --generate-reproducer writes no reproducer", arguments.color)


class _Outcome(Instrumentation):
    """The outcome of running a reproducer."""

    def __init__(self, expected: Reproducer):
        self._expected = expected
        self._errors: list[str] = []
        self._ended = False

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        self._errors.append(str(error))

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        self._ended = True

    def text(self, file: str) -> str:
        expected = f"the error of {file}"
        if any(map(self._expected.is_error, self._errors)):
            return f"{expected} came again"
        if self._errors:
            return f"another error came than {expected}, which is: {self._expected.error.splitlines()[0]}"
        how = "did not come" if self._ended else "could not come: no pass ran to its end"
        return f"{expected} {how}; it is: {self._expected.error.splitlines()[0]}"


class _OnFailure(Instrumentation):
    """An instrumentation that writes a reproducer when a pass fails; the code for this is loaded only then."""

    def __init__(self, chunk: Chunk, path: Path | None):
        self._chunk = chunk
        self._path = path

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        from flambeau.tools.reproducers.crash_reproducer import CrashReproducer

        chunk, arguments = self._chunk, self._chunk.arguments
        watcher = CrashReproducer(
            self._path,
            original=lambda context: _parse_again(chunk, context),
            settings=_settings(arguments),
            checks=lambda: semantics_checks(arguments),
        )
        watcher.before_pipeline(chunk.pipeline, step.module, step.context)
        watcher.after_pass_failed(step, error)


def _settings(arguments: argparse.Namespace) -> Reproducer:
    from flambeau.tools.reproducers.reproducer_file import Reproducer, with_plugins

    return with_plugins(
        Reproducer(
            verify_each=arguments.verify_each,
            allow_unregistered=arguments.allow_unregistered_dialect,
            debug_counters=arguments.debug_counter or "",
            verify_roundtrip=arguments.verify_roundtrip,
            check_semantics=arguments.check_semantics or "",
            inputs="" if arguments.inputs is None else str(Path(arguments.inputs).resolve()),
            seed=arguments.seed or 0,
        )
    )


def _place(arguments: argparse.Namespace, name: str, number: int) -> Path:
    """Returns one file for each part of a split input: `crash.mlir`, `crash-1.mlir` and so on.

    Raises ValueError if a file would be lost.
    """
    path = Path(name)
    path = path.with_stem(f"{path.stem}-{number}") if number else path
    if arguments.input != "-":
        if same_file(path, arguments.input):
            raise ValueError(f"refusing to overwrite the input {path}")
        check_beside(path, arguments.input)
    if path.is_file() and path.stat().st_size:
        from flambeau.tools.reproducers.reproducer_file import is_reproducer

        if not is_reproducer(path):
            raise ValueError(f"{path} exists and is not a reproducer: name another file")
    return path


def _parse_again(chunk: Chunk, context: Context) -> ModuleOp:
    from flambeau.dialects.text.module_text import parse_module

    source = chunk.parsed.source
    return parse_module(source.text, context, source.file, line_offset=source.line_offset, locate=True).module
