"""Partial runs of a pipeline: up to a step, with only the first attempts to rewrite in that step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from flambeau.passes.manager import Instrumentation, PassStep
from flambeau.passes.rewriting.actions import Action


class Stopped(Exception):
    """A signal that the run reached its stop. This is not a failure."""


class StopAt(Instrumentation):
    """An instrumentation that stops a run before a step, by raising `Stopped`."""

    def __init__(self, index: int):
        self._index = index

    def before_pass(self, step: PassStep) -> None:
        """Raises `Stopped` before the chosen step."""
        if step.index == self._index:
            raise Stopped


class Steps(Instrumentation):
    """An instrumentation that records the steps of a run."""

    def __init__(self) -> None:
        self.steps: list[PassStep] = []

    def before_pass(self, step: PassStep) -> None:
        """Records the step."""
        self.steps.append(step)


@dataclass(frozen=True)
class Attempt:
    """An attempt to rewrite within the steps that a `Window` watches."""

    number: int
    """Counted from 1."""
    name: str
    """The name of the pattern, or of the pass if it rewrites without patterns."""
    is_finished: bool = False
    """Whether the attempt returned; False if it raised."""
    has_changed: bool = False

    @property
    def matters(self) -> bool:
        """Whether the attempt changed the IR or raised."""
        return self.has_changed or not self.is_finished


class Window(Instrumentation):
    """An instrumentation that allows the first attempts to rewrite in some steps, and all attempts in the other steps.

    Args:
        selects: whether attempts in a step are counted and limited.
        limit: how many attempts may happen in the selected steps; None for all.
        stop_after: the index of the step to stop after, if any.
        stop_when_full: whether to stop after the step in which attempt number `limit` happened.
        keep: whether to keep a copy of the module before the first selected step.
        at_last: called with the module before attempt number `limit`.
    """

    def __init__(
        self,
        selects: Callable[[PassStep], bool],
        limit: int | None = None,
        *,
        stop_after: int | None = None,
        stop_when_full: bool = False,
        keep: bool = False,
        at_last: Callable[[Action, ModuleOp], None] | None = None,
    ):
        self._selects = selects
        self._limit = limit
        self._stop_after = stop_after
        self._stop_when_full = stop_when_full
        self._keep = keep
        self._at_last = at_last
        self._step: PassStep | None = None
        self.first: PassStep | None = None
        """The first of the steps."""
        self.before: ModuleOp | None = None
        """The module before it, if it was to be kept."""
        self.place = 0
        """The place of its operation in a walk of the module."""
        self.attempts: list[Attempt] = []
        """Those that were let through in them."""

    def before_pass(self, step: PassStep) -> None:
        """Records the step that contains the next attempts."""
        self._step = step if self._selects(step) else None
        if self._step is not None and self.first is None:
            self.first, self.place = step, place_in(step)
            self.before = step.module.clone() if self._keep else None

    def after_pass(self, step: PassStep) -> None:
        """Raises `Stopped` after the last wanted step."""
        self._step = None
        if step.index == self._stop_after or (self._stop_when_full and len(self.attempts) == self._limit):
            raise Stopped

    def before_action(self, action: Action) -> bool:
        """Counts the attempt, and returns whether it is allowed."""
        if self._step is None or action.kind == "analysis":
            return True
        number = len(self.attempts) + 1
        if self._limit is not None and number > self._limit:
            return False
        if number == self._limit and self._at_last is not None:
            self._at_last(action, self._step.module)
        self.attempts.append(Attempt(number, action.name))
        return True

    def after_action(self, action: Action, changed: bool) -> None:
        """Records the result of the attempt."""
        if self._step is not None and action.kind != "analysis":
            last = self.attempts[-1]
            self.attempts[-1] = Attempt(last.number, last.name, is_finished=True, has_changed=changed)


class RefuseAll(Instrumentation):
    """An instrumentation that forbids every attempt to rewrite, and counts them."""

    def __init__(self) -> None:
        self.refused = 0
        self.before: dict[int, int] = {}
        """The number of attempts before each step, by the place of the step's operation in a walk of the module."""

    def before_pass(self, step: PassStep) -> None:
        """Records the step."""
        self.before[place_in(step)] = self.refused

    def before_action(self, action: Action) -> bool:
        """Counts the attempt and refuses it."""
        if action.kind == "analysis":
            return True
        self.refused += 1
        return False


def place_in(step: PassStep) -> int:
    """Returns the position, in a walk of the module, of the operation that a step runs on."""
    return next(index for index, op in enumerate(step.module.walk()) if op is step.op)
