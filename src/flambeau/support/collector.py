"""Pauses Python's collector of cycles, which costs a compiler time and frees nothing."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None, None, None]:
    """Pauses the collector of cycles within a block or function: all operations of a module are alive, so the collector frees nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
