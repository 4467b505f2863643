"""Why a pattern did not apply: patterns give reasons, listeners keep them, and a trace keeps what a declared graph lacked."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("flambeau_explanation", default=None)
_DECLINED: ContextVar[bool] = ContextVar("flambeau_declined", default=False)
_TRACE: ContextVar[Trace | None] = ContextVar("flambeau_trace", default=None)


class Trace:
    """The reason why a pattern did not apply: its own, or the first mismatch of its graph.

    A graph may be tried in several ways. The reason is that of the way in which most of the graph matched.
    """

    def __init__(self, root: object):
        self.root = root
        """The operation that the pattern is tried on."""
        self.reason = ""
        """Empty if the pattern gave no reason."""
        self._depth = -1

    def miss(self, depth: int, reason: str) -> None:
        """Notes what was missing when `depth` parts of the graph had matched."""
        if depth > self._depth:
            self._depth, self.reason = depth, reason

    def decline(self, reason: str) -> None:
        """Notes the reason that the pattern gives, which replaces what its graph lacked."""
        self._depth, self.reason = 1 << 30, reason


def decline(reason: str | Callable[[], str]) -> None:
    """Records why the running pattern does not apply to an operation.

    A pattern ends with `return decline("the weight is not a constant")`. If the operation is still there in the end, users read it as a
    remark, or in the report of a conversion that fails.

    Args:
        reason: a clause of a sentence; as a function if it takes work to write: it is called only when somebody listens.
    """
    _DECLINED.set(True)
    listener, trace = _LISTENER.get(), _TRACE.get()
    if listener is not None or trace is not None:
        text = reason if isinstance(reason, str) else reason()
        if listener is not None:
            listener(text)
        if trace is not None:
            trace.decline(text)


def has_declined() -> bool:
    """Returns whether `decline` was called since this function was asked last."""
    found = _DECLINED.get()
    _DECLINED.set(False)
    return found


def current_trace() -> Trace | None:
    """Returns the trace of the attempt that runs, if somebody wants one."""
    return _TRACE.get()


def set_trace(trace: Trace | None) -> None:
    """Makes `trace` that of the attempts that follow; None ends tracing."""
    _TRACE.set(trace)


@contextmanager
def explaining(listener: Listener) -> Generator[None, None, None]:
    """Hands every reason within the block to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
