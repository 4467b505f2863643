"""Data-flow analysis of the contents of slots: checks that each read, on every path, sees the bytes that were last written for it.

Views of one slot have the same *content*. A slot is *whole* when all of its bytes were last written as its content, and *broken* when
another content has overwritten some of them. The analysis follows writes to arenas, moves of storage, and jumps, to a fixpoint. It does not
depend on how memory was planned.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import (
    ALIASING,
    COPY_INDEX,
    CallOp,
    InstructionOp,
    JumpFalseOp,
    LabelOp,
    MoveOp,
    reads_and_writes,
    written_literals,
)
from flambeau.dialects.exec.literals import BoolOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ConstantOp, ReuseOp, Roots, StateOp, TensorSlotOp, ViewOp, nbytes, root_of

Span: TypeAlias = tuple[int, int]
Place: TypeAlias = tuple[int, int]
"""Arena and byte offset. An arena below 1 stands for the memory of one constant, or of one slot without a place."""

Role: TypeAlias = tuple[Place, int]
"""The place of a slot, and the number of its content."""


def is_viewing(op: Operation, slot: SSAValue) -> bool:
    """Returns whether an instruction gives a slot the storage of another at run time, and its sizes."""
    return isinstance(op, CallOp) and op.operator.data == ALIASING and slot in (*op.outs, *op.returns)


class Fault(Enum):
    """The kind of a conflict, as a phrase about the instruction."""

    BROKEN = "it reads a slot that another content has overwritten, or that nothing has written"
    LOST = "the method ends, and an output or a state is broken"
    CONSTANT = "it writes the bytes of a constant"
    NOWHERE = "it writes a slot that has no memory"
    OVERLAP = "it writes bytes that it reads through a slot that the written slot does not reuse"
    UNSAFE = "it reuses the storage of an argument, which its kernel does not allow"


@dataclass(frozen=True)
class Conflict:
    """An instruction that reads or writes a slot wrongly.

    Attributes:
        instruction: the index of the instruction, labels not counted; the number of instructions for the end of the method.
        op: the instruction; None for the end of the method.
        slot: the slot that is read or written.
        other: the slot through which its bytes were overwritten, or that it overlaps with.
        writer: the index of the instruction that overwrote them; -1 for the caller, which sets inputs before the first instruction.
        owners: the slots through which the bytes of `slot` were last written.
    """

    fault: Fault
    instruction: int
    op: InstructionOp | None
    slot: SSAValue
    other: SSAValue | None = None
    writer: int | None = None
    owners: tuple[SSAValue, ...] = ()


@dataclass
class _Owners:
    """The writers of the bytes of one arena: disjoint spans in order, each with the contents that may have been written there last."""

    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    sets: list[frozenset[int]] = field(default_factory=list[frozenset[int]])

    def overlapping(self, low: int, high: int) -> Iterator[tuple[int, int, frozenset[int]]]:
        """Yields the intersections of the spans with [low, high)."""
        for index in range(bisect_right(self.ends, low), bisect_left(self.starts, high)):
            yield max(self.starts[index], low), min(self.ends[index], high), self.sets[index]

    def assign(self, low: int, high: int, owners: frozenset[int]) -> None:
        """Sets the owners of [low, high)."""
        first, last = bisect_right(self.ends, low), bisect_left(self.starts, high)
        pieces: list[tuple[int, int, frozenset[int]]] = []
        if first < last and self.starts[first] < low:
            pieces.append((self.starts[first], low, self.sets[first]))
        pieces.append((low, high, owners))
        if first < last and self.ends[last - 1] > high:
            pieces.append((high, self.ends[last - 1], self.sets[last - 1]))
        self.starts[first:last] = [piece[0] for piece in pieces]
        self.ends[first:last] = [piece[1] for piece in pieces]
        self.sets[first:last] = [piece[2] for piece in pieces]

    def copy(self) -> "_Owners":
        """Returns an independent copy."""
        return _Owners(self.starts[:], self.ends[:], self.sets[:])

    def joined(self, other: "_Owners") -> "_Owners":
        """Returns the union: the owners of each byte on either of two paths."""
        edges = sorted({*self.starts, *self.ends, *other.starts, *other.ends})
        result = _Owners()
        for low, high in pairwise(edges):
            owners = frozenset[int]().union(*(found for side in (self, other) for _, _, found in side.overlapping(low, high)))
            if not owners:
                continue
            if result.ends and result.ends[-1] == low and result.sets[-1] == owners:
                result.ends[-1] = high
            else:
                result.starts.append(low)
                result.ends.append(high)
                result.sets.append(owners)
        return result


def _added(spans: tuple[Span, ...], low: int, high: int) -> tuple[Span, ...]:
    result: list[Span] = []
    for start, end in spans:
        if end < low or start > high:
            result.append((start, end))
        else:
            low, high = min(low, start), max(high, end)
    return tuple(sorted([*result, (low, high)]))


def _removed(spans: tuple[Span, ...], low: int, high: int) -> tuple[Span, ...]:
    result: list[Span] = []
    for start, end in spans:
        if start < min(end, low):
            result.append((start, min(end, low)))
        if max(start, high) < end:
            result.append((max(start, high), end))
    return tuple(result)


def _common(left: tuple[Span, ...], right: tuple[Span, ...]) -> tuple[Span, ...]:
    pairs = ((max(a, c), min(b, d)) for a, b in left for c, d in right)
    return tuple(sorted((low, high) for low, high in pairs if low < high))


@dataclass
class _State:
    """The state of the analysis before an instruction.

    Attributes:
        owners: the writers of each arena.
        whole: the spans of each slot that hold its content, counted from its start; absent for none.
        moved: the places and contents that a slot may have, if they may differ from those that it was declared with.
    """

    owners: dict[int, _Owners] = field(default_factory=dict[int, _Owners])
    whole: dict[int, tuple[Span, ...]] = field(default_factory=dict[int, tuple[Span, ...]])
    moved: dict[int, frozenset[Role]] = field(default_factory=dict[int, frozenset[Role]])

    def copy(self) -> "_State":
        return _State({arena: owners.copy() for arena, owners in self.owners.items()}, dict(self.whole), dict(self.moved))


class ContentAnalysis:
    """The analysis of one method.

    Its time is linear in the instructions, apart from the sorted list of an arena's spans and the comparison of states where paths meet.

    Args:
        method: the method.
        may_overwrite: whether the kernel of a name may overwrite the argument at a position while it reads it; by default each may.
    """

    def __init__(self, method: MethodOp, may_overwrite: Callable[[str, int], bool] = lambda kernel, position: True):
        self.method = method
        self.may_overwrite = may_overwrite
        self.slots: list[SSAValue] = [op.slot for op in method.slots if isinstance(op, TensorSlotOp)]
        self.index = {slot: index for index, slot in enumerate(self.slots)}
        self.sizes = [nbytes(slot.type) for slot in self.slots]
        self.roots: Roots = {}
        self.places = [self._place(slot) for slot in self.slots]
        self.contents = self._contents()
        self.members: dict[int, list[int]] = {}
        for index, content in enumerate(self.contents):
            self.members.setdefault(content, []).append(index)
        self.instructions: list[InstructionOp] = []
        self._targets: dict[str, int] = {}
        """The index of the instruction after each label."""
        for op in method.instructions:
            if isinstance(op, LabelOp):
                self._targets[op.label.data] = len(self.instructions)
            else:
                self.instructions.append(op)
        self.touched = [tuple(map(self._indices, reads_and_writes(op))) for op in self.instructions]
        self.overwritten: dict[int, tuple[int, int]] = {}
        self.conflicts: list[Conflict] = []
        self.reporting = False

    def run(self) -> list[Conflict]:
        """Returns every conflict, in the order of the instructions."""
        if not self._leaders:
            # Without jumps, one visit of each instruction is enough.
            self.reporting = True
            self._run_block(0, self._entry())
            return self.conflicts
        before = self._fixpoint()
        self.reporting = True
        for start, state in sorted(before.items()):
            self._run_block(start, state.copy())
        self._check_entries()
        return sorted(self.conflicts, key=lambda conflict: conflict.instruction)

    # Declarations

    def _place(self, slot: SSAValue) -> Place:
        root, offset = root_of(slot, self.roots)
        place = getattr(root.owner, "place", None)
        return (-self.index[root], offset) if place is None else (place[0], place[1] + offset)

    def _contents(self) -> list[int]:
        """Returns the number of each slot's content, which a view shares with its source."""
        contents: list[int] = []
        for index, slot in enumerate(self.slots):
            contents.append(contents[self.index[slot.owner.source]] if isinstance(slot.owner, ViewOp) else index)
        return contents

    def _indices(self, slots: Iterable[SSAValue]) -> tuple[int, ...]:
        return tuple(self.index[slot] for slot in slots)

    @cached_property
    def _has_memory(self) -> set[int]:
        """The slots whose memory the plan, the program or the caller provides."""
        given = {*self.method.terminator.inputs, *self.method.terminator.outputs}
        return {
            index
            for index, slot in enumerate(self.slots)
            if self.places[index][0] > 0 or (root := self.roots[slot][0]) in given or isinstance(root.owner, ConstantOp)
        }

    @cached_property
    def _constant_arenas(self) -> set[int]:
        return {self.places[index][0] for index, slot in enumerate(self.slots) if isinstance(slot.owner, ConstantOp)}

    # Paths

    def _fixpoint(self) -> dict[int, _State]:
        """Returns the state before each reachable basic block."""
        before = {0: self._entry()}
        pending = [0]
        while pending:
            start = min(pending)
            pending.remove(start)
            for target, state in self._run_block(start, before[start].copy()):
                known = before.get(target)
                if known is None:
                    before[target] = state
                    pending.append(target)
                elif (joined := self._joined(known, state)) != known:
                    before[target] = joined
                    if target not in pending:
                        pending.append(target)
        return before

    @cached_property
    def _leaders(self) -> set[int]:
        after_jumps = {index + 1 for index, op in enumerate(self.instructions) if isinstance(op, JumpFalseOp)}
        return {*after_jumps, *self._targets.values()}

    @cached_property
    def _written_literals(self) -> set[SSAValue]:
        return written_literals((*self.instructions, self.method.terminator))

    def _run_block(self, start: int, state: _State) -> list[tuple[int, _State]]:
        """Analyses one basic block; returns its successors, with the state before each."""
        position = start
        while position < len(self.instructions):
            op = self.instructions[position]
            self._step(position, op, state)
            position += 1
            if isinstance(op, JumpFalseOp):
                target = self._targets[op.label.data]
                condition = op.condition
                if isinstance(condition.owner, BoolOp) and condition not in self._written_literals:
                    return [(position if condition.owner.truth else target, state)]
                return [(target, state.copy()), (position, state)]
            if position in self._leaders:
                return [(position, state)]
        self._finish(state)
        return []

    def _joined(self, left: _State, right: _State) -> _State:
        result = _State()
        for slot in left.whole.keys() & right.whole.keys():
            if spans := _common(left.whole[slot], right.whole[slot]):
                result.whole[slot] = spans
        for slot in left.moved.keys() | right.moved.keys():
            result.moved[slot] = self._roles(slot, left) | self._roles(slot, right)
        for arena in left.owners.keys() | right.owners.keys():
            result.owners[arena] = left.owners.get(arena, _Owners()).joined(right.owners.get(arena, _Owners()))
        return result

    # Steps

    def _entry(self) -> _State:
        """Returns the state at the start: constants and states hold their bytes, and the caller has set the inputs."""
        state = _State()
        for kind in (ConstantOp, StateOp):
            for index, slot in enumerate(self.slots):
                if isinstance(slot.owner, kind):
                    self._write(-1, index, state)
        for slot in self.method.terminator.inputs:
            if slot in self.index:
                self._write(-1, self.index[slot], state)
        return state

    def _step(self, position: int, op: InstructionOp, state: _State) -> None:
        reads, writes = self.touched[position]
        if isinstance(op, CallOp) and op.operator.data == ALIASING:
            for slot in reads:
                self._read(position, slot, state)
            if reads and writes:
                self._alias(reads[0], writes[0], state)
            return
        if isinstance(op, MoveOp):
            if op.source in self.index:
                self._alias(self.index[op.source], self.index[op.target], state)
            return
        for slot in reads:
            self._read(position, slot, state)
        for slot in writes:
            if self.reporting:
                self._check_write(position, slot, reads, state)
            self._write(position, slot, state)

    def _check_entries(self) -> None:
        """Checks that a loop writes no other content over a slot that it fills entry by entry: it is whole only after the last round."""
        loops = [
            (start, index)
            for index, op in enumerate(self.instructions)
            if isinstance(op, JumpFalseOp) and (start := self._targets[op.label.data]) <= index
        ]
        for position, op in enumerate(self.instructions):
            around = [(end - start, start, end) for start, end in loops if start <= position <= end]
            if not isinstance(op, CallOp) or op.operator.data != COPY_INDEX or not around:
                continue
            (whole,) = self.touched[position][1]
            _, start, end = min(around)
            for writer in range(start, end):
                for slot in self.touched[writer][1]:
                    other = self.contents[slot] != self.contents[whole]
                    if other and self._overlap([self.places[slot]], self.sizes[slot], [self.places[whole]], self.sizes[whole]):
                        self.conflicts.append(Conflict(Fault.BROKEN, position, op, self.slots[whole], self.slots[slot], writer))

    def _finish(self, state: _State) -> None:
        if not self.reporting:
            return
        kept = [slot for slot in self.method.terminator.outputs if slot in self.index]
        kept += [slot for slot in self.slots if isinstance(slot.owner, StateOp)]
        for slot in dict.fromkeys(kept):
            self._read(len(self.instructions), self.index[slot], state)

    def _roles(self, slot: int, state: _State) -> frozenset[Role]:
        return state.moved.get(slot) or frozenset(((self.places[slot], self.contents[slot]),))

    def _where(self, slot: int, state: _State) -> frozenset[Place]:
        return frozenset(place for place, _ in self._roles(slot, state))

    def _is_whole(self, slot: int, state: _State) -> bool:
        return not self.sizes[slot] or state.whole.get(slot) == ((0, self.sizes[slot]),)

    def _read(self, position: int, slot: int, state: _State) -> None:
        if not self.reporting or self._is_whole(slot, state):
            return
        owners: set[int] = set()
        for arena, offset in self._where(slot, state):
            for _, _, found in state.owners.get(arena, _Owners()).overlapping(offset, offset + self.sizes[slot]):
                owners |= found
        at_end = position == len(self.instructions)
        writer, other = self.overwritten.get(slot, (None, None))
        self.conflicts.append(
            Conflict(
                Fault.LOST if at_end else Fault.BROKEN,
                position,
                None if at_end else self.instructions[position],
                self.slots[slot],
                None if other is None else self.slots[other],
                writer,
                tuple(self.slots[member] for content in sorted(owners) for member in self.members[content]),
            )
        )

    def _check_write(self, position: int, slot: int, reads: Sequence[int], state: _State) -> None:
        def report(fault: Fault, other: int | None = None) -> None:
            self.conflicts.append(
                Conflict(fault, position, self.instructions[position], self.slots[slot], None if other is None else self.slots[other])
            )

        if not self.sizes[slot]:
            return
        places = self._where(slot, state)
        if any(arena in self._constant_arenas for arena, _ in places):
            report(Fault.CONSTANT)
        if slot not in state.moved and slot not in self._has_memory:
            report(Fault.NOWHERE)
        if slot in reads:
            return
        for other in reads:
            found = self._where(other, state)
            if not self._overlap(places, self.sizes[slot], found, self.sizes[other]):
                continue
            # Kernels read and write elements in order, so only an argument at exactly the same bytes is read before it is overwritten.
            if not self._reuses(slot, other) or found != places or self.sizes[other] != self.sizes[slot]:
                report(Fault.OVERLAP, other)
            elif not self._allows(self.instructions[position], other):
                report(Fault.UNSAFE, other)

    def _allows(self, op: InstructionOp, slot: int) -> bool:
        if not isinstance(op, CallOp):
            return False
        positions = [index for index, item in enumerate(op.ins) if item is self.slots[slot]]
        return bool(positions) and all(self.may_overwrite(op.operator.data, index) for index in positions)

    @staticmethod
    def _overlap(left: Iterable[Place], left_size: int, right: Iterable[Place], right_size: int) -> bool:
        return any(a == b and x < y + right_size and y < x + left_size for a, x in left for b, y in right)

    def _reuses(self, slot: int, other: int) -> bool:
        """Returns whether `slot` is declared to reuse the storage of the content of `other`."""
        found = self.slots[slot]
        while isinstance(owner := found.owner, ViewOp | ReuseOp):
            if isinstance(owner, ReuseOp) and self.contents[self.index[owner.source]] == self.contents[other]:
                return True
            found = owner.source
        return False

    def _write(self, position: int, slot: int, state: _State) -> None:
        size = self.sizes[slot]
        if not size:
            return
        roles = self._roles(slot, state)
        for (arena, offset), content in roles:
            owners = state.owners.setdefault(arena, _Owners())
            end = offset + size
            before: set[int] = set()
            for low, high, found in list(owners.overlapping(offset, end)):
                before |= found
                for other in found - {content}:
                    for member in self.members[other]:
                        if member not in state.moved:
                            self._break(member, self.places[member], arena, low, high, position, slot, state)
            for holder, held in list(state.moved.items()):
                for place, other in held:
                    if holder != slot and other != content:
                        self._break(holder, place, arena, offset, end, position, slot, state)
            if len(roles) > 1:
                # The write may go to another of these places.
                owners.assign(offset, end, frozenset(before | {content}))
                continue
            owners.assign(offset, end, frozenset((content,)))
            for member in self.members[content]:
                if member not in state.moved and self.places[member][0] == arena:
                    start = self.places[member][1]
                    low, high = max(offset - start, 0), min(end - start, self.sizes[member])
                    if low < high:
                        state.whole[member] = _added(state.whole.get(member, ()), low, high)
        state.whole[slot] = ((0, size),)

    def _break(self, slot: int, place: Place, arena: int, low: int, high: int, position: int, through: int, state: _State) -> None:
        """Records that bytes [low, high) of an arena no longer hold the content of `slot`, which is at `place`."""
        spans = state.whole.get(slot)
        if spans is None or place[0] != arena:
            return
        rest = _removed(spans, low - place[1], high - place[1])
        if rest != spans:
            state.whole[slot] = rest
            self.overwritten[slot] = (position, through)

    def _alias(self, source: int, target: int, state: _State) -> None:
        """Gives `target` the storage of `source`, and with it the content."""
        state.moved[target] = self._roles(source, state)
        if self._is_whole(source, state):
            state.whole[target] = ((0, self.sizes[target]),)
        else:
            state.whole.pop(target, None)
            if source in self.overwritten:
                self.overwritten[target] = self.overwritten[source]
