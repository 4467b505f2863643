"""How deep a module may be nested."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

_FRAMES = 8000
"""Python's own limit ends the parser at 120 regions within each other, which generated loops reach; this is enough for 700, and far from
what the stack of the machine holds."""


@contextmanager
def room_for_nesting() -> Generator[None, None, None]:
    """Within the block, calls may be nested this deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
