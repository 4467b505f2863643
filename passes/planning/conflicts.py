"""Finds the buffers that are live at the same time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush

from flambeau.passes.planning.buffers import Buffer


def count_conflicts(buffers: Sequence[Buffer]) -> int:
    """Returns the number of pairs of buffers that are live together, in O(n log n)."""
    starts = sorted(buffer.start for buffer in buffers)
    # Counts the pairs in which the later buffer starts before the earlier buffer ends.
    return sum(bisect_left(starts, end) - position - 1 for position, (_, end, _) in enumerate(sorted(buffers)))


def conflict_lists(buffers: Sequence[Buffer]) -> list[list[int]]:
    """Returns for each buffer the buffers that are live together with it, in time linear in their number."""
    found: list[list[int]] = [[] for _ in buffers]
    live: dict[int, None] = {}
    ends: list[tuple[int, int]] = []
    for index in sorted(range(len(buffers)), key=lambda index: buffers[index].start):
        start, end, _ = buffers[index]
        while ends and ends[0][0] <= start:
            del live[heappop(ends)[1]]
        found[index].extend(live)
        for other in live:
            found[other].append(index)
        live[index] = None
        heappush(ends, (end, index))
    return found
