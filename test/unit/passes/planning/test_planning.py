"""The memory planners: valid plans, lower bounds, equal results for equal problems."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import block

from flambeau.passes.planning.buffers import Buffer, Plan, PlanError, align, check_plan, lower_bound
from flambeau.passes.planning.conflicts import conflict_lists, count_conflicts
from flambeau.passes.planning.dense_conflicts import greedy_dense, place_dense
from flambeau.passes.planning.fit import ORDERS, lowest_hole, place, tightest_hole
from flambeau.passes.planning.greedy import greedy
from flambeau.passes.planning.portfolio import ALGORITHMS, plan_buffers

ALIGNMENTS = (1, 4, 16, 64)
CASES = 10_000


def buffers_strategy() -> st.SearchStrategy[list[Buffer]]:
    spans = st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 300))
    one = spans.map(lambda span: Buffer(span[0], span[0] + span[1], span[2]))
    return st.lists(one, max_size=24)


def random_buffers(choice: random.Random, count: int, *, time: int, longest: int, largest: int = 4096) -> list[Buffer]:
    buffers: list[Buffer] = []
    for _ in range(count):
        start = choice.randrange(time)
        size = 0 if choice.random() < 0.03 else choice.randint(1, largest) if choice.random() < 0.7 else 1 << choice.randint(0, 12)
        buffers.append(Buffer(start, start + choice.randint(1, longest), size))
    return buffers


def clashes(buffers: Sequence[Buffer], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs, the slow and plain way."""
    found: list[tuple[int, int]] = []
    for i, a in enumerate(buffers):
        for j in range(i):
            b = buffers[j]
            in_time = a.start < b.end and b.start < a.end
            in_space = offsets[i] < offsets[j] + b.size and offsets[j] < offsets[i] + a.size
            if in_time and in_space and a.size and b.size:
                found.append((j, i))
    return found


def most_live(buffers: Sequence[Buffer], alignment: int) -> int:
    times = {b.start for b in buffers}
    return max((sum(align(b.size, alignment) for b in buffers if b.start <= time < b.end) for time in times), default=0)


def assert_valid(buffers: Sequence[Buffer], plan: Plan, alignment: int) -> None:
    check_plan(buffers, plan, alignment)
    assert clashes(buffers, plan.offsets) == []
    assert all(offset >= 0 and offset % alignment == 0 for offset in plan.offsets)
    assert all(offset + buffer.size <= plan.size for offset, buffer in zip(plan.offsets, buffers, strict=True))


def test_random_plans_are_valid_and_never_above_greedy():
    for case in block(CASES):
        choice = random.Random(case)
        alignment = ALIGNMENTS[case % len(ALIGNMENTS)]
        buffers = random_buffers(choice, choice.randint(0, 24), time=choice.randint(1, 30), longest=choice.randint(1, 20))
        plan = plan_buffers(buffers, alignment=alignment, effort=3000)
        assert_valid(buffers, plan, alignment)
        bound = lower_bound(buffers, alignment)
        assert bound == most_live(buffers, alignment)
        assert bound <= plan.size <= plan_buffers(buffers, alignment=alignment, algorithm="greedy").size


@settings(max_examples=300, deadline=None, derandomize=True)
@given(buffers_strategy(), st.sampled_from(ALIGNMENTS))
def test_every_algorithm_gives_a_valid_plan(buffers: list[Buffer], alignment: int):
    best = plan_buffers(buffers, alignment=alignment, effort=20_000)
    for algorithm in ALGORITHMS:
        plan = plan_buffers(buffers, alignment=alignment, algorithm=algorithm, effort=20_000)
        assert_valid(buffers, plan, alignment)
        assert lower_bound(buffers, alignment) <= best.size <= plan.size


@settings(max_examples=200, deadline=None, derandomize=True)
@given(buffers_strategy())
def test_every_order_gives_a_valid_plan_and_names_every_buffer(buffers: list[Buffer]):
    conflicts = conflict_lists(buffers)
    for make in ORDERS.values():
        order = make(buffers)
        assert sorted(order) == list(range(len(buffers)))
        for hole in (lowest_hole, tightest_hole):
            offsets = place(buffers, conflicts, order, hole)
            assert clashes(buffers, offsets) == []


