"""`--run-reproducer` and its kin: files that hold all it takes to see a pass fail again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.passes.manager import Instrumentation, PassStep
from flambeau.tools.opt.option_group import Chunk, OptionGroup

if TYPE_CHECKING:
    from flambeau.passes.manager.crash import RunOptions


class ReproducerGroup(OptionGroup):
    """Writes reproducers, and takes the options of one that is run again."""

    title = "reproducers"

    def __init__(self) -> None:
        self._weights: tuple[Path, ...] = ()

    def add_arguments(self, group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]  argparse names it so
        """Adds the options."""
        group.add_argument(
            "--run-reproducer", action="store_true", help="the input is a reproducer: take the pipeline and the options from its header"
        )
        group.add_argument(
            "--crash-reproducer",
            metavar="FILE",
            help="where to write a reproducer when a pass fails; by default a new file in the folder for temporary files",
        )
        group.add_argument(
            "--generate-reproducer",
            metavar="FILE",
            help="write a reproducer of this run, whether it fails or not",
        )
        group.add_argument("--no-reproducer", action="store_true", help="write no reproducer when a pass fails")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Reads the header of a reproducer that is to be run; options that were given on the command line stay."""
        self._weights = ()
        if not arguments.run_reproducer:
            return
        if arguments.input == "-":
            parser.error("--run-reproducer needs the name of a file")
        from flambeau.passes.manager.reproducer import read_reproducer
        from flambeau.tools.plugins import load_plugin

        found = read_reproducer(arguments.input)
        for path, digest in found.plugins.items():
            if load_plugin(path).digest != digest:
                print(f"warning: plug-in {path} has changed since {arguments.input} was written", file=sys.stderr)
        if arguments.passes and arguments.passes != found.pipeline:
            print(f"note: instead of the pipeline of {arguments.input}, that of the command line runs", file=sys.stderr)
        arguments.passes = arguments.passes or found.pipeline
        arguments.verify_each &= found.verify_each
        arguments.allow_unregistered_dialect |= found.allow_unregistered
        arguments.debug_counter = arguments.debug_counter or found.debug_counters or None
        self._weights = tuple(Path(arguments.input).parent / name for name in found.weights)

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Opens the weights of a reproducer that is run; writes one that was asked for; watches for failures."""
        arguments = chunk.arguments
        beside = Path(arguments.input).with_suffix(".safetensors")
        for path in self._weights:
            if path != beside:  # that one is open already
                chunk.context.blobs.open(path)
        if arguments.generate_reproducer:
            from flambeau.passes.manager.crash import write_reproducer

            path = _numbered(arguments.generate_reproducer, chunk.number)
            write_reproducer(path, chunk.parsed.module, chunk.pipeline, chunk.context, _options(arguments))
        unwanted = arguments.no_reproducer or arguments.verify_diagnostics
        if unwanted or (arguments.run_reproducer and not arguments.crash_reproducer):
            return ()
        return (_OnFailure(chunk),)


class _OnFailure(Instrumentation):
    """Writes a reproducer when a pass fails: until then, not even the code that does so is loaded."""

    def __init__(self, chunk: Chunk):
        self._chunk = chunk

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        from flambeau.passes.manager.crash import CrashReproducer

        chunk, arguments = self._chunk, self._chunk.arguments
        path = _numbered(arguments.crash_reproducer, chunk.number) if arguments.crash_reproducer else None
        watcher = CrashReproducer(path, original=lambda context: _parse_again(chunk, context), options=_options(arguments))
        watcher.before_pipeline(chunk.pipeline, step.module, step.context)
        watcher.after_pass_failed(step, error)


def _options(arguments: argparse.Namespace) -> RunOptions:
    from flambeau.tools.reproducers import run_options

    return run_options(
        verify_each=arguments.verify_each,
        allow_unregistered=arguments.allow_unregistered_dialect,
        debug_counters=arguments.debug_counter or "",
    )


def _numbered(name: str, number: int) -> Path:
    """One file for each part of a split input: `crash.mlir`, `crash-1.mlir` and so on."""
    path = Path(name)
    return path.with_stem(f"{path.stem}-{number}") if number else path


def _parse_again(chunk: Chunk, context: Context) -> ModuleOp:
    from flambeau.dialects.text import parse_module

    source = chunk.parsed.source
    return parse_module(source.text, context, source.file, line_offset=source.line_offset, locate=True).module
