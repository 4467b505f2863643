"""The number of live bytes at each moment, kept up to date while lifetimes change."""

from __future__ import annotations


class LiveProfile:
    """Bytes over time. Adding to a span and reading the maximum cost O(log n): a segment tree whose nodes hold what covers them whole."""

    def __init__(self, moments: int):
        self._moments = max(moments, 1)
        self._most = [0] * (2 * self._moments)
        self._added = [0] * self._moments

    @property
    def most(self) -> int:
        """The most bytes live at one moment."""
        return self._most[1]

    def add(self, start: int, end: int, size: int) -> None:
        """Adds `size` bytes (or takes them away, below 0) to each moment of [start, end)."""
        low, high = start + self._moments, end + self._moments
        edges = (low, high - 1)
        while low < high:
            if low & 1:
                self._cover(low, size)
                low += 1
            if high & 1:
                high -= 1
                self._cover(high, size)
            low >>= 1
            high >>= 1
        for node in edges:
            while node > 1:
                node >>= 1
                self._most[node] = max(self._most[2 * node], self._most[2 * node + 1]) + self._added[node]

    def _cover(self, node: int, size: int) -> None:
        self._most[node] += size
        if node < self._moments:
            self._added[node] += size
