"""Instrumentations, which watch a pipeline without its passes knowing (MLIR's PassInstrumentation)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.passes.rewriting.actions import Action

if TYPE_CHECKING:
    from flambeau.passes.manager.pipeline import Pipeline


@dataclass(eq=False)
class PassStep:
    """One run of a pass on one operation."""

    index: int
    """The number of runs of passes before it, in the whole pipeline."""
    pass_: ModulePass
    op: Operation
    """The operation that the pass runs on: the module, or the function of a nested pipeline."""
    module: ModuleOp
    """The module around `op`."""
    context: Context
    path: tuple[str, ...]
    """The anchors of the pipelines around the pass: `("builtin.module", "func.func")`."""
    counters: Counter[str] = field(default_factory=Counter[str])
    """The counters of the pass, once it ran."""
    position: tuple[int, ...] = ()
    """The position of the pass in the pipeline: its index among the elements, at each level of nesting."""

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.pass_.name


class Instrumentation:
    """Base class of instrumentations; override the hooks to receive. `after_` hooks run in the reverse order of the `before_` hooks.

    A class that overrides `before_action` or `after_action` makes every attempt to rewrite an event; the others cost nothing there.
    """

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Called once, before the first pass."""

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Called once, after the last pass; not after a failure."""

    def before_nested_pipeline(self, pipeline: Pipeline, op: Operation) -> None:
        """Called before a nested pipeline runs on one operation."""

    def after_nested_pipeline(self, pipeline: Pipeline, op: Operation) -> None:
        """Called after it ran; not after a failure."""

    def before_pass(self, step: PassStep) -> None:
        """Called before each run of a pass."""

    def check_pass(self, step: PassStep) -> None:
        """Called after each run that left valid IR. May raise PassError: the pass has then failed."""

    def after_pass(self, step: PassStep) -> None:
        """Called after each run that succeeded, whose result is valid and satisfied every `check_pass`."""

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Called when a pass raised, left invalid IR, or was refused by a check. The error is raised again afterwards."""

    def before_verification(self, step: PassStep) -> None:
        """Called between a pass and the verification and checks of what it left. Not called where nothing is verified or checked.

        When a nested pipeline is done, the whole module is verified: that is announced with the last step.
        """

    def after_verification(self, step: PassStep) -> None:
        """Called once what a pass left was found valid; not after a failure."""

    def before_action(self, action: Action) -> bool:
        """Returns whether an attempt to rewrite may happen."""
        return True

    def after_action(self, action: Action, changed: bool) -> None:
        """Called after an attempt that happened."""

    def after_action_forbidden(self, action: Action) -> None:
        """Called instead of `after_action` when an instrumentation behind this one forbade an attempt that this one allowed."""


class Instrumentations:
    """Several instrumentations as one listener of actions."""

    def __init__(self, items: tuple[Instrumentation, ...]):
        self.items = items
        self._watchers = tuple(item for item in items if _watches_actions(type(item)))

    @property
    def watches_actions(self) -> bool:
        """Whether any of them watches actions."""
        return bool(self._watchers)

    @property
    def checks_passes(self) -> bool:
        """Whether any of them may refuse what a pass left."""
        return any(type(item).check_pass is not Instrumentation.check_pass for item in self.items)

    def before_action(self, action: Action) -> bool:
        """Returns whether all allow it; each is asked as long as those before it do."""
        for index, watcher in enumerate(self._watchers):
            if not watcher.before_action(action):
                for earlier in reversed(self._watchers[:index]):
                    earlier.after_action_forbidden(action)
                return False
        return True

    def after_action(self, action: Action, changed: bool) -> None:
        """Tells them in reverse order."""
        for watcher in reversed(self._watchers):
            watcher.after_action(action, changed)


def _watches_actions(kind: type[Instrumentation]) -> bool:
    return kind.before_action is not Instrumentation.before_action or kind.after_action is not Instrumentation.after_action
