"""`reorder-instructions`: runs the instructions of a method in the order in which the fewest bytes are live at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, InstructionOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slots import Roots, SlotOp, TensorSlotOp, nbytes, root_of
from flambeau.dialects.ir.diagnostics import remark
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.planning.buffers import align
from flambeau.passes.planning.step_order import EFFORT, OrderedBuffer, Steps, best_order
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.storage.classes import MethodStorage, StorageClass, touched_slots
from flambeau.passes.storage.slot_rewrites import unplanned_methods_of

_EFFECTS = "effects"
"""What delegates, kernels that draw random numbers and kernels without a row may change, beside memory."""
_CALLER = "caller"
"""The memory of the caller, of which nothing says what has bytes in common."""
_WHOLE = (0, 1 << 62)
_MOST_RANGES = 32
"""Ranges of one memory that are told apart."""
_PRIMITIVES = "executorch_prim::"
"""Kernels on numbers, which change nothing but their results."""


@dataclass(frozen=True)
class ReorderInstructionsPass(OperationPass):
    """Orders the instructions between jumps such that the peak of live bytes is lower, by a search that is exact where its effort suffices.

    An instruction stays behind those that write what it reads, and before those that overwrite it. Instructions that may change more than
    memory, as random numbers and delegates, keep their order. Where the peak is what a single instruction
    needs, the order stays.

    Needs: `exec` methods without a plan, best after `reuse-storage`, which changes what is live; a method whose slots trade their storage
    stays as it is. Leaves: the same instructions; the peak of live bytes at most what it was.
    """

    name = "reorder-instructions"
    works_on = ("exec.method",)
    effort: int = EFFORT
    """Bounds the search between two jumps: for each instruction, looks at one that may be next."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Reorders instructions in place."""
        for method in unplanned_methods_of(op):
            with analysis("lifetimes", method):
                storage = MethodStorage(method)
            if storage.keeps_storage:
                self._reorder(method, storage)

    def _reorder(self, method: MethodOp, storage: MethodStorage) -> None:
        live = _live_bytes(storage)
        runs = [_Run(storage, [*ops]) for can_move, ops in groupby(storage.instructions, _can_move) if can_move]
        before = max(live)
        # The bytes that no order can go below: those of single instructions, and those at moments outside of the runs.
        inside = {time for run in runs for time in run.times}
        floor = max(most for time, most in enumerate(live) if time not in inside)
        floor = max([floor, *(run.floor(live) for run in runs)])
        for run in sorted(runs, key=lambda run: -run.peak(live)):
            if run.peak(live) <= floor:
                break
            steps = run.steps(live)
            order = best_order(steps, floor, self.effort)
            if order is None or not may_rewrite(self.name, run.ops[0]):
                count("orders that stay")
                floor = run.peak(live)
                break
            floor = max(floor, steps.peak(order))
            run.apply(order)
        saved = before - floor
        if saved:
            count("bytes of peak memory saved", saved)
            remark(method, f"the order of instructions lowers the peak of @{method.sym_name.data} from {before} to {floor} bytes")


def _can_move(op: InstructionOp) -> bool:
    # What a call without results checks has to hold for those after it.
    return isinstance(op, DelegateCallOp) or (isinstance(op, CallOp) and bool((*op.outs, *op.returns, *op.writes)))


def _live_bytes(storage: MethodStorage) -> list[int]:
    """Returns the bytes that are live at each time."""
    changes = [0] * (storage.end + 2)
    for item in storage.classes():
        if item.span is not None:
            start, end = item.span
            changes[start] += _size(item, storage)
            changes[end] -= _size(item, storage)
    return list(accumulate(changes[:-1]))


def _size(item: StorageClass, storage: MethodStorage) -> int:
    return align(item.size, storage.alignment)


