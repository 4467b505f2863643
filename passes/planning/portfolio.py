"""Runs several planners; the smallest arena wins, and the first plan at the lower bound ends the search."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from flambeau.passes.planning.buffers import Buffer, Plan, PlanError, aligned_buffers, lower_bound
from flambeau.passes.planning.conflicts import conflict_lists, count_conflicts
from flambeau.passes.planning.dense_conflicts import greedy_dense, place_dense
from flambeau.passes.planning.exact import MOST_BUFFERS, ExactSearch
from flambeau.passes.planning.fit import ORDERS, lowest_hole, place, tightest_hole
from flambeau.passes.planning.greedy import greedy
from flambeau.passes.planning.sweep import place_in_time
from flambeau.support.tables import Table, check_called, hint

ALGORITHMS = ("best", "first-fit", "best-fit", "greedy", "naive")
"""The algorithms of `plan_buffers`: the smallest plan of all; a single one; ExecuTorch's; or no sharing at all."""

Planner = Callable[[Sequence[Buffer]], Sequence[int]]
"""From buffers, whose sizes are multiples of the alignment and not 0, to the offset of each."""


def _unused(_: Sequence[Buffer]) -> Sequence[int]:
    return ()


_PLANNERS: Table[Planner] = Table("planner", lambda name: ("Flambeau", _unused) if name in ALGORITHMS else None)


def register_planner(name: str, planner: Planner) -> None:
    """Makes an algorithm known to `plan-memory{algorithm=…}`; its plans are checked like all. Raises RegistrationError for a taken name."""
    _PLANNERS.add(name, planner)


def planner(name: str) -> Callable[[Planner], Planner]:
    """Declares the function below as the planner `name`, as `register_planner` does."""
    check_called("planner", name, "my-planner")

    def declare(function: Planner) -> Planner:
        register_planner(name, function)
        return function

    return declare


def algorithm_names() -> tuple[str, ...]:
    """Returns the algorithms that exist: built in, or registered."""
    return (*ALGORITHMS, *_PLANNERS.items())


def check_algorithm(name: str) -> None:
    """Raises ValueError that lists those that exist when there is no algorithm of a name."""
    if name not in ALGORITHMS and _PLANNERS.find(name) is None:
        raise ValueError(f"there is no planning algorithm {name!r}{hint(name, list(algorithm_names()), listing=True)}")


MANY_CONFLICTS = 3_000_000
"""More pairs than this are not listed."""

CROWDED = 32
"""When a buffer conflicts with more others than this on average, a plan that looks at no pairs is tried before those that do."""

EFFORT = 4_000_000
"""The number of looks at a neighbour that the planners may take while they stay above the bound: a few seconds at most."""

NATIVE_SPEED = 500
"""The looks that the exact search, in C, takes in the time of one in Python."""


class _Problem:
    """Buffers, and what all algorithms need to know about them, found once."""

    def __init__(self, buffers: Sequence[Buffer]):
        self.buffers = buffers
        self.pairs = count_conflicts(buffers)

    @cached_property
    def conflicts(self) -> list[list[int]] | None:
        """For each buffer, those that are live with it; None when these are too many."""
        return conflict_lists(self.buffers) if self.pairs <= MANY_CONFLICTS else None

    def fit(self, order: str, *, tightest: bool = False) -> list[int]:
        if order == "start" and tightest:
            return place_in_time(self.buffers)
        chosen = ORDERS[order](self.buffers)
        if self.conflicts is None:
            return place_dense(self.buffers, chosen, tightest=tightest)
        return place(self.buffers, self.conflicts, chosen, tightest_hole if tightest else lowest_hole)

    def greedy(self) -> list[int]:
        return greedy_dense(self.buffers) if self.conflicts is None else greedy(self.buffers, self.conflicts)

    def naive(self) -> list[int]:
        offsets: list[int] = []
        top = 0
        for buffer in self.buffers:
            offsets.append(top)
            top += buffer.size
        return offsets

    @cached_property
    def bound(self) -> int:
        """The most bytes that are live at once."""
        return lower_bound(self.buffers)

    def plan(self, offsets: Sequence[int], algorithm: str) -> Plan:
        size = max((offset + buffer.size for offset, buffer in zip(offsets, self.buffers, strict=True)), default=0)
        return Plan(tuple(offsets), size, algorithm, self.bound)


