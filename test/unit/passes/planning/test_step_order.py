"""The order with the lowest peak, compared with all orders of small graphs."""

import random
from collections.abc import Sequence
from itertools import permutations

import pytest

from flambeau.passes.planning.step_order import OrderedBuffer, Steps, best_order


def random_steps(choice: random.Random, count: int) -> tuple[Steps, list[list[int]]]:
    needs = [sorted(set(choice.choices(range(step), k=choice.randrange(3)))) if step else [] for step in range(count)]
    buffers: list[OrderedBuffer] = []
    for step in range(count):
        users = {step, *(other for other in range(step + 1, count) if step in needs[other])}
        buffers.append(OrderedBuffer(choice.choice((0, 1, 2, 5, 9)), tuple(users), False, choice.random() < 0.2))
    for _ in range(choice.randrange(3)):
        users = tuple(choice.sample(range(count), choice.randint(1, min(3, count))))
        buffers.append(OrderedBuffer(choice.randrange(9), users, choice.random() < 0.6, choice.random() < 0.2))
    return Steps(needs, buffers), needs


def is_right(order: Sequence[int], needs: Sequence[Sequence[int]]) -> bool:
    place = {step: at for at, step in enumerate(order)}
    return len(place) == len(needs) and all(place[before] < place[step] for step in place for before in needs[step])


@pytest.mark.parametrize("part", range(4))
def test_no_order_has_a_lower_peak(part: int):
    better = 0
    for seed in range(part, 120, 4):
        choice = random.Random(seed)
        steps, needs = random_steps(choice, choice.randint(1, 6))
        least = min(steps.peak(order) for order in permutations(range(steps.count)) if is_right(order, needs))
        found = best_order(steps)
        if found is None:
            assert steps.peak(range(steps.count)) == least
            continue
        better += 1
        assert is_right(found, needs)
        assert steps.peak(found) == least < steps.peak(range(steps.count))
    assert better > 3


def test_peaks_below_the_floor_are_as_good_as_it():
    steps = Steps([[], [], [0], [1]], [OrderedBuffer(9, (0, 2)), OrderedBuffer(9, (1, 3)), OrderedBuffer(1, (2,)), OrderedBuffer(1, (3,))])
    assert steps.peak(range(4)) == 19
    assert best_order(steps, floor=19) is None
    found = best_order(steps, floor=12)
    assert found is not None and steps.peak(found) <= 12


def test_a_search_that_takes_too_long_changes_nothing():
    count = 40
    needs: list[list[int]] = [[]] * count
    steps = Steps(needs, [OrderedBuffer(size % 7 + 1, (size, (size * 11 + 5) % count)) for size in range(count)])
    assert best_order(steps, effort=0) is None
