"""`CrashReproducer`: writes a reproducer when a pass fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.diagnostics import Diagnostic, listening
from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.rewriting.actions import Action, watching
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.instruments.debug_counter import DebugCounter, parse_debug_counters
from flambeau.tools.reproducers.failure_files import new_failure_file
from flambeau.tools.reproducers.reproducer_file import Case, Reproducer, blobs_of, keep_weights, rest_of, without_addresses, write_case


def reproducer_of(error: BaseException) -> Path | None:
    """Returns the reproducer that was written for an error, or None."""
    return getattr(error, "reproducer", None)


class CrashReproducer(Instrumentation):
    """An instrumentation that writes a reproducer when a pass fails, and notes its path on the error (`reproducer_of`).

    Without a failure it costs nothing: after one, the IR before the pass is recomputed by running the earlier passes on the original. A
    reproducer begins as late in the pipeline as the same error still comes from its text; that is tried out before it is written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        original: Callable[[Context], ModuleOp] | None = None,
        settings: Reproducer | None = None,
        checks: Callable[[], Sequence[Instrumentation]] = tuple,
    ):
        """Creates a writer of reproducers.

        Args:
            path: the file; by default a new one among `failure_files`.
            original: makes the module as it was before the pipeline, in a context; by default a copy is kept of each.
            settings: the settings of the run.
            checks: makes the other instrumentations that may stop the pipeline.
        """
        self._checks = checks
        self._path = None if path is None else Path(path)
        self._original = original
        self._settings = settings or Reproducer()
        self._pipeline: Pipeline | None = None
        self._copy: ModuleOp | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Keeps the input of the reproducer."""
        self._pipeline = pipeline
        self._copy = module.clone() if self._original is None else None

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Drops the input."""
        self._pipeline = self._copy = None

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Writes the reproducer. A failure to do so becomes a note on the error, which is more important."""
        if self._pipeline is None:
            return
        try:
            with watching(None), listening(lambda diagnostic: None):
                path = self._write_for(step, error, self._pipeline)
        except Exception as trouble:
            error.add_note(f"no reproducer could be written: {in_one_line(trouble)}")
            return
        finally:
            self._pipeline = self._copy = None
        vars(error)["reproducer"] = path

    def _write_for(self, step: PassStep, error: Exception, pipeline: Pipeline) -> Path:
        chosen = next((case for case in self._cases(step, pipeline) if self._fails_so(case, step.context, error, None)), None)
        notes: list[str] = []
        if chosen is None:
            chosen = Case(print_module(self._start(step.context), locations=True), pipeline)
            notes.append("run again, this did not fail in the same way")
        module = parse_module(chosen.text, _copy_of(step.context, None)).module
        path = self._path or new_failure_file(step.name, ".mlir")
        if blobs_of(module) and not self._fails_so(chosen, step.context, error, BlobStore()):
            chosen.weights = keep_weights(module, step.context, path, notes)
        write_case(path, chosen, self._settings, notes, error)
        return path

    def _start(self, context: Context) -> ModuleOp:
        if self._original is not None:
            return self._original(_copy_of(context, None))
        assert self._copy is not None
        return self._copy.clone()

    def _cases(self, step: PassStep, pipeline: Pipeline) -> Iterator[Case]:
        """Yields cases from the smallest, which is most informative, to the one most certain to fail."""
        if not self._settings.debug_counters:  # these count from the start of the pipeline
            for depth in range(len(step.position), 0, -1):
                start = step.position[:depth]
                context = _copy_of(step.context, None)
                stop = _StopBefore(step.index if depth == len(step.position) else None, start)
                module = self._start(context)
                try:
                    pipeline.run(module, context, [stop], verify_each=False)
                except _Reached:
                    yield Case(print_module(module, locations=True), rest_of(pipeline, start))
        yield Case(print_module(self._start(step.context), locations=True), pipeline)

    def _fails_so(self, case: Case, context: Context, error: Exception, blobs: BlobStore | None) -> bool:
        """Returns whether the case gives the same error, from its text, with these weights."""
        copy = _copy_of(context, blobs)
        watchers = [*self._checks(), last := _LastAction()]
        if self._settings.debug_counters:
            watchers.insert(0, DebugCounter(parse_debug_counters(self._settings.debug_counters)))
        try:
            module = parse_module(case.text, copy).module
            verify_module(module)
            case.pipeline.run(module, copy, watchers, verify_each=self._settings.verify_each)
        except Exception as found:
            case.last_action = last.text
            return type(found) is type(error) and _message(found) == _message(error)
        return False


class _Reached(Exception):
    """A signal that the run reached its goal."""


class _StopBefore(Instrumentation):
    """An instrumentation that ends a run before one step, or before the first at or below a place of the pipeline."""

    def __init__(self, index: int | None, position: Sequence[int]):
        self._index = index
        self._position = tuple(position)

    def before_pass(self, step: PassStep) -> None:
        if step.index == self._index or (self._index is None and step.position[: len(self._position)] == self._position):
            raise _Reached


class _LastAction(Instrumentation):
    """An instrumentation that records the last attempt to rewrite."""

    def __init__(self) -> None:
        self.text = ""

    def before_action(self, action: Action) -> bool:
        place = describe_location(action.op.location)
        self.text = f"{action.kind} {action.name} on {action.op.name}{f' at {place}' if place else ''}"
        return True


def _message(error: Exception) -> str:
    """Returns the message of an error, without the parts that differ between runs."""
    diagnostic = getattr(error, "diagnostic", None)
    return without_addresses(diagnostic.message if isinstance(diagnostic, Diagnostic) else str(error))


def _copy_of(context: Context, blobs: BlobStore | None) -> Context:
    copy = context.clone()
    if blobs is not None and isinstance(copy, FlambeauContext):
        copy.blobs = blobs
    return copy
