"""Buffers, plans, the lower bound of a plan, and a checker that shares no code with the planners."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Buffer(NamedTuple):
    """Bytes that are needed during the half-open span of time [start, end)."""

    start: int
    end: int
    size: int


@dataclass(frozen=True)
class Plan:
    """The offset of each buffer in one arena."""

    offsets: tuple[int, ...]
    """Byte offset of each buffer, in the order in which they were given."""
    size: int
    """Bytes of the arena."""
    algorithm: str
    """Which algorithm found it."""
    bound: int = field(default=0, compare=False)
    """No plan of these buffers has an arena of fewer bytes."""


class PlanError(ValueError):
    """A plan in which buffers clash, or that does not fit its arena or alignment."""


def align(size: int, alignment: int) -> int:
    """Returns `size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def aligned_buffers(buffers: Sequence[Buffer], alignment: int) -> list[Buffer]:
    """Returns the buffers with their sizes rounded up. Raises ValueError for an empty span, a negative size or a useless alignment."""
    if alignment < 1:
        raise ValueError(f"an alignment must be at least 1, got {alignment}")
    for index, (start, end, size) in enumerate(buffers):
        if start >= end or size < 0:
            raise ValueError(f"buffer {index} has the span [{start}, {end}) and {size} bytes")
    return [Buffer(start, end, align(size, alignment)) for start, end, size in buffers]


def lower_bound(buffers: Sequence[Buffer], alignment: int = 1) -> int:
    """Returns the most bytes that are live at one time, sizes rounded up to `alignment`: no plan is smaller."""
    changes: dict[int, int] = {}
    for start, end, size in aligned_buffers(buffers, alignment):
        changes[start] = changes.get(start, 0) + size
        changes[end] = changes.get(end, 0) - size
    live = most = 0
    for time in sorted(changes):
        live += changes[time]
        most = max(most, live)
    return most


def check_plan(buffers: Sequence[Buffer], plan: Plan, alignment: int = 1) -> None:
    """Checks that every buffer lies in the arena, aligned, and apart from all that are live with it.

    Raises PlanError for the first fault, which names the algorithm of the plan.

    A sweep over time that keeps the live ranges sorted by address: it suffices to look at the two neighbours of each newcomer.
    """
    if len(plan.offsets) != len(buffers):
        raise PlanError(f"{plan.algorithm}: {len(buffers)} buffers and {len(plan.offsets)} offsets")
    events: list[tuple[int, int, int]] = []
    for index, ((start, end, size), offset) in enumerate(zip(buffers, plan.offsets, strict=True)):
        if offset < 0 or offset % alignment or offset + size > plan.size:
            fault = (
                "a negative offset"
                if offset < 0
                else f"not a multiple of {alignment}"
                if offset % alignment
                else f"behind {plan.size} bytes"
            )
            raise PlanError(f"{plan.algorithm}: buffer {index} ({size} bytes) lies at {offset}: {fault}")
        if size:
            events += [(end, 0, index), (start, 1, index)]
    live: list[tuple[int, int, int]] = []
    for _, begins, index in sorted(events):
        low = plan.offsets[index]
        entry = (low, low + buffers[index].size, index)
        if not begins:
            del live[bisect_left(live, entry)]
            continue
        place = bisect_left(live, entry)
        for near in live[max(place - 1, 0) : place + 1]:
            if near[0] < entry[1] and entry[0] < near[1]:
                raise PlanError(f"{plan.algorithm}: buffers {near[2]} and {index} are live together and share bytes")
        insort(live, entry)
