"""Bisection over the passes of a pipeline, then over the rewrites of one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.passes.manager import Instrumentation, PassStep, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.manager.pipeline import pass_text
from flambeau.passes.rewriting.actions import Action
from flambeau.tools.bisection.binary_search import first_bad
from flambeau.tools.bisection.partial_run import Attempt, RefuseAll, Steps, StopAt, Stopped, Window
from flambeau.tools.bisection.rewrites import Rewrite, describe_op, diff_of, name_values, positions_of
from flambeau.tools.predicates.crash import Crash
from flambeau.tools.predicates.predicate import Judge, Outcome, Predicate, Verdict, error_text, run_pipeline

Element = ModulePass | Pipeline


class BisectionError(ValueError):
    """An error of a search that has no result: the predicate does not hold at the end, or it holds at the start."""


@dataclass(frozen=True)
class Replay:
    """The reproduction of a result: the pipeline to run on the module before the pass, and the range of rewrite attempts to allow."""

    pipeline: Pipeline
    skip: int = 0
    count: int | None = None

    @property
    def debug_counter(self) -> str | None:
        """The value of `--debug-counter`; None if every attempt may happen."""
        if self.count is None:
            return None
        return f"*-skip={self.skip},*-count={self.count}" if self.skip else f"*-count={self.count}"


@dataclass(frozen=True)
class BisectionResult:
    """The pass, and the rewrite if it was found, that makes the predicate hold."""

    step: PassStep
    """The run of the pass."""
    number: int
    """The pass's place in the pipeline, from 1."""
    first_number: int
    """The number of the first candidate pass, if the states between are undecided; else `number`."""
    total: int
    """The number of passes in the pipeline."""
    detail: str
    """The observation of the predicate, in words."""
    before: ModuleOp
    """The module before the pass."""
    context: FlambeauContext
    """Owns the weights of the modules."""
    replay: Replay
    rewrite: Rewrite | None
    reason: str
    """The reason that the rewrite is unknown; empty if it is known."""
    notes: tuple[str, ...] = ()

    @property
    def pass_text(self) -> str:
        """The pass with its options."""
        return pass_text(self.step.pass_)

    @property
    def function(self) -> str | None:
        """The name of the function that the pass ran on; None if the pass ran on the module."""
        name = symbol_name(self.step.op)
        return f"@{name}" if name is not None and self.step.op is not self.step.module else None


@dataclass(frozen=True)
class _State:
    module: ModuleOp
    context: FlambeauContext


@dataclass(frozen=True)
class _Setting:
    """The settings of a run in which only some attempts to rewrite are allowed in some steps."""

    start: _State
    pipeline: Pipeline
    selects: Callable[[PassStep], bool]
    stop_after: int | None
    """The index of the last step to run; None to run to the end."""
    earlier: int = 0
    """The number of passes of the whole pipeline that are before the passes of this run."""
    notes: tuple[str, ...] = ()
    blamed: int = 1
    """The number of candidate passes: the last passes that run before `stop_after`."""


