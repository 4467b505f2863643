"""Bisection over the passes of a pipeline, then over the rewrites of one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.symbols import symbol_name
from flambeau.dialects.text import ParsedModule
from flambeau.passes.manager import Instrumentation, PassStep, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.manager.pipeline import pass_text
from flambeau.passes.rewriting.actions import Action
from flambeau.passes.rewriting.locations import describe_location
from flambeau.tools.bisection.rewrites import Rewrite, describe_op, diff_of, name_values, positions_of
from flambeau.tools.bisection.search import first_bad
from flambeau.tools.bisection.window import Attempt, RefuseAll, Steps, StopAt, Stopped, Window
from flambeau.tools.predicates import Crash, Judge, Outcome, Predicate, Verdict, run_pipeline

Element = ModulePass | Pipeline


class BisectionError(ValueError):
    """There is nothing to find: the predicate does not hold in the end, or it does from the start."""


@dataclass(frozen=True)
class Replay:
    """How to see it again: a pipeline on the module before the pass, and the attempts to rewrite that may happen."""

    pipeline: Pipeline
    skip: int = 0
    count: int | None = None

    @property
    def debug_counter(self) -> str | None:
        """The setting of `--debug-counter`; None where every attempt may happen."""
        if self.count is None:
            return None
        return f"*-skip={self.skip},*-count={self.count}" if self.skip else f"*-count={self.count}"


@dataclass(frozen=True)
class BisectionResult:
    """What is to blame."""

    step: PassStep
    """The run of the pass."""
    number: int
    """The pass's place in the pipeline, from 1."""
    total: int
    """How many passes the pipeline has."""
    detail: str
    """What the predicate saw."""
    before: ModuleOp
    """The module before the pass."""
    context: FlambeauContext
    """Owns the weights of the modules."""
    replay: Replay
    rewrite: Rewrite | None
    reason: str
    """Why it could not be told which rewrite; empty where it could."""
    notes: tuple[str, ...] = ()

    @property
    def pass_text(self) -> str:
        """The pass with its options."""
        return pass_text(self.step.pass_)

    @property
    def function(self) -> str | None:
        """The function that the pass ran on, where it is nested."""
        name = symbol_name(self.step.op)
        return f"@{name}" if name is not None and self.step.op is not self.step.module else None


@dataclass(frozen=True)
class _State:
    module: ModuleOp
    context: FlambeauContext


@dataclass(frozen=True)
class _Setting:
    """Runs that differ in how many attempts of some steps may happen."""

    start: _State
    pipeline: Pipeline
    selects: Callable[[PassStep], bool]
    stop_after: int | None
    """The step after which nothing runs; None to run to the end."""
    earlier: int = 0
    """How many passes of the whole pipeline come before those that run."""
    notes: tuple[str, ...] = ()


