"""The order of steps in which the fewest bytes are live at once, by a search that is exact where it ends before its effort is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

EFFORT = 32
"""How often the search looks, for each step, at a step that may be next; as often as for `_FEWEST` steps where there are fewer."""
_FEWEST = 64


@dataclass(frozen=True)
class OrderedBuffer:
    """Bytes that are live from the first of some steps to the last of them."""

    size: int
    steps: tuple[int, ...]
    """The steps that use it, by their numbers."""
    is_before: bool = False
    """Whether it is live before all steps."""
    is_after: bool = False
    """Whether it stays live after all steps."""


class Steps:
    """Steps with the steps that each needs before it, and the buffers that they use."""

    def __init__(self, needs: Sequence[Sequence[int]], buffers: Sequence[OrderedBuffer]):
        self.count = len(needs)
        self.needs = [sum(1 << step for step in set(before)) for before in needs]
        self.followers: list[list[int]] = [[] for _ in needs]
        for step, before in enumerate(needs):
            for other in set(before):
                self.followers[other].append(step)
        self.at_start = sum(buffer.size for buffer in buffers if buffer.is_before)
        self._begins: list[list[tuple[int, int]]] = [[] for _ in needs]
        """For each step, the sizes of buffers that it may be the first to use, and the steps that use them."""
        self._ends: list[list[tuple[int, int]]] = [[] for _ in needs]
        for buffer in buffers:
            users = sum(1 << step for step in set(buffer.steps))
            for step in set(buffer.steps):
                if not buffer.is_before:
                    self._begins[step].append((buffer.size, users))
                if not buffer.is_after:
                    self._ends[step].append((buffer.size, users))

    def run(self, step: int, done: int, live: int) -> tuple[int, int]:
        """Returns the bytes that are live during a step after those of `done`, with `live` bytes between them, and after it."""
        during = live + sum(size for size, users in self._begins[step] if not users & done)
        done |= 1 << step
        return during, during - sum(size for size, users in self._ends[step] if not users & ~done)

    def peak(self, order: Sequence[int]) -> int:
        """Returns the most bytes that are live at once in an order."""
        done, live, most = 0, self.at_start, self.at_start
        for step in order:
            during, live = self.run(step, done, live)
            most = max(most, during)
            done |= 1 << step
        return most


@dataclass(frozen=True)
class _Node:
    """Steps that came first, in some order."""

    done: int
    live: int
    ready: tuple[int, ...]
    """The steps that may be next."""
    peak: int
    last: int = -1
    """The last step; -1 at the start."""
    before: _Node | None = None

    def path(self) -> Iterator[int]:
        """Yields the steps, the last one first."""
        node: _Node | None = self
        while node is not None and node.last >= 0:
            yield node.last
            node = node.before


def best_order(steps: Steps, floor: int = 0, effort: int = EFFORT) -> list[int] | None:
    """Returns the order with the lowest peak, if it is below that of the steps as they stand; None otherwise.

    A branch and bound over the sets of steps that may come first, which goes on where most steps are done: it soon has some better order,
    and ends when no set is left that leads to a still better one. Of the steps that may be next, one that frees at least what it takes, and
    needs no new peak, comes first in some best order: no other is tried then. When the effort is spent, the best order so far is returned.

    Args:
        steps: the steps, numbered in their present order.
        floor: peaks below it are as good as it.
        effort: bounds the search, in looks for each step at one that may be next.
    """
    limit = steps.peak(range(steps.count))
    best: list[int] | None = None
    looks = effort * max(steps.count, _FEWEST)
    first = _Node(0, steps.at_start, tuple(step for step in range(steps.count) if not steps.needs[step]), max(steps.at_start, floor))
    queue: list[tuple[int, int, int, int, _Node]] = [(0, 0, 0, 0, first)]
    known = {0: first.peak}
    pushed = 0
    while queue and limit > floor and looks > 0:
        done, *_, node = heappop(queue)
        if node.peak >= limit or known[node.done] < node.peak:
            continue
        if -done == steps.count:
            best, limit = list(node.path())[::-1], node.peak
            continue
        ran: list[tuple[int, int, int]] = []
        for step in node.ready:
            looks -= 1
            during, after = steps.run(step, node.done, node.live)
            if during <= node.peak and after <= node.live:
                ran = [(step, during, after)]
                break
            if during < limit:
                ran.append((step, during, after))
        for step, during, after in ran:
            reached, peak = node.done | 1 << step, max(node.peak, during)
            if known.get(reached, limit) <= peak:
                continue
            known[reached] = peak
            begun = [other for other in steps.followers[step] if not steps.needs[other] & ~reached]
            pushed += 1
            following = _Node(reached, after, (*begun, *(other for other in node.ready if other != step)), peak, step, node)
            heappush(queue, (done - 1, peak, after, pushed, following))
    return best
