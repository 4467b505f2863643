"""Actions: single rewrites as events that can be watched, timed, counted and forbidden (MLIR's Actions).

The pattern driver announces each attempt to apply a pattern. A pass that rewrites in a sweep of its own asks `may_rewrite` first. Both cost
one look-up when nobody listens.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from xdsl.ir import Operation


@dataclass(frozen=True, eq=False)
class Action:
    """One attempt to rewrite, or one analysis."""

    kind: str
    """`pattern`, `rewrite` (of a pass's own sweep) or `analysis`."""
    name: str
    """The pattern's class, the pass, or the analysis."""
    op: Operation
    """Where; before the attempt it is still what it was."""


def note_action(error: BaseException, action: Action) -> None:
    """Attaches the action to an exception, unless an inner action is attached already."""
    vars(error).setdefault("flambeau_action", action)


def action_of(error: BaseException) -> Action | None:
    """Returns the attempt to rewrite that raised an exception, if there was one."""
    return vars(error).get("flambeau_action")


class ActionListener(Protocol):
    """A watcher of actions. Its answer for an attempt must depend on earlier attempts only, so that runs can be repeated."""

    def before_action(self, action: Action) -> bool:
        """Returns whether the attempt may happen."""
        ...

    def after_action(self, action: Action, changed: bool) -> None:
        """Called after an attempt that happened; `changed` says whether the pattern matched."""
        ...


class _Watch:
    """A listener, and whether it ever said no."""

    def __init__(self, listener: ActionListener):
        self._listener = listener
        self.refused = False

    def before_action(self, action: Action) -> bool:
        allowed = self._listener.before_action(action)
        self.refused |= not allowed
        return allowed

    def after_action(self, action: Action, changed: bool) -> None:
        self._listener.after_action(action, changed)


_WATCH: ContextVar[_Watch | None] = ContextVar("flambeau_actions", default=None)


def action_listener() -> ActionListener | None:
    """Returns the current listener."""
    return _WATCH.get()


@contextmanager
def watching(listener: ActionListener | None) -> Generator[None, None, None]:
    """Announces every action within the block to `listener`, and to nobody else."""
    token = _WATCH.set(None if listener is None else _Watch(listener))
    try:
        yield
    finally:
        _WATCH.reset(token)


def was_restricted() -> bool:
    """Returns whether some action of this run was forbidden: what passes left undone may then not be a fault of the program."""
    watch = _WATCH.get()
    return watch is not None and watch.refused


def may_rewrite(name: str, op: Operation) -> bool:
    """Asks before a rewrite of `op` that is certain to happen if allowed: for passes that do not use the pattern driver.

    Any suffix of a run's rewrites may be forbidden, as `flambeau bisect` does, so what a pass left after each of them must be valid IR.

    Args:
        name: the pass, as a rule `self.name`.
        op: what will be rewritten; it is still what it was.
    """
    listener = _WATCH.get()
    if listener is None:
        return True
    action = Action("rewrite", name, op)
    if not listener.before_action(action):
        return False
    listener.after_action(action, True)
    return True


@contextmanager
def analysis(name: str, op: Operation) -> Generator[None, None, None]:
    """Announces an analysis of `op`, so that its time is told apart from that of the rewriting around it."""
    listener = _WATCH.get()
    if listener is None:
        yield
        return
    action = Action("analysis", name, op)
    listener.before_action(action)
    try:
        yield
    finally:
        listener.after_action(action, False)