@dataclass
class Bisection:
    """One search.

    Args:
        module: where the pipeline begins; it is not changed.
        context: owns its weights.
        predicate: what the pipeline makes hold.
        parsed: what was read, where the module was: rewrites are then placed in the text.
        on_progress: is told, in a few words, what happens.
    """

    module: ModuleOp
    context: FlambeauContext
    predicate: Predicate
    parsed: ParsedModule | None = None
    on_progress: Callable[[str], None] = field(default=lambda _: None)
    runs: int = 0
    """How often a pipeline, or a part of one, ran."""
    judged: int = 0
    """How often the predicate was asked."""

    def run(self) -> BisectionResult:
        """Finds the pass, and the rewrite if the pass announces its rewrites.

        Raises:
            BisectionError: there is nothing to find.
            PredicateError: the predicate makes no sense for the module.
        """
        self._judge: Judge = self.predicate.question.about(self.module, self.context)
        elements = self.predicate.pipeline.elements
        self._total = sum(1 for _ in self.predicate.pipeline.passes())
        if not elements:
            raise BisectionError("the pipeline has no passes to choose from")
        self.on_progress("running the whole pipeline")
        start = _State(self.module, self.context)
        if isinstance(self.predicate.question, Crash):
            setting = self._failing_step(start)
        else:
            full = self._run(start, elements)
            self._require(full)
            setting = (self._needed_pass(start) if self.predicate.question.wants_final else None) or self._first_bad_step(start)
        return self._within(setting)

    # Running and asking

    def _run(self, start: _State, elements: Sequence[Element], watchers: Sequence[Instrumentation] = ()) -> Outcome:
        pipeline = Pipeline(self.predicate.pipeline.anchor, tuple(elements))
        is_crash = isinstance(self.predicate.question, Crash)
        self.runs += 1
        outcome = run_pipeline(pipeline, start.module, start.context, watchers, verify=is_crash)
        return replace(outcome, error=None) if isinstance(outcome.error, Stopped) else outcome

    def _ask(self, outcome: Outcome) -> Verdict:
        self.judged += 1
        return self._judge(outcome)

    def _require(self, full: Outcome) -> None:
        if full.error is not None:
            raise BisectionError(f"the pipeline fails, and --crash finds out why: {' '.join(str(full.error).split())}")
        if not (verdict := self._ask(full)):
            raise BisectionError(f"there is nothing to find: the predicate is that {self.predicate.description}, but {verdict.detail}")

    # Over passes

    def _failing_step(self, start: _State) -> _Setting:
        state = start
        for number, element in enumerate(self.predicate.pipeline.elements):
            steps = Steps()
            outcome = self._run(state, [element], [steps])
            if outcome.error is None:
                state = _State(outcome.module, outcome.context)
                continue
            if not (verdict := self._ask(outcome)):
                raise BisectionError(f"there is nothing to find: the predicate is that {self.predicate.description}, but {verdict.detail}")
            return self._at_step(state, number, len(steps.steps) - 1)
        raise BisectionError(f"there is nothing to find: the predicate is that {self.predicate.description}, but it does not fail")

    def _first_bad_step(self, start: _State) -> _Setting:
        elements = self.predicate.pipeline.elements
        if self.predicate.question.wants_final and (verdict := self._ask(Outcome(start.module, start.context))):
            raise BisectionError(f"there is nothing to find: {self.predicate.description} before the first pass already ({verdict.detail})")
        good = {0: start}

        def is_bad(count: int) -> bool:
            self.on_progress(f"the first {count} of {len(elements)} passes")
            nearest = max(good)
            outcome = self._run(good[nearest], elements[nearest:count])
            if self._ask(outcome):
                return True
            # The next questions are about more passes than these.
            good.clear()
            good[count] = _State(outcome.module, outcome.context)
            return False

        bad = first_bad(0, len(elements), is_bad)
        element, state = elements[bad - 1], good[bad - 1]
        if not isinstance(element, Pipeline):
            return self._at_step(state, bad - 1, 0)
        steps = Steps()
        self._run(state, [element], [steps])

        def is_bad_within(count: int) -> bool:
            self.on_progress(f"the first {count} of {len(steps.steps)} runs of passes in {element.anchor}(…)")
            return bool(self._ask(self._run(state, [element], [StopAt(count)])))

        return self._at_step(state, bad - 1, first_bad(0, len(steps.steps), is_bad_within) - 1)

    def _at_step(self, state: _State, number: int, index: int) -> _Setting:
        """Runs of one element of the pipeline, up to a step within it."""
        *earlier, element = self.predicate.pipeline.elements[: number + 1]
        count = sum(1 for _ in Pipeline(MODULE, tuple(earlier)).passes())
        return _Setting(state, Pipeline(MODULE, (element,)), lambda step: step.index == index, index, count)

    def _needed_pass(self, start: _State) -> _Setting | None:
        """The first pass without which the pipeline runs, and the predicate does not hold."""
        pipeline = self.predicate.pipeline
        passes = list(pipeline.passes())
        needed: list[ModulePass] = []
        for number, item in enumerate(passes, 1):
            self.on_progress(f"without pass {number} of {len(passes)}, {item.name}")
            outcome = self._run(start, _without(pipeline, item).elements)
            if outcome.error is None and not self._ask(outcome):
                needed.append(item)
        if not needed:
            return None
        first, *others = needed
        names = ", ".join(item.name for item in others)
        notes = (f"without any one of these passes it does not hold either: {names}",) if others else ()
        return _Setting(start, pipeline, lambda step: step.pass_ is first, None, notes=notes)

    # Over rewrites

    def _trial(self, setting: _Setting, limit: int | None) -> tuple[Verdict, Outcome, Window]:
        window = Window(setting.selects, limit, stop_after=setting.stop_after, keep=limit is None)
        outcome = self._run(setting.start, setting.pipeline.elements, [window])
        if outcome.error is not None and setting.stop_after is None:
            self._unfinished += 1
            return Verdict(False, f"the rest of the pipeline fails: {' '.join(str(outcome.error).split())}"), outcome, window
        return self._ask(outcome), outcome, window

    def _within(self, setting: _Setting) -> BisectionResult:
        self._unfinished = 0
        verdict, outcome, window = self._trial(setting, None)
        step, before = window.first, window.before
        if step is None or before is None or not verdict:
            raise BisectionError(f"two runs of the same passes differ: {verdict.detail}")
        rewrite, reason = self._rewrite(setting, step, window.attempts)
        notes = setting.notes
        if self._unfinished:
            notes = (*notes, f"{self._unfinished} runs with only some of the rewrites failed later, and count as not holding")
        replay = self._replay(_State(before, outcome.context), step, window.place, setting, rewrite)
        number = setting.earlier + 1 + next(n for n, item in enumerate(setting.pipeline.passes()) if item is step.pass_)
        return BisectionResult(step, number, self._total, verdict.detail, before, outcome.context, replay, rewrite, reason, notes)

    def _rewrite(self, setting: _Setting, step: PassStep, attempts: Sequence[Attempt]) -> tuple[Rewrite | None, str]:
        """The rewrite; or why it cannot be told."""
        numbers = [attempt.number for attempt in attempts if attempt.matters]
        if not attempts:
            return None, "the pass does not announce its rewrites"
        if not numbers:
            return None, f"none of the {len(attempts)} rewrites that the pass tried changed anything"

        def is_bad(count: int) -> bool:
            self.on_progress(f"the first {count} of {len(numbers)} rewrites of {step.name}")
            return bool(self._trial(setting, numbers[count - 1] if count else 0)[0])

        if is_bad(0):
            return None, "it is the same with all rewrites forbidden that the pass announces"
        ordinal = first_bad(0, len(numbers), is_bad)
        if ordinal == len(numbers) and not is_bad(ordinal):
            return None, "it is not so with the rewrites of the pass alone, nor without them"
        rewrite = self._captured(setting, numbers[ordinal - 1], ordinal, len(numbers))
        return rewrite, ""

    def _captured(self, setting: _Setting, limit: int, ordinal: int, total: int) -> Rewrite:
        """Runs up to a rewrite, and looks at the module before and after it."""
        positions = {} if self.parsed is None else positions_of(self.parsed)
        file = None if self.parsed is None else self.parsed.file
        seen: list[tuple[Action, str, ModuleOp]] = []

        def at_last(action: Action, module: ModuleOp) -> None:
            name_values(module)
            seen.append((action, describe_op(action.op), module.clone()))

        window = Window(setting.selects, limit, stop_after=setting.stop_after, stop_when_full=True, at_last=at_last)
        outcome = self._run(setting.start, setting.pipeline.elements, [window])
        ((action, op, before),) = seen
        # An operation keeps its location when it is erased.
        location = action.op.location
        after = outcome.module if window.attempts[-1].is_finished else None
        return Rewrite(
            attempt=limit,
            ordinal=ordinal,
            total=total,
            pattern=action.name,
            op=op,
            place=describe_location(location, without=file),
            position=positions.get(location),
            diff=() if after is None else diff_of(before, after),
            before=before,
            after=after,
            context=outcome.context,
        )

    def _replay(self, before: _State, step: PassStep, place: int, setting: _Setting, rewrite: Rewrite | None) -> Replay:
        pipeline = Pipeline(step.path[-1], (step.pass_,))
        for anchor in reversed(step.path[:-1]):
            pipeline = Pipeline(anchor, (pipeline,))
        if rewrite is None:
            return Replay(pipeline)
        skip = 0
        if len(step.path) > 1 and setting.stop_after is not None:
            # The pass will run on the functions before this one too, where its rewrites are to be forbidden.
            refuse = RefuseAll()
            self._run(before, pipeline.elements, [refuse])
            skip = refuse.before.get(place, 0)
        return Replay(pipeline, skip, rewrite.attempt)


def _without(pipeline: Pipeline, item: ModulePass) -> Pipeline:
    """The pipeline but for one pass."""
    kept = (_without(element, item) if isinstance(element, Pipeline) else element for element in pipeline.elements if element is not item)
    return Pipeline(pipeline.anchor, tuple(kept))
