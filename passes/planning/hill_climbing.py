"""Hill climbing over the order of placement: buffers at the top of the arena get another turn in the order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from heapq import heappop, heappush

from flambeau.passes.planning.buffers import Buffer
from flambeau.passes.planning.fit import lowest_hole, place


class _Climber:
    """An order and its first fit. After a move, only those buffers are placed again that have another neighbour below them than before."""

    def __init__(self, buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]], order: Sequence[int]):
        self.sizes = [buffer.size for buffer in buffers]
        self.conflicts = conflicts
        self.order = list(order)
        self.rank = [0] * len(buffers)
        for place_in_order, index in enumerate(order):
            self.rank[index] = place_in_order
        self.offsets = place(buffers, conflicts, order)
        self.visits = 0
        self.top = self._top()

    def _top(self) -> int:
        self.visits += len(self.sizes) // 8
        return max(offset + size for offset, size in zip(self.offsets, self.sizes, strict=True))

    def highest(self) -> list[int]:
        """Returns the buffers that end at the top."""
        self.visits += len(self.sizes) // 8
        return [index for index, size in enumerate(self.sizes) if self.offsets[index] + size == self.top]

    def _reorder(self, here: int, there: int) -> None:
        self.order.insert(there, self.order.pop(here))
        for position in range(min(here, there), max(here, there) + 1):
            self.rank[self.order[position]] = position

    def move(self, buffer: int, there: int) -> bool:
        """Places a buffer at another turn, unless that raises the top; returns whether it did."""
        here = self.rank[buffer]
        low, high = min(here, there), max(here, there)
        self._reorder(here, there)
        pending = [self.rank[index] for index in (buffer, *self.conflicts[buffer]) if low <= self.rank[index] <= high]
        before = self._place_again(sorted(pending))
        if before is None:
            self.top = self._top()
            return True
        for index, offset in reversed(before):
            self.offsets[index] = offset
        self._reorder(there, here)
        return False

    def _place_again(self, pending: list[int]) -> list[tuple[int, int]] | None:
        """Places the buffers at these turns again, and those that this touches.

        Stops at the first one that would end above the top; gives the offsets that were changed until then, None when all is well.
        """
        rank, offsets, sizes = self.rank, self.offsets, self.sizes
        changed: list[tuple[int, int]] = []
        waiting = set(pending)
        while pending:
            turn = heappop(pending)
            waiting.discard(turn)
            index = self.order[turn]
            near = self.conflicts[index]
            self.visits += len(near) + 8
            taken = [(offsets[other], offsets[other] + sizes[other]) for other in near if rank[other] < turn]
            taken.sort()
            offset = lowest_hole(sizes[index], taken)
            if offset == offsets[index]:
                continue
            changed.append((index, offsets[index]))
            offsets[index] = offset
            if offset + sizes[index] > self.top:
                return changed
            for other in near:
                later = rank[other]
                if later > turn and later not in waiting:
                    waiting.add(later)
                    heappush(pending, later)
        return None


def climb(
    buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]], order: Sequence[int], bound: int, *, effort: int, seed: int = 0
) -> list[int]:
    """Returns the offsets of the best order found from `order` on, by moves that do not make the arena larger.

    Args:
        buffers: with aligned sizes.
        conflicts: of each buffer, those live with it.
        order: where to start.
        bound: stop at this size.
        effort: how many looks at a neighbour to spend, which bounds the time.
        seed: of the random choices; equal arguments give equal results.
    """
    choice = random.Random(seed)
    climber = _Climber(buffers, conflicts, order)
    while climber.top > bound and climber.visits < effort:
        # Half of the moves reorder the buffer at the top, mostly to an earlier turn; the rest reorder a buffer that conflicts with it.
        victim = top = choice.choice(climber.highest())
        if conflicts[top] and choice.random() < 0.5:
            victim = choice.choice(conflicts[top])
        here = climber.rank[victim]
        earlier = here and (victim == top or choice.random() < 0.5)
        there = choice.randrange(here) if earlier else choice.randrange(len(order))
        if there != here:
            climber.move(victim, there)
        climber.visits += 1
    return climber.offsets
