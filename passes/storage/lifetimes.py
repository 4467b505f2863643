"""The lifetime of each storage class of a method, along every path through its jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flambeau.dialects.exec.instructions import COPY_INDEX, CallOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.slot_contents import ALIASING
from flambeau.dialects.exec.slots import nbytes
from flambeau.passes.storage.classes import MethodStorage, StorageClass, touched_slots

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class _Loop:
    """The instructions that a backward jump repeats: [head, tail]."""

    head: int
    tail: int


def lifetimes(storage: MethodStorage) -> dict[StorageClass, Span]:
    """The half-open span of time during which each class must keep its bytes; classes that need none are left out.

    Forward jumps only skip instructions, so the span from the first use to the last holds on every path. A class that is used inside a
    loop and outside of it, or that may carry a value from one round to the next, lives through the loop.
    """
    spans = {item: span for item in storage.classes() if (span := item.span) is not None}
    loops = _loops(storage)
    lenders = _lenders(storage)
    carried = {(item, loop) for loop in loops for item in _carried(storage, loop)}
    pending = bool(loops or lenders)
    while pending:
        before = dict(spans)
        for loop in loops:
            for item, (start, end) in spans.items():
                apart = end <= loop.head or start > loop.tail
                inside = loop.head <= start and end <= loop.tail + 1
                if not apart and (not inside or (item, loop) in carried):
                    spans[item] = (min(start, loop.head), max(end, loop.tail + 1))
        for group in lenders:
            members = [item for item in group if item in spans]
            joint = (min((spans[item][0] for item in members), default=0), max((spans[item][1] for item in members), default=0))
            spans |= dict.fromkeys(members, joint)
        pending = spans != before
    return spans


def _loops(storage: MethodStorage) -> list[_Loop]:
    labels = {op.label.data: storage.time[op] for op in storage.instructions if isinstance(op, LabelOp)}
    jumps = [op for op in storage.instructions if isinstance(op, JumpFalseOp)]
    found = [_Loop(labels[op.label.data], storage.time[op]) for op in jumps if labels[op.label.data] < storage.time[op]]
    return sorted(found, key=lambda loop: (loop.tail - loop.head, loop.head))


def _lenders(storage: MethodStorage) -> list[list[StorageClass]]:
    """Classes of which one may hold the other's memory at run time, after a move or through a kernel that lends it."""
    found: list[list[StorageClass]] = []
    for op in storage.instructions:
        if isinstance(op, MoveOp) or (isinstance(op, CallOp) and op.operator.data == ALIASING):
            reads, writes = touched_slots(op)
            if reads and writes:
                found.append([storage[reads[0]], storage[writes[0]]])
    return found


def _carried(storage: MethodStorage, loop: _Loop) -> set[StorageClass]:
    """The classes that, as far as their uses inside the loop tell, may be read before they are written in the same round."""
    carried: set[StorageClass] = set()
    written: dict[StorageClass, int] = {}
    borders = 0  # instructions passed at which paths part or meet
    for op in storage.instructions[loop.head : loop.tail]:
        reads, writes = touched_slots(op)
        for slot in reads:
            if written.get(storage[slot]) != borders:
                carried.add(storage[slot])
        for slot in writes:
            item = storage[slot]
            if isinstance(op, CallOp) and op.operator.data == COPY_INDEX:
                carried.add(item)  # entry by entry, in one round after the other
            elif item in written:
                if written[item] != borders:
                    carried.add(item)
            elif nbytes(slot.type) == item.size:
                written[item] = borders
            else:
                carried.add(item)
        if isinstance(op, JumpFalseOp | LabelOp):
            borders += 1
    return carried
