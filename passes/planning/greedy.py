"""ExecuTorch's greedy planner, a bound that our plans must not exceed.

Written from the behaviour of version 1.5.1. Buffers by falling size go into objects whose size never changes. One that conflicts with
nothing in some object lies at its beginning, else above the conflicting ones of the first object where it fits, else in a new object.
Objects lie end to end, so holes inside them are never filled.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.passes.planning.buffers import Buffer


def greedy(buffers: Sequence[Buffer], conflicts: Sequence[Sequence[int]]) -> list[int]:
    """Returns the offset of each buffer."""
    order = sorted(range(len(buffers)), key=lambda index: (-buffers[index].size, -index))
    objects: list[int] = []
    home = [-1] * len(buffers)
    inside = [0] * len(buffers)
    for index in order:
        size = buffers[index].size
        tops: dict[int, int] = {}
        for other in conflicts[index]:
            if (which := home[other]) >= 0:
                tops[which] = max(tops.get(which, 0), inside[other] + buffers[other].size)
        which = next((free for free in range(len(tops) + 1) if free not in tops), len(tops))
        if which >= len(objects):
            fitting = (item for item in sorted(tops) if 0 < tops[item] and tops[item] + size <= objects[item])
            which = next(fitting, len(objects))
        if which == len(objects):
            objects.append(size)
        home[index], inside[index] = which, tops.get(which, 0)
    begins = [0]
    for size in objects:
        begins.append(begins[-1] + size)
    return [begins[which] + low for which, low in zip(home, inside, strict=True)]
