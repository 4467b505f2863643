"""The process of a tool: exit statuses, standard streams, the recursion limit, garbage collection."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOBase
from typing import Any

CRASHED = 70
"""The exit status of a bug in a pass or in the tool, as in sysexits.h."""
INTERRUPTED, BROKEN_PIPE = 130, 141
"""The exit statuses of tools that SIGINT and SIGPIPE end."""


_FRAMES = 8000
"""The recursion limit. Python's own limit ends the parser at 120 regions within each other, which generated loops reach; this is enough
for 700, and the stack of the machine holds far more."""


def forget_stdout() -> None:
    """Redirects the interpreter's last flush to nowhere, because the reader of stdout is gone."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        pass


class _ClosedStream(TextIOBase):
    """A standard stream that was closed before the tool began; using it is an error."""

    def __init__(self, name: str):
        self._name = name

    @property
    def buffer(self) -> _ClosedStream:
        return self

    def read(self, size: int | None = -1, /) -> Any:
        self._fail()

    def write(self, text: Any, /) -> int:
        self._fail()
        return 0

    def _fail(self) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._name)


@contextmanager
def standard_streams() -> Generator[None, None, None]:
    """Provides stdin, stdout and stderr within the block, even if the tool was started without them; errors are then discarded."""
    before = sys.stdin, sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as null:
        sys.stdin = before[0] or _ClosedStream("<stdin>")
        sys.stdout = before[1] or _ClosedStream("<stdout>")
        sys.stderr = before[2] or null
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


@contextmanager
def room_for_nesting() -> Generator[None, None, None]:
    """Sets the recursion limit within the block."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
