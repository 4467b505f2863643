"""Writing reproducers: when a pass fails, what it takes to see it again; and on demand."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.flambeau.weight_files import check_beside, takes_weights, weights_beside
from flambeau.dialects.ir.diagnostics import Diagnostic, listening
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.ml_program import BlobAttr, BlobError, BlobStore
from flambeau.dialects.ml_program.weights import blobs_in, save_weights
from flambeau.dialects.schema.operators import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.manager.registry import PipelineError
from flambeau.passes.rewriting.actions import Action, watching
from flambeau.passes.rewriting.locations import describe_location
from flambeau.support.files import write_text
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.instruments.debug_counter import DebugCounter, parse_debug_counters
from flambeau.tools.reproducers.failure_files import new_failure_file
from flambeau.tools.reproducers.reproducer_file import Reproducer, relative_names, versions, without_addresses

WEIGHTS_LIMIT = 64 * 2**20
"""So many bytes of weights are saved beside a reproducer; more of them are named where they are."""


@dataclass(frozen=True)
class RunOptions:
    """What a pipeline is run with, besides the module."""

    verify_each: bool = True
    allow_unregistered: bool = False
    debug_counters: str = ""
    verify_roundtrip: bool = False
    check_semantics: str = ""
    inputs: str = ""
    seed: int = 0
    plugins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The plug-ins that are loaded: path -> digest."""
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those that installed packages brought: name -> digest."""


def write_reproducer(
    path: str | os.PathLike[str],
    module: ModuleOp,
    pipeline: Pipeline,
    context: Context,
    options: RunOptions | None = None,
) -> None:
    """Writes what it takes to run `pipeline` over `module` again, whether it fails or not.

    Raises:
        OSError: the file cannot be written.
        BlobError: the weights cannot.
    """
    case = Case(print_module(module, locations=True), pipeline)
    notes: list[str] = []
    case.weights = keep_weights(module, context, Path(path), notes)
    write_case(Path(path), case, options or RunOptions(), notes)


def reproducer_of(error: BaseException) -> Path | None:
    """The reproducer that was written for an error; None when there is none."""
    return getattr(error, "reproducer", None)


class CrashReproducer(Instrumentation):
    """Writes a reproducer when a pass fails, and notes its path on the error (`reproducer_of`).

    It costs nothing until then: what the IR was before the pass is found by running the passes before it again, on the original. A
    reproducer begins as late in the pipeline as the same error still comes from its text; that is tried out before it is written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        original: Callable[[Context], ModuleOp] | None = None,
        options: RunOptions | None = None,
        checks: Callable[[], Sequence[Instrumentation]] = tuple,
    ):
        """What to write, and where.

        Args:
            path: the file; by default a new one among `failure_files`.
            original: makes the module as it was before the pipeline, in a context; by default a copy is kept of each.
            options: what the pipeline is run with.
            checks: makes what else may stop the pipeline, as the options say.
        """
        self._checks = checks
        self._path = None if path is None else Path(path)
        self._original = original
        self._options = options or RunOptions()
        self._pipeline: Pipeline | None = None
        self._copy: ModuleOp | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Keeps what a reproducer is made from."""
        self._pipeline = pipeline
        self._copy = module.clone() if self._original is None else None

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Lets go of it."""
        self._pipeline = self._copy = None

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Writes the reproducer. Trouble in doing so becomes a note on the error: the error itself matters more."""
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
        write_case(path, chosen, self._options, notes, error)
        return path

    def _start(self, context: Context) -> ModuleOp:
        if self._original is not None:
            return self._original(_copy_of(context, None))
        assert self._copy is not None
        return self._copy.clone()

    def _cases(self, step: PassStep, pipeline: Pipeline) -> Iterator[Case]:
        """From what is most telling to what is most certain."""
        if not self._options.debug_counters:  # these count from the start of the pipeline
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
        """Whether the case gives the same error, from its text, with these weights."""
        copy = _copy_of(context, blobs)
        watchers = [*self._checks(), last := _LastAction()]
        if self._options.debug_counters:
            watchers.insert(0, DebugCounter(parse_debug_counters(self._options.debug_counters)))
        try:
            module = parse_module(case.text, copy).module
            verify_module(module)
            case.pipeline.run(module, copy, watchers, verify_each=self._options.verify_each)
        except Exception as found:
            case.last_action = last.text
            return type(found) is type(error) and _message(found) == _message(error)
        return False


@dataclass
class Case:
    """A module and what to run on it."""

    text: str
    pipeline: Pipeline
    last_action: str = ""
    weights: tuple[str, ...] = ()
    """The files that hold its weights, where it needs them."""


class _Reached(Exception):
    """The run is where it was to go."""


class _StopBefore(Instrumentation):
    """Ends a run before one step, or before the first at or below a place of the pipeline."""

    def __init__(self, index: int | None, position: Sequence[int]):
        self._index = index
        self._position = tuple(position)

    def before_pass(self, step: PassStep) -> None:
        if step.index == self._index or (self._index is None and step.position[: len(self._position)] == self._position):
            raise _Reached


class _LastAction(Instrumentation):
    """Notes the last attempt to rewrite."""

    def __init__(self) -> None:
        self.text = ""

    def before_action(self, action: Action) -> bool:
        place = describe_location(action.op.location)
        self.text = f"{action.kind} {action.name} on {action.op.name}{f' at {place}' if place else ''}"
        return True


def _message(error: Exception) -> str:
    """What an error says, without what differs from run to run."""
    diagnostic = getattr(error, "diagnostic", None)
    return without_addresses(diagnostic.message if isinstance(diagnostic, Diagnostic) else str(error))


def _copy_of(context: Context, blobs: BlobStore | None) -> Context:
    copy = context.clone()
    if blobs is not None and isinstance(copy, FlambeauContext):
        copy.blobs = blobs
    return copy


def rest_of(pipeline: Pipeline, position: Sequence[int]) -> Pipeline:
    """The pipeline from a place on."""
    index, *inner = position
    first = pipeline.elements[index]
    if inner and isinstance(first, Pipeline):
        first = rest_of(first, inner)
    return Pipeline(pipeline.anchor, (first, *pipeline.elements[index + 1 :]))


def blobs_of(module: Operation) -> list[BlobAttr]:
    """The weights that a module names."""
    found: list[BlobAttr] = []
    for op in module.walk():
        found += blobs_in(op)
    return found


def write_case(path: Path, case: Case, options: RunOptions, notes: Sequence[str], error: Exception | None = None) -> None:
    """Writes a reproducer, whole or not at all. Raises OSError."""
    notes = list(notes)
    try:
        Pipeline.parse(str(case.pipeline))
    except PipelineError as problem:
        notes.append(f"the pipeline cannot be read back: {problem}")
    reproducer = Reproducer(
        pipeline=str(case.pipeline),
        error="" if error is None else str(error),
        note="; ".join(notes),
        verify_each=options.verify_each,
        allow_unregistered=options.allow_unregistered,
        debug_counters=options.debug_counters,
        verify_roundtrip=options.verify_roundtrip,
        check_semantics=options.check_semantics,
        inputs=options.inputs,
        seed=options.seed,
        plugins=options.plugins,
        versions={**versions(), **options.packages},
        weights=case.weights,
        relative=relative_names((*options.plugins, options.inputs, *case.weights), path.parent),
        last_action=case.last_action,
        traceback=() if error is None else tuple("".join(traceback.format_exception(error)).splitlines()),
    )
    write_text(path, reproducer.header() + case.text)


def keep_weights(module: ModuleOp, context: Context, path: Path, notes: list[str]) -> tuple[str, ...]:
    """Saves the weights of a module beside the reproducer `path`, or, if they are large, names the files that hold them.

    Raises BlobError when they would replace others.
    """
    named = list(dict.fromkeys(blobs_of(module)))
    if not named or not isinstance(context, FlambeauContext):
        return ()
    blobs = context.blobs
    try:
        size = sum(len(blobs.get(blob)) for blob in named)
    except BlobError as error:
        notes.append(f"weights are missing: {error}")
        return ()
    if size <= WEIGHTS_LIMIT and takes_weights(path):
        check_beside(path)
        beside = weights_beside(path)
        save_weights(module, blobs, beside)
        return (beside.name,)
    origins = [blobs.origin(blob) for blob in named]
    if None in origins:
        why = "were too large to be kept" if takes_weights(path) else "cannot be kept beside a device"
        notes.append(f"{size // 2**20} MiB of weights {why}, and are in no file")
    return tuple(sorted({str(origin.resolve()) for origin in origins if origin is not None}))
