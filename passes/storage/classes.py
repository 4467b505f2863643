"""Storage classes of a method: slots that share memory, and when that memory is in use."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import (
    COPY_INDEX,
    CallOp,
    FreeOp,
    InstructionOp,
    JumpFalseOp,
    LabelOp,
    MoveOp,
    lends_storage,
    reads_and_writes,
    written_literals,
)
from flambeau.dialects.exec.literals import IntListOp, OptionalTensorListOp, TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slot_syntax import describe
from flambeau.dialects.exec.slots import AliasOp, ConstantOp, ExternalOp, StateOp, TensorSlotOp, nbytes
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.planning.buffers import align
from flambeau.passes.planning.live_bytes import LiveProfile
from flambeau.passes.storage.jumps import always_jumps


@dataclass(eq=False)
class StorageClass:
    """Slots that share memory through views and reuses.

    Time counts instructions: the caller sets inputs at 0, the first instruction is 1, outputs are read after the last.
    """

    root: SSAValue
    """The slot that the memory belongs to."""
    size: int
    """Bytes of the root."""
    members: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    first: int | None = None
    """When it is first read or written; None while it never is. What a loop may carry around lives from the loop's first instruction on."""
    last: int = -1
    """When it is last read or written, to the last instruction of a loop that may carry it around."""
    writes: list[int] = field(default_factory=list[int])
    """When it is written, in order."""
    is_output: bool = False
    """The caller reads some member after the last instruction."""

    @property
    def is_constant(self) -> bool:
        """Its bytes are the program's own."""
        return isinstance(self.root.owner, ConstantOp)

    @property
    def is_state(self) -> bool:
        """Its bytes last from call to call."""
        return isinstance(self.root.owner, StateOp)

    @property
    def is_external(self) -> bool:
        """Its bytes are the caller's."""
        return isinstance(self.root.owner, ExternalOp)

    @property
    def is_unwritten(self) -> bool:
        """Whether no instruction gives it contents, and neither the program nor the caller does."""
        return not self.writes and not self.is_constant and not self.is_state

    @property
    def span(self) -> tuple[int, int] | None:
        """The half-open span of time in which it occupies an arena; None when it never does."""
        return None if self.first is None or self.is_constant or self.is_external else (self.first, self.last + 1)

    def touch(self, time: int) -> None:
        """Notes a use."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = max(self.last, time)

    def written_between(self, after: int, until: int) -> bool:
        """Returns whether a write falls into (after, until]."""
        return bisect_right(self.writes, until) > bisect_right(self.writes, after)


class MethodStorage:
    """The storage classes of a method, kept right while classes are joined and instructions vanish.

    Raises:
        OperationError: for a method that reads or returns memory before anything is written into it: what it computes is not defined.
    """

    def __init__(self, method: MethodOp, alignment: int = 16):
        self.method = method
        self.alignment = alignment
        self.instructions: Sequence[InstructionOp] = method.instructions
        self.time: dict[Operation, int] = {op: index + 1 for index, op in enumerate(self.instructions)}
        self.end = len(self.instructions) + 1
        """When the caller reads the outputs."""
        self._classes: dict[SSAValue, StorageClass] = {}
        self._collect()
        self._jumps = self._find_jumps()
        self._widen()
        self._profile: LiveProfile | None = None

    def _collect(self) -> None:
        for op in self.method.slots:
            if not isinstance(op, TensorSlotOp):
                continue
            # The source is declared earlier, so its class is known: no walk along a chain of reuses, which may be as long as the method.
            found = self._classes[op.source] if isinstance(op, AliasOp) else StorageClass(op.slot, nbytes(op.slot.type))
            self._classes[op.slot] = found
            found.members[op.slot] = None
            if found.is_state:
                found.touch(0)
                found.touch(self.end)
        for slot in self.method.terminator.inputs:
            if (found := self._classes.get(slot)) is not None:
                found.touch(0)
                found.writes.append(0)
        early: list[tuple[Operation, SSAValue]] = []
        """What is read, in the order of the text, before it is written."""
        for op, time in self.time.items():
            reads, writes = touched_slots(op)
            if not isinstance(op, MoveOp | FreeOp):
                early += [(op, slot) for slot in reads if self._classes[slot].is_unwritten]
            for slot in (*reads, *writes):
                self._classes[slot].touch(time)
            for slot in writes:
                self._classes[slot].writes.append(time)
        for slot in self.method.terminator.outputs:
            if (found := self._classes.get(slot)) is not None:
                found.touch(self.end)
                found.is_output = True
                early += [(self.method.terminator, slot)] if found.is_unwritten else []
        self._check_written(early)

    def _check_written(self, early: Sequence[tuple[Operation, SSAValue]]) -> None:
        labels = {op.label.data: self.time[op] for op in self.instructions if isinstance(op, LabelOp)}
        loops = any(isinstance(op, JumpFalseOp) and labels[op.label.data] < self.time[op] for op in self.instructions)
        for op, slot in early:
            if loops and not self._classes[slot].is_unwritten:
                continue
            what = "is returned" if op is self.method.terminator else "is read here"
            help = "write it before, declare it as exec.state, or list it among the inputs of exec.return"
            raise OperationError(op, f"{describe(slot)} of @{self.method.sym_name.data} {what}, but nothing has written it: {help}")

    def __getitem__(self, slot: SSAValue) -> StorageClass:
        """Returns the class of a tensor slot."""
        return self._classes[slot]

    def classes(self) -> list[StorageClass]:
        """Returns every class once, in the order of the declarations."""
        return list(dict.fromkeys(self._classes.values()))

    @cached_property
    def _always(self) -> set[Operation]:
        return always_jumps(self.method)

    @cached_property
    def _computed(self) -> set[SSAValue]:
        return written_literals((*self.instructions, self.method.terminator))

    def takes_computed_numbers(self, op: CallOp) -> bool:
        """Returns whether an argument of a call is a number that only the run knows."""
        for slot in op.ins:
            items = slot.owner.items if isinstance(slot.owner, IntListOp) else (slot,)
            if not self._computed.isdisjoint(items):
                return True
        return False

    @property
    def _failures_start(self) -> int:
        """The time from which on instructions only fail: what checks jump to, at the end, from where no path goes on."""
        *rest, last = self.instructions or [None]
        again = rest[-1] if rest else None
        if not isinstance(last, LabelOp) or not isinstance(again, JumpFalseOp) or again not in self._always:
            return self.end
        labels = {op.label.data: self.time[op] for op in rest if isinstance(op, LabelOp)}
        leaves = (op for op in rest if isinstance(op, JumpFalseOp) and op.label.data == last.label.data and op in self._always)
        start = next((self.time[op] for op in leaves), self.end)
        return start if labels.get(again.label.data, 0) > start else self.end

    def _find_jumps(self) -> list[tuple[int, int]]:
        """Returns the times of each jump and of its label, without jumps to where instructions only fail."""
        labels = {op.label.data: self.time[op] for op in self.instructions if isinstance(op, LabelOp)}
        jumps = [(self.time[op], labels[op.label.data]) for op in self.instructions if isinstance(op, JumpFalseOp)]
        failures = self._failures_start if jumps else self.end
        return [jump for jump in jumps if max(jump) < failures]

    @cached_property
    def _paths(self) -> list[frozenset[int]]:
        """For each time, the jumps that skip or repeat its instruction, by their position among the jumps."""
        changes: dict[int, set[int]] = {}
        for index, jump in enumerate(self._jumps):
            for time in (min(jump) + 1, max(jump)):
                changes[time] = changes.get(time, set()) ^ {index}
        paths = [frozenset[int]()]
        for time in range(1, self.end):
            paths.append(paths[-1] ^ changes[time] if time in changes else paths[-1])
        return paths

    def run_together(self, first: int, second: int) -> bool:
        """Returns whether a run of one instruction always comes with a run of the other: no jump skips or repeats just one of them."""
        return self._paths[first] == self._paths[second]

    @cached_property
    def _lenders(self) -> list[list[StorageClass]]:
        """Classes of which one may hold the other's memory at run time, after a move or through a kernel that lends it."""
        found: list[list[StorageClass]] = []
        for op in self.instructions:
            if lends_storage(op):
                reads, writes = touched_slots(op)
                group = list(dict.fromkeys(self._classes[slot] for slot in (*reads, *writes)))
                found += [group] if len(group) > 1 else []
        return found

    @property
    def keeps_storage(self) -> bool:
        """Whether each slot has one storage throughout, which is what the passes that join classes need."""
        return not self._lenders

    def _widen(self) -> None:
        """Makes what is used inside of a loop and outside of it, or may be carried from round to round, live through the loop.

        Forward jumps only skip instructions, so that the span from the first use to the last holds on every path.
        """
        loops = sorted(((label, time) for time, label in self._jumps if label < time), key=lambda loop: (loop[1] - loop[0], loop[0]))
        # A jump from before a loop into it may skip a write and still lead to a read that the jump skips as well.
        into = any(self._jumps[index][0] < head and self._jumps[index][1] <= tail for head, tail in loops for index in self._paths[head])
        used = [(head, tail, self._used_in(head, tail, is_sure=not into)) for head, tail in loops]
        pending = bool(loops or self._lenders)
        while pending:
            before = [(item.first, item.last) for item in self.classes()]
            for head, tail, items in used:
                for item, is_carried in items.items():
                    if is_carried or item.first is None or item.first < head or item.last > tail:
                        item.touch(head)
                        item.touch(tail)
            for group in self._lenders:
                times = [time for item in group if item.first is not None for time in (item.first, item.last)]
                for item in group:
                    item.touch(min(times))
                    item.touch(max(times))
            pending = before != [(item.first, item.last) for item in self.classes()]

    def _used_in(self, head: int, tail: int, *, is_sure: bool) -> dict[StorageClass, bool]:
        """Returns the classes that a loop uses, each with whether a round may read it before it is written whole."""
        carried: dict[StorageClass, bool] = {}
        written: dict[StorageClass, int] = {}
        for op in self.instructions[head:tail]:
            reads, writes = touched_slots(op)
            time = self.time[op]
            # If every jump that skips or repeats the write also does so with the read, no round of the loop reads before it writes.
            for item in (self._classes[slot] for slot in reads):
                is_written = is_sure and item in written and self._paths[written[item]] <= self._paths[time]
                carried[item] = carried.get(item, False) or not is_written
            for slot in writes:
                item = self._classes[slot]
                # The kernel that copies an entry writes only one entry per round.
                is_whole = nbytes(slot.type) == item.size and not (isinstance(op, CallOp) and op.operator.data == COPY_INDEX)
                carried[item] = carried.get(item, False) or (not is_whole and item not in written)
                if is_whole and (item not in written or not self._paths[written[item]] <= self._paths[time]):
                    written[item] = time
        return carried

    @property
    def profile(self) -> LiveProfile:
        """The bytes that live at each moment; found when first asked for, then kept right."""
        if self._profile is None:
            self._profile = LiveProfile(self.end + 1)
            for item in self.classes():
                self._account(item, 1)
        return self._profile

    def _account(self, item: StorageClass, sign: int) -> None:
        if self._profile is not None and item.span is not None:
            self._profile.add(*item.span, sign * align(item.size, self.alignment))

    def forget(self, item: StorageClass, time: int) -> None:
        """Takes back that the class was written at `time`: the instruction that wrote it will vanish."""
        self._account(item, -1)
        item.writes.remove(time)
        if item.first == time:
            # A read of a slot comes after its write, so the next use is not earlier than the next instruction.
            item.first = min(time + 1, item.last) if item.last > time else None
        self._account(item, 1)

    def rename(self, old: SSAValue, new: SSAValue) -> None:
        """Notes that the slot `old` is now called `new`."""
        found = self._classes[new] = self._classes.pop(old)
        del found.members[old]
        found.members[new] = None
        if found.root is old:
            found.root = new

    def uses(self, item: StorageClass) -> set[int]:
        """Returns the times at which instructions mention a member, or a list with a member."""
        times: set[int] = set()
        pending = list(item.members)
        while pending:
            for use in pending.pop().uses:
                if (time := self.time.get(use.operation)) is not None:
                    times.add(time)
                elif isinstance(use.operation, TensorListOp | OptionalTensorListOp):
                    pending.append(use.operation.slot)
        return times

    def replace(self, slot: SSAValue, by: SSAValue) -> None:
        """Makes `by`, which has storage of its own, stand for `slot`, whose class it joins to its own."""
        self.join(self._classes[by], self._classes[slot])
        del self._classes[by].members[slot], self._classes[slot]

    def would_grow(self, into: StorageClass, others: Iterable[StorageClass]) -> bool:
        """Returns whether the arena would grow if `into` lived through the lifetimes of `others`, and they had no memory of their own."""
        before = self.profile.most
        parts = list(dict.fromkeys((into, *others)))
        spans = [span for item in parts if (span := item.span) is not None]
        for item in parts:
            self._account(item, -1)
        joined = not into.is_constant and bool(spans)
        span = (min(low for low, _ in spans), max(high for _, high in spans)) if joined else (0, 0)
        size = align(into.size, self.alignment)
        self.profile.add(*span, size)
        grown = self.profile.most > before
        self.profile.add(*span, -size)
        for item in parts:
            self._account(item, 1)
        return grown

    def join(self, into: StorageClass, other: StorageClass) -> None:
        """Makes the members of `other` members of `into`, whose memory they now have."""
        self._account(into, -1)
        self._account(other, -1)
        for slot in other.members:
            self._classes[slot] = into
        into.members |= other.members
        if other.first is not None:
            into.touch(other.first)
            into.touch(other.last)
        # A chain of reuses joins many classes to the same class: inserting the smaller list avoids walking the larger list each time.
        fewer, into.writes = sorted((into.writes, other.writes), key=len)
        for time in fewer:
            insort(into.writes, time)
        into.is_output |= other.is_output
        self._account(into, 1)


def touched_slots(op: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """Returns the tensor slots that an instruction reads and those it writes; one that takes another's storage counts as written."""
    if isinstance(op, MoveOp) and isinstance(op.source.owner, TensorSlotOp):
        return (op.source,), (op.target,)
    if isinstance(op, FreeOp):
        return (op.tensor,), ()
    return reads_and_writes(op)


def inplace_arguments(kernel: str) -> tuple[int, ...]:
    """Returns the positions of the inputs whose storage the out of a kernel may take over, as its row says."""
    found = row_kernels().get(kernel)
    return () if found is None or len(found.out.outs) != 1 else found.positions(found.row.inplace)
