"""The places of weights in the bytes that an application gives a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

ALIGNMENT = 16
"""Bytes of which each place is a multiple."""


def blob_offsets(sizes: Iterable[int]) -> Iterator[int]:
    """Yields the offset in bytes of each weight, of `sizes` bytes in order, and then the bytes of all."""
    offset = 0
    for size in sizes:
        yield offset
        offset += -(-size // ALIGNMENT) * ALIGNMENT
    yield offset
