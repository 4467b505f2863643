"""The planner that sweeps over time: the same places as the one that looks at pairs."""

from __future__ import annotations

import random

from flambeau.passes.planning.buffers import Buffer, check_plan, lower_bound
from flambeau.passes.planning.conflicts import conflict_lists
from flambeau.passes.planning.fit import ORDERS, place, tightest_hole
from flambeau.passes.planning.portfolio import MANY_CONFLICTS, plan_buffers
from flambeau.passes.planning.sweep import place_in_time


def random_buffers(chosen: random.Random) -> list[Buffer]:
    """A few buffers."""
    starts = [chosen.randrange(50) for _ in range(chosen.randrange(60))]
    return [Buffer(start, start + chosen.randrange(1, 30), chosen.randrange(1, 6) * 16) for start in starts]


def by_pairs(buffers: list[Buffer]) -> list[int]:
    """What the sweep is to give."""
    return place(buffers, conflict_lists(buffers), ORDERS["start"](buffers), tightest_hole)


def test_a_sweep_finds_what_a_look_at_all_pairs_finds() -> None:
    chosen = random.Random(1)
    for _ in range(300):
        buffers = random_buffers(chosen)
        assert place_in_time(buffers) == by_pairs(buffers)
        assert place_in_time(buffers, backwards=True) == by_pairs([Buffer(-end, -start, size) for start, end, size in buffers])


def test_more_tensors_at_once_than_can_be_compared_are_planned_at_the_bound() -> None:
    count = 4000
    assert count * (count - 1) // 2 > MANY_CONFLICTS
    # Each is computed over a temporary, and lives to the end.
    buffers = [Buffer(time, count, 32) for time in range(count)] + [Buffer(time, time + 2, 64) for time in range(0, count, 2)]
    plan = plan_buffers(buffers, alignment=16)
    check_plan(buffers, plan, 16)
    assert plan.size == lower_bound(buffers, 16)
    assert plan.algorithm == "best-fit by start"
