"""Places buffers in banks of memory of given sizes: the fastest bank holds the buffers with the most traffic per byte that fit there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from flambeau.passes.planning.buffers import Buffer, Plan, align, lower_bound
from flambeau.passes.planning.fit import lowest_hole
from flambeau.passes.planning.live_bytes import LiveProfile
from flambeau.passes.planning.portfolio import EFFORT

TRIALS = 32
"""How often a bank without a hole for one more buffer is packed anew to see whether all would fit."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_BANK = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:[:=](?P<size>[0-9]+)(?P<unit>[KM]?))?", re.ASCII)


@dataclass(frozen=True)
class Bank:
    """A memory of the device."""

    name: str
    """An identifier of C."""
    size: int | None = None
    """Bytes; None without a limit."""


def bank_of(text: str) -> Bank:
    """Returns the bank that `sram:512K`, `sram=4096` or `dram` describes. Raises ValueError."""
    found = _BANK.fullmatch(text)
    if found is None:
        example = "sram=512K" if "=" in text else "sram:512K"
        raise ValueError(f"a bank is an identifier of C, perhaps with its size in bytes, K or M, as {example}; not {text!r}")
    size = found["size"]
    return Bank(found["name"], None if size is None else int(size) * _UNITS[found["unit"]])


def banks_of(texts: Sequence[str]) -> tuple[Bank, ...]:
    """Returns banks, the fastest first. Raises ValueError for a name that is there twice."""
    banks = tuple(map(bank_of, texts))
    names = [bank.name for bank in banks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"the bank {twice!r} is given twice")
    return banks


Planner = Callable[[Sequence[Buffer], int], Plan]
"""Packs buffers into one bank, with the effort that it may take."""


@dataclass
class Placement:
    """Where each buffer lies."""

    plans: list[Plan]
    """The plan of each bank, of its buffers only."""
    members: list[list[int]]
    """The buffers of each bank, in the order of its plan."""
    unplaced: list[int]
    """The buffers that no bank has room for."""


@dataclass
class _Room:
    """A bank of limited size that takes buffers one by one."""

    buffers: Sequence[Buffer]
    capacity: int
    planner: Planner
    effort: int
    members: list[int] = field(default_factory=list[int])
    offsets: dict[int, int] = field(default_factory=dict[int, int])
    trials: int = TRIALS

    def __post_init__(self) -> None:
        self.live = LiveProfile(max((buffer.end for buffer in self.buffers), default=0))

    def take(self, index: int) -> bool:
        """Returns whether the bank has room for a buffer with those that it holds, which may move; it holds the buffer then."""
        start, end, size = self.buffers[index]
        self.live.add(start, end, size)
        if self.live.most <= self.capacity and (self._takes_hole(index) or self._packs(index)):
            self.members.append(index)
            return True
        self.live.add(start, end, -size)
        return False

    def _takes_hole(self, index: int) -> bool:
        start, end, size = self.buffers[index]
        taken = [
            (self.offsets[other], self.offsets[other] + self.buffers[other].size)
            for other in self.members
            if self.buffers[other].start < end and start < self.buffers[other].end
        ]
        taken.sort()
        offset = lowest_hole(size, taken)
        if offset + size > self.capacity:
            return False
        self.offsets[index] = offset
        return True

    def _packs(self, index: int) -> bool:
        if self.trials == 0:
            return False
        self.trials -= 1
        members = [*self.members, index]
        plan = self.planner([self.buffers[member] for member in members], self.effort // TRIALS)
        if plan.size > self.capacity:
            return False
        self.offsets = dict(zip(members, plan.offsets, strict=True))
        return True

    def plan(self) -> Plan:
        """Returns the planner's plan of what the bank holds, or, where that is too large, the one that the bank was filled by."""
        found = self.planner([self.buffers[member] for member in self.members], self.effort)
        if found.size <= self.capacity:
            return found
        offsets = tuple(self.offsets[member] for member in self.members)
        size = max(offset + self.buffers[member].size for member, offset in zip(self.members, offsets, strict=True))
        return Plan(offsets, size, "first-fit by traffic")


def place_in_banks(
    buffers: Sequence[Buffer],
    traffic: Sequence[int],
    sizes: Sequence[int | None],
    planner: Planner,
    *,
    alignment: int = 1,
    effort: int = EFFORT,
    pins: Mapping[int, int] | None = None,
) -> Placement:
    """Returns the bank and the offset of each buffer.

    A bank takes all buffers that are left, if the planner packs them into it. Otherwise it takes those with the most traffic per byte
    first, each if it fits with those that the bank holds already; the others are left for the next bank.

    Args:
        buffers: lifetimes and sizes in bytes.
        traffic: the bytes of each buffer that a run reads and writes.
        sizes: the bytes of each bank, the fastest first; None for one without a limit.
        planner: packs the buffers of one bank.
        alignment: of every offset and of the sizes of banks, in bytes.
        effort: of the planner for each bank.
        pins: the banks of buffers that must lie in a certain one; a bank takes these before others.
    """
    pins = pins or {}
    aligned = [Buffer(start, end, align(size, alignment)) for start, end, size in buffers]
    left = sorted(range(len(aligned)), key=lambda index: (-traffic[index] / max(aligned[index].size, 1), index))
    placement = Placement([], [], [])
    for bank, size in enumerate(sizes):
        own = [index for index in left if pins.get(index) == bank]
        own += [index for index in left if index not in pins]
        members, plan = _filled(aligned, own, None if size is None else size // alignment * alignment, planner, effort)
        placement.members.append(members)
        placement.plans.append(plan)
        taken = set(members)
        left = [index for index in left if index not in taken]
    placement.unplaced = sorted(left)
    return placement


def _filled(buffers: Sequence[Buffer], wanted: list[int], capacity: int | None, planner: Planner, effort: int) -> tuple[list[int], Plan]:
    """Returns those of the buffers that a bank takes, in their order, with their plan."""
    everything = [buffers[index] for index in sorted(wanted)]
    if capacity is None or lower_bound(everything) <= capacity:
        plan = planner(everything, effort)
        if capacity is None or plan.size <= capacity:
            return sorted(wanted), plan
    room = _Room(buffers, capacity, planner, effort)
    for index in wanted:
        room.take(index)
    room.members.sort()
    return room.members, room.plan()


def free_bytes(buffers: Sequence[Buffer], size: int, span: tuple[int, int]) -> int:
    """Returns the bytes of a bank of a size that its buffers leave free at the fullest moment of a span."""
    low, high = span
    within = [Buffer(max(start, low), min(end, high), bytes) for start, end, bytes in buffers if start < high and low < end]
    return size - lower_bound(within)
