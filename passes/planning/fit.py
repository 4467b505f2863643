"""First fit and best fit: places buffers in some order, each in a hole between those placed before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.passes.planning.buffers import Buffer

UNPLACED = -1

Order = Callable[[Sequence[Buffer]], list[int]]


def _sorted_by(key: Callable[[Buffer], tuple[int, ...]]) -> Order:
    return lambda buffers: sorted(range(len(buffers)), key=lambda index: (*key(buffers[index]), index))


def _by_contention(buffers: Sequence[Buffer]) -> list[int]:
    """Buffers that live in the fullest moments first, larger ones before smaller ones."""
    times = sorted({time for start, end, _ in buffers for time in (start, end)})
    position = {time: index for index, time in enumerate(times)}
    change = [0] * (len(times) + 1)
    for start, end, size in buffers:
        change[position[start]] += size
        change[position[end]] -= size
    # A sparse table answers the maximum over any span in constant time.
    live: list[int] = []
    total = 0
    for delta in change[: len(times)]:
        total += delta
        live.append(total)
    table = [live]
    while (width := 1 << (len(table) - 1)) * 2 <= len(live):
        last = table[-1]
        table.append([max(last[index], last[index + width]) for index in range(len(last) - width)])

    def most(start: int, end: int) -> int:
        low, high = position[start], position[end]
        level = (high - low).bit_length() - 1
        return max(table[level][low], table[level][high - (1 << level)])

    return sorted(range(len(buffers)), key=lambda index: (-most(*buffers[index][:2]), -buffers[index].size, index))


ORDERS: dict[str, Order] = {
    "size": _sorted_by(lambda b: (-b.size, b.start - b.end, b.start)),
    "size and life": _sorted_by(lambda b: (-(b.size**3) * (b.end - b.start), b.start)),
    "area": _sorted_by(lambda b: (-b.size * (b.end - b.start), -b.size)),
    "contention": _by_contention,
    "life": _sorted_by(lambda b: (b.start - b.end, -b.size)),
    "start": _sorted_by(lambda b: (b.start, -b.size)),
}
"""In which order buffers are placed; the first ones find the best places."""


def lowest_hole(size: int, taken: list[tuple[int, int]]) -> int:
    """Returns the lowest offset with `size` bytes free, beside the ranges `taken` (sorted by where they begin)."""
    top = 0
    for low, high in taken:
        if low - top >= size:
            return top
        if high > top:
            top = high
    return top


def tightest_hole(size: int, taken: list[tuple[int, int]]) -> int:
    """As `lowest_hole`, of all holes between ranges the one that `size` fills best; above them only if it fits in none."""
    top, best, waste = 0, UNPLACED, -1
    for low, high in taken:
        left = low - top - size
        if left >= 0 and (best == UNPLACED or left < waste):
            best, waste = top, left
        if high > top:
            top = high
    return top if best == UNPLACED else best


Hole = Callable[[int, list[tuple[int, int]]], int]


def place(buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]], order: Sequence[int], hole: Hole = lowest_hole) -> list[int]:
    """Returns the offset of each buffer when they are placed in `order`, each into the `hole` that is chosen for it."""
    offsets = [UNPLACED] * len(buffers)
    for index in order:
        size = buffers[index].size
        taken = [(low, low + buffers[other].size) for other in conflicts[index] if (low := offsets[other]) >= 0]
        taken.sort()
        offsets[index] = hole(size, taken)
    return offsets
