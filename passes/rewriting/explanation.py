"""The reasons why a pattern did not apply: patterns give them, listeners keep them; without listeners they cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("flambeau_explanation", default=None)


def decline(reason: str | Callable[[], str]) -> None:
    """Says why the pattern that runs leaves an operation alone that it was nearly made for.

    A pattern ends with `return decline("the weight is not a constant")`. If the operation is still there in the end, users read it as a
    remark, or in the report of a conversion that fails.

    Args:
        reason: a clause of a sentence; as a function if it takes work to write: it is called only when somebody listens.
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(reason if isinstance(reason, str) else reason())


@contextmanager
def explaining(listener: Listener) -> Generator[None, None, None]:
    """Hands every reason within the block to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
