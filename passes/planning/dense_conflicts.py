"""The planners for problems with so many conflicts that listing the pairs costs too much: each step works on arrays."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.passes.planning.buffers import Buffer
from flambeau.support.lazy import np


def place_dense(buffers: Sequence[Buffer], order: Sequence[int], *, tightest: bool = False) -> list[int]:
    """Returns offsets by first fit (best fit if `tightest`) in `order`, as `fit.place`; O(n) array work for each buffer."""
    count = len(buffers)
    # The placed buffers, sorted by offset: starts, ends, low and high addresses.
    placed = np.empty((4, count), dtype=np.int64)
    offsets = [0] * count
    for many, index in enumerate(order):
        start, end, size = buffers[index]
        live = (placed[0, :many] < end) & (placed[1, :many] > start)
        low, high = placed[2, :many][live], placed[3, :many][live]
        offset = 0
        if low.size:
            tops = np.concatenate((np.zeros(1, dtype=np.int64), np.maximum.accumulate(high)))
            left = low - tops[:-1] - size
            fitting = np.flatnonzero(left >= 0)
            chosen = low.size if not fitting.size else fitting[np.argmin(left[fitting])] if tightest else fitting[0]
            offset = int(tops[chosen])
        offsets[index] = offset
        at = int(np.searchsorted(placed[2, :many], offset, side="right"))
        placed[:, at + 1 : many + 1] = placed[:, at:many].copy()
        placed[:, at] = (start, end, offset, offset + size)
    return offsets


def greedy_dense(buffers: Sequence[Buffer]) -> list[int]:
    """ExecuTorch's greedy planner, as `greedy.greedy`; O(n) array work for each buffer."""
    count = len(buffers)
    order = sorted(range(count), key=lambda index: (-buffers[index].size, -index))
    # The placed buffers: starts, ends, home object, end within the object.
    placed = np.empty((4, count), dtype=np.int64)
    objects = np.zeros(count, dtype=np.int64)
    created = 0
    inside = [0] * count
    for many, index in enumerate(order):
        start, end, size = buffers[index]
        live = (placed[0, :many] < end) & (placed[1, :many] > start)
        tops = np.full(created + 1, -1, dtype=np.int64)
        np.maximum.at(tops, placed[2, :many][live], placed[3, :many][live])
        which = int(np.argmax(tops == -1))
        low = 0
        if which == created:
            fitting = np.flatnonzero((tops[:-1] > 0) & (tops[:-1] + size <= objects[:created]))
            if fitting.size:
                which = int(fitting[0])
                low = int(tops[which])
            else:
                objects[created] = size
                created += 1
        inside[index] = low
        placed[:, many] = (start, end, which, low + size)
    begins = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(objects)))
    for index, home in zip(order, placed[2].tolist(), strict=True):
        inside[index] += int(begins[home])
    return inside
