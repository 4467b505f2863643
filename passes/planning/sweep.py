"""Best fit in the order in which buffers begin, by a sweep over time that keeps the free ranges: O(n log n), however many live at once."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from flambeau.passes.planning.buffers import Buffer


class _Arena:
    """The free ranges below the highest byte in use."""

    def __init__(self) -> None:
        self.top = 0
        self._by_size: list[tuple[int, int]] = []
        """Size and offset of each, sorted."""
        self._end_of: dict[int, int] = {}
        self._start_of: dict[int, int] = {}

    def _add(self, low: int, high: int) -> None:
        insort(self._by_size, (high - low, low))
        self._end_of[low] = high
        self._start_of[high] = low

    def _remove(self, low: int, high: int) -> None:
        del self._by_size[bisect_left(self._by_size, (high - low, low))], self._end_of[low], self._start_of[high]

    def take(self, size: int) -> int:
        """Returns the offset of `size` bytes: in the lowest of the free ranges that they fill best, or at the top if they fit in none."""
        place = bisect_left(self._by_size, (size, 0))
        if place == len(self._by_size):
            low = self.top
            self.top += size
            return low
        found, low = self._by_size[place]
        self._remove(low, low + found)
        if found > size:
            self._add(low + size, low + found)
        return low

    def give_back(self, low: int, size: int) -> None:
        """Frees what `take` gave."""
        high = low + size
        if (start := self._start_of.get(low)) is not None:
            self._remove(start, low)
            low = start
        if (end := self._end_of.get(high)) is not None:
            self._remove(high, end)
            high = end
        if high == self.top:
            self.top = low
        else:
            self._add(low, high)


def place_in_time(buffers: Sequence[Buffer], *, backwards: bool = False) -> list[int]:
    """Returns the offset of each buffer when they are placed as they begin, larger ones of a moment first; or, `backwards`, as they end.

    The same as `place` in the order "start" with `tightest_hole`.

    Args:
        buffers: of at least a byte each.
        backwards: whether time runs from the end to the beginning.
    """
    if backwards:
        buffers = [Buffer(-end, -start, size) for start, end, size in buffers]
    arena = _Arena()
    offsets = [0] * len(buffers)
    ending = sorted(range(len(buffers)), key=lambda index: buffers[index].end)
    freed = 0
    for index in sorted(range(len(buffers)), key=lambda index: (buffers[index].start, -buffers[index].size)):
        start, _, size = buffers[index]
        while buffers[ending[freed]].end <= start:
            arena.give_back(offsets[ending[freed]], buffers[ending[freed]].size)
            freed += 1
        offsets[index] = arena.take(size)
    return offsets