@dataclass
class _Run:
    """Instructions in a row, any order of which is right that keeps writes and reads of the same bytes in order."""

    storage: MethodStorage
    ops: list[InstructionOp]

    def __post_init__(self) -> None:
        first = self.storage.time[self.ops[0]]
        self.times = range(first, first + len(self.ops))
        self.users: dict[StorageClass, list[int]] = {}
        for step, op in enumerate(self.ops):
            for item in dict.fromkeys(self.storage[slot] for slots in touched_slots(op) for slot in slots):
                if item.span is not None:
                    self.users.setdefault(item, []).append(step)
        first, last = self.times[0], self.times[-1]
        sizes = {item: _size(item, self.storage) for item in self.users}
        spans = {item: item.span or (0, 0) for item in self.users}
        self.buffers = [
            OrderedBuffer(sizes[item], tuple(users), spans[item][0] < first, spans[item][1] - 1 > last)
            for item, users in self.users.items()
        ]
        used = [0] * len(self.ops)
        for item, users in self.users.items():
            for step in users:
                used[step] += sizes[item]
        self._most_used = max(used)
        self._at_first = sum(sizes[item] for item, (start, end) in spans.items() if start <= first < end)

    def peak(self, live: Sequence[int]) -> int:
        """Returns the most bytes that are live at a time of the run."""
        return max(live[time] for time in self.times)

    def _beside(self, live: Sequence[int]) -> int:
        """Returns the bytes that are live throughout the run, and that no instruction of it uses."""
        return live[self.times[0]] - self._at_first

    def floor(self, live: Sequence[int]) -> int:
        """Returns the bytes that the instruction with the most needs in any order."""
        return self._beside(live) + self._most_used

    def steps(self, live: Sequence[int]) -> Steps:
        """Returns the run as steps with what each needs before it."""
        dependences = _Dependences(self.storage)
        needs = [dependences.of(step, op) for step, op in enumerate(self.ops)]
        return Steps(needs, [*self.buffers, OrderedBuffer(self._beside(live), (), is_before=True, is_after=True)])

    def apply(self, order: Sequence[int]) -> None:
        """Moves the instructions."""
        following = self.ops[-1].next_op
        block = self.ops[0].parent
        assert following is not None and block is not None, "a method ends with exec.return"
        for step in order:
            self.ops[step].detach()
            block.insert_op_before(self.ops[step], following)


@dataclass
class _Access:
    """The last write of a range of bytes, and the reads since."""

    writer: int | None = None
    readers: list[int] = field(default_factory=list[int])


class _Dependences:
    """What the steps so far have read and written: ranges of bytes of each memory, and numbers."""

    def __init__(self, storage: MethodStorage):
        self._storage = storage
        self._roots: Roots = {}
        self._known: dict[Hashable, dict[tuple[int, int], _Access]] = {}

    def of(self, step: int, op: InstructionOp) -> list[int]:
        """Returns the earlier steps that must stay before the next one, and notes what it reads and writes."""
        found: set[int] = set()
        for place, range, is_write in self._accesses(op):
            known = self._known.setdefault(place, {})
            for other, access in known.items():
                if other[0] < range[1] and range[0] < other[1]:
                    found.update(() if access.writer is None else (access.writer,))
                    found.update(access.readers if is_write else ())
            access = known.setdefault(range if len(known) < _MOST_RANGES else _WHOLE, _Access())
            if is_write:
                access.writer, access.readers = step, []
            else:
                access.readers.append(step)
        return sorted(found - {step})

    def _accesses(self, op: InstructionOp) -> Iterator[tuple[Hashable, tuple[int, int], bool]]:
        reads, writes = reads_and_writes(op)
        for slots, is_write in ((reads, False), (writes, True)):
            for slot in slots:
                if isinstance(slot.owner, TensorSlotOp) and not (found := self._storage[slot]).is_constant:
                    yield (_CALLER, _WHOLE, is_write) if found.is_external else (found, self._range(slot), is_write)
        changed = (*op.outs, *op.returns) if isinstance(op, CallOp) else ()
        for number in _numbers(op.operands):
            yield number, _WHOLE, number in changed
        if not isinstance(op, CallOp) or _may_do_more(op.operator.data):
            yield _EFFECTS, _WHOLE, True

    def _range(self, slot: SSAValue) -> tuple[int, int]:
        low = root_of(slot, self._roots)[1]
        return low, low + max(nbytes(slot.type), 1)


def _numbers(slots: Sequence[SSAValue]) -> Iterator[SSAValue]:
    """Yields the slots that hold no tensor, those in lists among them."""
    pending = list(slots)
    while pending:
        slot = pending.pop()
        if not isinstance(slot.owner, TensorSlotOp):
            yield slot
            pending += slot.owner.operands if isinstance(slot.owner, SlotOp) else ()


def _may_do_more(kernel: str) -> bool:
    """Returns whether a kernel may change something beside its results."""
    found = row_kernels().get(kernel)
    return found.row.random if found is not None else not kernel.startswith(_PRIMITIVES)
