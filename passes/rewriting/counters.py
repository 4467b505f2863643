"""Counters that passes keep: `count("folded")` adds one for the pass that is running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_COUNTERS: ContextVar[Counter[str] | None] = ContextVar("flambeau_counters", default=None)


def count(name: str, amount: int = 1) -> None:
    """Adds to a counter of the pass that is running, which `--pass-statistics` shows; does nothing outside of a pipeline."""
    counters = _COUNTERS.get()
    if counters is not None:
        counters[name] += amount


@contextmanager
def counting(counters: Counter[str]) -> Generator[None, None, None]:
    """Adds what is counted within the block to `counters`."""
    token = _COUNTERS.set(counters)
    try:
        yield
    finally:
        _COUNTERS.reset(token)
