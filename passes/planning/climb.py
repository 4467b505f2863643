"""Hill climbing over the order of placement: what lies at the top of the arena is placed earlier."""

from __future__ import annotations

import random
from collections.abc import Sequence

from flambeau.passes.planning.buffers import Buffer
from flambeau.passes.planning.fit import UNPLACED, lowest_hole


class _Climber:
    """One order and its first fit, with a cheap way to try another order that starts the same."""

    def __init__(self, buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]], order: Sequence[int]):
        self.buffers = buffers
        self.conflicts = conflicts
        self.order = list(order)
        self.rank = [0] * len(buffers)
        self.offsets = [UNPLACED] * len(buffers)
        self.visits = 0
        self.place_from(0)

    def place_from(self, position: int) -> None:
        """Places the buffers from `position` of the order again."""
        buffers, offsets, rank = self.buffers, self.offsets, self.rank
        for place in range(position, len(self.order)):
            rank[self.order[place]] = place
        for place in range(position, len(self.order)):
            index = self.order[place]
            near = self.conflicts[index]
            self.visits += len(near) + 8
            taken = [(low := offsets[other], low + buffers[other].size) for other in near if rank[other] < place]
            taken.sort()
            offsets[index] = lowest_hole(buffers[index].size, taken)

    def top(self) -> int:
        return max(offset + buffer.size for offset, buffer in zip(self.offsets, self.buffers, strict=True))

    def highest(self) -> list[int]:
        """The buffers that end at the top."""
        top = self.top()
        return [index for index, buffer in enumerate(self.buffers) if self.offsets[index] + buffer.size == top]


def climb(
    buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]], order: Sequence[int], bound: int, *, effort: int, seed: int = 0
) -> list[int]:
    """The offsets of the best order found from `order` on, by moves that do not make the arena larger.

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
    size = best_size = climber.top()
    best = list(climber.offsets)
    while size > bound and climber.visits < effort:
        old_order, old_offsets, old_rank = list(climber.order), list(climber.offsets), list(climber.rank)
        top = choice.choice(climber.highest())
        victim = top
        if choice.random() < 0.5 and conflicts[top]:
            victim = choice.choice(conflicts[top])
        here = climber.rank[victim]
        there = choice.randrange(here) if here and (victim == top or choice.random() < 0.5) else choice.randrange(len(order))
        climber.order.insert(there, climber.order.pop(here))
        climber.place_from(min(here, there))
        size = climber.top()
        if size <= best_size:
            if size < best_size:
                best, best_size = list(climber.offsets), size
        else:
            climber.order, climber.offsets, climber.rank = old_order, old_offsets, old_rank
    return best