@dataclass
class Bisection:
    """A search for the pass and the rewrite that make a predicate hold.

    Args:
        module: the input of the pipeline; it is not changed.
        context: owns the weights of `module`.
        predicate: the property that the pipeline causes.
        parsed: the parsed text of the module, if there is one, for positions of rewrites.
        on_progress: receives short messages on progress.
    """

    module: ModuleOp
    context: FlambeauContext
    predicate: Predicate
    parsed: ParsedModule | None = None
    on_progress: Callable[[str], None] = field(default=lambda _: None)
    runs: int = 0
    """The number of runs of the pipeline, or of a part of it."""
    judged: int = 0
    """The number of times that the predicate was evaluated."""

    def run(self) -> BisectionResult:
        """Finds the pass, and the rewrite if the pass announces its rewrites.

        Raises:
            BisectionError: there is nothing to find.
            PredicateError: the predicate makes no sense for the module.
        """
        self._judge: Judge = self.predicate.question.about(self.module, self.context)
        self._untold_is_bad = False
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

    def _tell(self, verdict: Verdict) -> bool | None:
        """Returns whether the module is bad; None if undecided."""
        return verdict.holds if verdict.can_tell else True if self._untold_is_bad else None

    def _require(self, full: Outcome) -> None:
        if full.error is not None:
            raise BisectionError(f"the pipeline fails, and --crash finds out why: {error_text(full.error)}")
        verdict = self._ask(full)
        if not verdict.can_tell and self.predicate.question.wants_tellable:
            self._untold_is_bad = True
        if not self._tell(verdict):
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
        states = {0: start}

        def is_bad(count: int) -> bool | None:
            self.on_progress(f"the first {count} of {len(elements)} passes")
            nearest = max(state for state in states if state < count)
            outcome = self._run(states[nearest], elements[nearest:count])
            told = self._tell(self._ask(outcome))
            if told is False:
                # The next questions are about more passes than these.
                states.clear()
                states[count] = _State(outcome.module, outcome.context)
            return told

        good, bad = first_bad(0, len(elements), is_bad)
        self._confirm(f"with the first {good} and {bad} passes", lambda count: self._ask(self._run(start, elements[:count])), good, bad)
        state = states[good]
        if bad - good > 1:
            return self._among(state, good, bad)
        element = elements[good]
        if not isinstance(element, Pipeline):
            return self._at_step(state, good, 0)
        steps = Steps()
        self._run(state, [element], [steps])

        def is_bad_within(count: int) -> bool | None:
            self.on_progress(f"the first {count} of {len(steps.steps)} runs of passes in {element.anchor}(…)")
            return self._tell(self._ask(self._run(state, [element], [StopAt(count)])))

        first, last = first_bad(0, len(steps.steps), is_bad_within)
        notes = (
            () if last - first == 1 else (f"the results of runs {first + 1} to {last - 1} of passes in {element.anchor}(…) are undecided",)
        )
        return replace(self._at_step(state, good, last - 1), notes=notes)

    def _among(self, state: _State, good: int, bad: int) -> _Setting:
        """Returns the setting that blames the undecided passes whose removal makes the predicate false, or all if there are none."""
        elements = self.predicate.pipeline.elements
        part = Pipeline(MODULE, elements[good:bad])
        earlier = sum(1 for _ in Pipeline(MODULE, elements[:good]).passes())
        items = list(part.passes())
        names = ", ".join(item.name for item in items)
        needed: list[int] = []
        for index, item in enumerate(items):
            self.on_progress(f"without {item.name}")
            outcome = self._run(state, _without(part, item).elements)
            if outcome.error is None and self._tell(self._ask(outcome)) is False:
                needed.append(index)
        first, last = (needed[0], needed[-1]) if needed else (0, len(items) - 1)
        blamed = [items[index] for index in needed or range(len(items))]
        which = ", ".join(item.name for item in blamed)
        found = f"the predicate does not hold without {which}" if len(blamed) == 1 else f"the culprit is one of {which}"
        note = f"the results of the passes {names} are undecided; {found}"
        return _Setting(state, part, _runs(items[last]), None, earlier, (note,), last - first + 1)

    def _confirm(self, what: str, ask: Callable[[int], Verdict], good: int, bad: int) -> None:
        """Asks again about `good` and `bad`. Raises BisectionError if an answer differs from the earlier answer."""
        for _ in range(self.predicate.question.confirmations):
            for count, expected in ((good, False), (bad, True)):
                if (verdict := ask(count)).can_tell and verdict.holds is not expected and not (expected and self._untold_is_bad):
                    raise BisectionError(
                        f"this is not reproducible: {what} the predicate once held and once did not ({verdict.detail}); "
                        "a pass or a script that depends on chance, or on earlier runs, cannot be bisected"
                    )

    def _at_step(self, state: _State, number: int, index: int) -> _Setting:
        """Returns the setting of one element of the pipeline, up to a step within it."""
        *earlier, element = self.predicate.pipeline.elements[: number + 1]
        count = sum(1 for _ in Pipeline(MODULE, tuple(earlier)).passes())
        return _Setting(state, Pipeline(MODULE, (element,)), lambda step: step.index == index, index, count)

    def _needed_pass(self, start: _State) -> _Setting | None:
        """Returns the setting of the first pass without which the pipeline runs and the predicate does not hold, or None."""
        pipeline = self.predicate.pipeline
        passes = list(pipeline.passes())
        needed: list[ModulePass] = []
        for number, item in enumerate(passes, 1):
            self.on_progress(f"without pass {number} of {len(passes)}, {item.name}")
            outcome = self._run(start, _without(pipeline, item).elements)
            if outcome.error is None and self._tell(self._ask(outcome)) is False:
                needed.append(item)
        if not needed:
            return None
        first, *others = needed
        whole = (_without(pipeline, first), pipeline)
        what = f"without and with {first.name}"
        self._confirm(what, lambda place: self._ask(self._run(start, whole[place].elements)), 0, 1)
        names = ", ".join(item.name for item in others)
        notes = (f"the predicate does not hold without any one of these passes either: {names}",) if others else ()
        return _Setting(start, pipeline, _runs(first), None, notes=notes)

    # Over rewrites

    def _trial(self, setting: _Setting, limit: int | None) -> tuple[Verdict, Outcome, Window]:
        window = Window(setting.selects, limit, stop_after=setting.stop_after, keep=limit is None)
        outcome = self._run(setting.start, setting.pipeline.elements, [window])
        if outcome.error is not None and setting.stop_after is None:
            self._unfinished += 1
            return Verdict(False, f"the rest of the pipeline fails: {error_text(outcome.error)}", can_tell=False), outcome, window
        return self._ask(outcome), outcome, window

    def _within(self, setting: _Setting) -> BisectionResult:
        self._unfinished = 0
        verdict, outcome, window = self._trial(setting, None)
        step, before = window.first, window.before
        if step is None or before is None or not self._tell(verdict):
            raise BisectionError(f"this is not reproducible: two runs of the same passes differ: {verdict.detail}")
        notes: list[str] = list(setting.notes)
        if setting.blamed > 1:
            rewrite, reason = None, "the pass is not known"
        else:
            rewrite, reason = self._rewrite(setting, step, window.attempts, notes)
        if self._unfinished:
            notes.append(f"{self._unfinished} runs with only some of the rewrites failed later, and say nothing")
        number = setting.earlier + 1 + next(n for n, item in enumerate(setting.pipeline.passes()) if item is step.pass_)
        if setting.stop_after is None and not self.predicate.question.wants_final:
            # Before the pass alone, nothing can be compared.
            before, replay = setting.start.module, Replay(setting.pipeline)
        else:
            replay = self._replay(_State(before, outcome.context), step, window.place, setting, rewrite)
        first = number - setting.blamed + 1
        return BisectionResult(
            step, number, first, self._total, verdict.detail, before, outcome.context, replay, rewrite, reason, tuple(notes)
        )

    def _rewrite(self, setting: _Setting, step: PassStep, attempts: Sequence[Attempt], notes: list[str]) -> tuple[Rewrite | None, str]:
        """Returns the guilty rewrite, or why it is unknown."""
        if not attempts:
            return None, "the pass does not announce its rewrites"
        numbers = [attempt.number for attempt in attempts if attempt.matters]

        def told(limit: int) -> bool | None:
            return self._tell(self._trial(setting, limit)[0])

        def search(candidates: Sequence[int]) -> tuple[int, int]:
            """Returns the positions (from 1) of the last candidate that leaves a good module, and of the first that leaves a bad one."""

            def is_bad(count: int) -> bool | None:
                self.on_progress(f"the first {count} of {len(candidates)} rewrites of {step.name}")
                return told(candidates[count - 1])

            return first_bad(0, len(candidates), is_bad)

        if told(0):
            return None, "the predicate holds even if all rewrites that the pass announces are forbidden"
        if not told(attempts[-1].number):
            return None, "the predicate does not hold when only the rewrites that the pass announces are allowed"
        good, ordinal = search(numbers) if numbers else (0, 0)
        number = numbers[ordinal - 1] if numbers else attempts[-1].number + 1
        # An attempt that says that it changed nothing may have done so all the same.
        silent = range(numbers[good - 1] + 1 if good else 1, number)
        if (not numbers or ordinal - good == 1) and silent and told(silent[-1]):
            good, ordinal = search(silent)
            number, total = silent[ordinal - 1], len(silent)
            name = attempts[number - 1].name
            notes.append(
                f"{name} changed something and did not say so: who changes an operation in place returns it, or tells the rewriter"
            )
        else:
            total = len(numbers)
        if ordinal - good > 1:
            notes.append(f"the results of rewrites {good + 1} to {ordinal - 1} are undecided: the culprit may be one of these")
        before = number - 1 if ordinal - good == 1 else numbers[good - 1] if good else 0
        try:
            self._confirm(f"with {before} and {number} attempts to rewrite", lambda count: self._trial(setting, count)[0], before, number)
        except BisectionError as error:
            return None, str(error)
        return self._captured(setting, number, ordinal, total), ""

    def _captured(self, setting: _Setting, limit: int, ordinal: int, total: int) -> Rewrite:
        """Runs up to a rewrite, and captures the module before and after it."""
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


def _runs(item: ModulePass) -> Callable[[PassStep], bool]:
    """Returns a function that selects the steps of a pass."""
    return lambda step: step.pass_ is item


def _without(pipeline: Pipeline, item: ModulePass) -> Pipeline:
    """Returns the pipeline without one pass."""
    kept = (_without(element, item) if isinstance(element, Pipeline) else element for element in pipeline.elements if element is not item)
    return Pipeline(pipeline.anchor, tuple(kept))
