"""Bytes that stay what they are, in memory or in a temporary file."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_IN_MEMORY = 1 << 24
"""The greatest number of bytes that are kept in memory."""

_PIECE = 1 << 20
"""The bytes that are copied at a time."""


class UnchangingBytes:
    """A copy of bytes whose owner may change them. A large copy is in a temporary file, which has no name, and takes no memory."""

    def __init__(self, parts: Sequence[Buffer]):
        """Copies `parts`, one behind the other. Without room for a temporary file, memory holds them."""
        self._size = sum(memoryview(part).nbytes for part in parts)
        kept = _in_file(parts) if self._size > MOST_IN_MEMORY else None
        self._content = b"".join(parts) if kept is None else kept
        self._lock = Lock()

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        if isinstance(self._content, bytes):
            return self._content
        with self._lock:
            self._content.seek(0)
            return self._content.read()

    def write_to(self, file: IO[bytes]) -> None:
        """Writes the bytes to an open file. Raises OSError."""
        if isinstance(self._content, bytes):
            file.write(self._content)
            return
        with self._lock:
            self._content.seek(0)
            while piece := self._content.read(_PIECE):
                file.write(piece)


def _in_file(parts: Sequence[Buffer]) -> IO[bytes] | None:
    """Returns a temporary file of the parts; None where no folder for temporary files has room for it."""
    try:
        file = TemporaryFile(buffering=0)
    except OSError:
        return None
    try:
        for part in parts:
            left = memoryview(part).cast("B")
            while left:  # a system writes at most 2 GB at a time
                left = left[file.write(left) :]
    except OSError:
        file.close()
        return None
    return file