def plan_buffers(buffers: Sequence[Buffer], *, alignment: int = 1, algorithm: str = "best", effort: int = EFFORT) -> Plan:
    """Returns an offset for each buffer such that no two that are live together share bytes.

    Args:
        buffers: lifetimes and sizes in bytes. A buffer of 0 bytes lies at 0 or anywhere else.
        alignment: of every offset, and of the arena's size, in bytes.
        algorithm: one of `algorithm_names()`; "best" is never larger than any other built-in one.
        effort: bounds the search of "best"; equal arguments give equal plans, whatever the machine.

    Raises:
        ValueError: for an unknown algorithm, or buffers that are none.
        PlanError: a registered planner gives something that is not a plan. Only `check_plan` tells whether tensors clash in it.
    """
    check_algorithm(algorithm)
    aligned = aligned_buffers(buffers, alignment)
    occupied = [index for index, buffer in enumerate(aligned) if buffer.size]
    problem = _Problem([aligned[index] for index in occupied])
    simple: dict[str, Callable[[], list[int]]] = {
        "first-fit": lambda: problem.fit("size"),
        "best-fit": lambda: problem.fit("size", tightest=True),
        "greedy": problem.greedy,
        "naive": problem.naive,
    }
    if (registered := _PLANNERS.items().get(algorithm)) is not None:
        found = problem.plan(_offsets(registered(problem.buffers), len(problem.buffers), algorithm), algorithm)
    elif algorithm in simple:
        found = problem.plan(simple[algorithm](), algorithm)
    else:
        found = _best(problem, effort)
    offsets = [0] * len(aligned)
    for index, offset in zip(occupied, found.offsets, strict=True):
        offsets[index] = offset
    return Plan(tuple(offsets), found.size, found.algorithm, found.bound)


def _offsets(given: Sequence[int], count: int, algorithm: str) -> list[int]:
    """Returns the offsets of a registered planner, if there is one for each buffer."""
    try:
        offsets = [operator.index(item) for item in given]
    except TypeError as error:
        raise PlanError(f"the planner {algorithm!r} did not give a sequence of whole numbers: {error}") from error
    if len(offsets) != count:
        raise PlanError(f"the planner {algorithm!r} gave {len(offsets)} offsets for {count} buffers")
    if (wrong := next((index for index, offset in enumerate(offsets) if offset < 0), None)) is not None:
        raise PlanError(f"the planner {algorithm!r} gave buffer {wrong} the negative offset {offsets[wrong]}")
    return offsets


def _best(problem: _Problem, effort: int) -> Plan:
    best: Plan | None = None
    for plan in _candidates(problem, effort):
        if best is None or plan.size < best.size:
            best = plan
        if best.size == problem.bound:
            return best
    assert best is not None
    if len(problem.buffers) > MOST_BUFFERS:
        return best
    search = ExactSearch(problem.buffers, best.offsets, best.size, problem.bound)
    search.run(effort * NATIVE_SPEED)
    return Plan(tuple(search.offsets), search.size, "exact search" if search.size < best.size else best.algorithm, search.bound)


def _candidates(problem: _Problem, effort: int) -> Iterator[Plan]:
    """Plans from the cheap and usually good to the costly; those that come after the ones that are always tried depend on the effort."""
    if problem.pairs > CROWDED * len(problem.buffers):
        yield problem.plan(problem.fit("start", tightest=True), "best-fit by start")
        yield problem.plan(place_in_time(problem.buffers, backwards=True), "best-fit by end")
    yield problem.plan(problem.fit("size"), "first-fit by size")
    yield problem.plan(problem.fit("size", tightest=True), "best-fit by size")
    yield problem.plan(problem.greedy(), "greedy")
    if problem.conflicts is None:
        return
    cost = 2 * problem.pairs + len(problem.buffers)
    for order in ORDERS:
        for tightest in (False, True):
            if order == "size":
                continue
            effort -= cost
            if effort < 0:
                return
            yield problem.plan(problem.fit(order, tightest=tightest), f"{'best' if tightest else 'first'}-fit by {order}")