@settings(max_examples=200, deadline=None, derandomize=True)
@given(buffers_strategy())
def test_the_dense_planners_agree_with_the_listing_ones(buffers: list[Buffer]):
    buffers = [buffer for buffer in buffers if buffer.size]
    conflicts = conflict_lists(buffers)
    for make in ORDERS.values():
        order = make(buffers)
        assert place_dense(buffers, order) == place(buffers, conflicts, order)
        assert place_dense(buffers, order, tightest=True) == place(buffers, conflicts, order, tightest_hole)
    assert greedy_dense(buffers) == greedy(buffers, conflicts)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(buffers_strategy())
def test_conflicts_are_the_pairs_that_are_live_together(buffers: list[Buffer]):
    pairs = {(i, j) for i, a in enumerate(buffers) for j, b in enumerate(buffers) if i != j and a.start < b.end and b.start < a.end}
    assert {(i, j) for i, near in enumerate(conflict_lists(buffers)) for j in near} == pairs
    assert count_conflicts(buffers) == len(pairs) // 2


@settings(max_examples=200, deadline=None, derandomize=True)
@given(buffers_strategy(), st.randoms(use_true_random=False))
def test_the_checker_finds_what_the_slow_checker_finds(buffers: list[Buffer], choice: random.Random):
    offsets = tuple(choice.randrange(0, 600) for _ in buffers)
    plan = Plan(offsets, 1000, "")
    clash = clashes(buffers, offsets)
    if clash:
        with pytest.raises(PlanError, match="share bytes"):
            check_plan(buffers, plan)
    else:
        check_plan(buffers, plan)


def test_the_checker_refuses_what_does_not_fit():
    buffers = [Buffer(0, 2, 16), Buffer(1, 3, 16)]
    check_plan(buffers, Plan((0, 16), 32, ""), 16)
    for offsets, size in (((0, 16), 31), ((0, 17), 64), ((-16, 16), 64), ((0,), 64), ((0, 0), 64), ((8, 16), 64)):
        with pytest.raises(PlanError):
            check_plan(buffers, Plan(offsets, size, ""), 8)


def test_greedy_keeps_the_size_of_its_objects_and_first_fit_does_not():
    # Worked by hand. Greedy: 48 makes an object; 40, dead before it, lies in the same one; 32 was live with 40 and makes another.
    # First fit: 32 lies right above 40.
    buffers = [Buffer(0, 2, 32), Buffer(0, 2, 40), Buffer(2, 5, 48)]
    assert plan_buffers(buffers, algorithm="greedy") == Plan((48, 0, 0), 80, "greedy")
    assert plan_buffers(buffers) == Plan((40, 0, 0), 72, "first-fit by size")
    assert lower_bound(buffers) == 72


def test_buffers_that_never_meet_share_one_place():
    assert plan_buffers([Buffer(t, t + 1, 100) for t in range(50)], alignment=16) == Plan((0,) * 50, 112, "first-fit by size")


def test_nothing_to_plan():
    assert plan_buffers([]) == Plan((), 0, "first-fit by size")
    assert plan_buffers([Buffer(0, 1, 0)]).offsets == (0,)
    assert lower_bound([]) == 0


@pytest.mark.parametrize("buffers", [[Buffer(3, 3, 4)], [Buffer(4, 3, 4)], [Buffer(0, 1, -1)]])
def test_buffers_that_are_none_are_refused(buffers: list[Buffer]):
    with pytest.raises(ValueError, match="buffer 0 has"):
        plan_buffers(buffers)


def test_an_unknown_algorithm_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"no planning algorithm 'magic'; there are best, first-fit, best-fit, greedy, naive"):
        plan_buffers([], algorithm="magic")
    with pytest.raises(ValueError, match="alignment must be at least 1, got 0"):
        plan_buffers([], alignment=0)


def test_a_plan_does_not_depend_on_anything_but_its_arguments():
    buffers = random_buffers(random.Random(5), 120, time=60, longest=30)
    assert plan_buffers(buffers, effort=200_000) == plan_buffers(list(buffers), effort=200_000)


def test_thousands_of_buffers_whose_lifetimes_overlap_a_little_or_a_lot():
    choice = random.Random(11)
    for count, longest in ((4000, 40), (2500, 2500)):
        buffers = random_buffers(choice, count, time=count, longest=longest, largest=1 << 20)
        plan = plan_buffers(buffers, alignment=16, effort=200_000)
        check_plan(buffers, plan, 16)
        assert plan.size <= plan_buffers(buffers, alignment=16, algorithm="greedy").size
        assert math.isclose(plan.size / lower_bound(buffers, 16), 1, abs_tol=0.1)
