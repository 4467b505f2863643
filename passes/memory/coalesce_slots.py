"""`coalesce-slots`: removes copies between slots that can be merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import COPY, COPY_INDEX, OVERWRITE, CallOp, DelegateCallOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.literals import BoolOp, DoubleOp, IntListOp, IntOp, OptionalTensorListOp, TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ExternalOp, StateOp, TensorOp, root_of
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import editing_operands, replace_uses
from flambeau.passes.storage.classes import inplace_arguments
from flambeau.passes.storage.jumps import always_jumps
from flambeau.passes.storage.reinterpretation import reinterpretation
from flambeau.passes.storage.slot_rewrites import erase_instruction, erase_unused, unplanned_methods_of


@dataclass
class _Touched:
    """The slots that an instruction reads and writes, as bits."""

    reads: int = 0
    writes: int = 0
    """Written in part or whole."""
    kills: int = 0
    """Written whole: what was there before is of no use."""
    held: int = 0
    """Read while the instruction writes, so that none of these may lie where it writes."""


@dataclass
class _Copies:
    """The copies of a method, and the slots that they could make one.

    Liveness and interference as of Chaitin, Register Allocation and Spilling via Graph Coloring, 1982, for copies alone.
    """

    method: MethodOp
    copies: list[CallOp | MoveOp] = field(default_factory=list["CallOp | MoveOp"])
    of_nothing: set[Operation] = field(default_factory=set[Operation])
    """The copies of tensors that have no elements yet, as those that loops fill; their targets have none after them."""
    bits: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The bit of each slot that a copy may be saved for."""

    def __post_init__(self) -> None:
        self.instructions = self.method.instructions
        self.always = always_jumps(self.method)
        inputs = set(self.method.terminator.inputs)
        written = {root_of(slot)[0] for op in self.instructions for slot in _written(op)}
        calls = [op for op in self.instructions if isinstance(op, CallOp) and len(op.outs) == 1 and op.operator.data != COPY]
        views = {op.outs[0] for op in calls if reinterpretation(op) is not None}
        for op in self.instructions:
            ends = copied(op)
            # If the operator of the source only reinterprets bytes, the source becomes a view later, and this copy must stay.
            if ends is None or ends[0] in views:
                continue
            if ends[0].type == ends[1].type and all(_can_be_shared(slot, inputs, written) for slot in ends):
                assert isinstance(op, CallOp | MoveOp)
                if isinstance(ends[0].owner, TensorOp) and ends[0] not in written:
                    self.of_nothing.add(op)
                self.copies.append(op)
                for slot in ends:
                    self.bits.setdefault(slot, 1 << len(self.bits))

    def mask(self, slots: Iterator[SSAValue] | Sequence[SSAValue]) -> int:
        found = 0
        for slot in slots:
            found |= self.bits.get(root_of(slot)[0], 0)
        return found

    def _touched(self, op: Operation) -> _Touched:
        match op:
            case CallOp() if op in self.of_nothing:
                return _Touched(0, self.mask(op.outs), self.mask(op.outs))
            case CallOp():
                written = [*_items((*op.outs, *op.returns, *op.writes)), *([op.ins[0]] if op.operator.data == COPY_INDEX else ())]
                is_whole = op.operator.data != COPY_INDEX
                reads = self.mask(_items(op.ins[1:] if op.operator.data == OVERWRITE else op.ins))
                writes = self.mask(written)
                kills = self.mask([slot for slot in written if slot in self.bits]) & ~reads if is_whole else 0
                return _Touched(reads, writes, kills, self.mask(self._read_while_writing(op)))
            case DelegateCallOp():
                reads, writes = self.mask(op.ins), self.mask(op.outs)
                return _Touched(reads, writes, self.mask([slot for slot in op.outs if slot in self.bits]), reads)
            case MoveOp():
                writes = self.mask((op.target,))
                return _Touched(self.mask((op.source,)), writes, writes)
            case JumpFalseOp():
                return _Touched(self.mask((op.condition,)))
            case _:
                return _Touched(self.mask(tuple(op.operands)))

    @staticmethod
    def _read_while_writing(op: CallOp) -> Iterator[SSAValue]:
        """Yields the tensors that a kernel may still read when it has begun to write; numbers are read first."""
        has_one_out = len(op.outs) == 1 and _is_tensor(op.outs[0]) and is_static(op.outs[0])
        allowed = inplace_arguments(op.operator.data) if has_one_out else ()
        for position, slot in enumerate(op.ins):
            if isinstance(slot.owner, TensorListOp | OptionalTensorListOp):
                yield from slot.owner.operands
            elif _is_tensor(slot):
                is_twice = any(other is slot for index, other in enumerate(op.ins) if index != position)
                if position not in allowed or slot.type != op.outs[0].type or is_twice:
                    yield slot

    def interference(self) -> dict[int, int]:
        """Returns for each slot's bit the bits of slots that hold something else when that slot is written."""
        touched = [self._touched(op) for op in self.instructions]
        targets = {op.label.data: index for index, op in enumerate(self.instructions) if isinstance(op, LabelOp)}
        always = self.mask([slot for slot in self.bits if isinstance(slot.owner, StateOp)])
        end = always | self.mask(self.method.terminator.outputs)
        after = [0] * len(self.instructions)
        before = [0] * len(self.instructions)
        changed = True
        while changed:
            changed = False
            for index in range(len(self.instructions) - 1, -1, -1):
                op = self.instructions[index]
                live = before[index + 1] if index + 1 < len(self.instructions) else end
                if isinstance(op, JumpFalseOp):
                    target = before[targets[op.label.data]]
                    live = target if op in self.always else live | target
                after[index] = live
                now = (live & ~touched[index].kills) | touched[index].reads | always
                if now != before[index]:
                    before[index] = now
                    changed = True
        found = dict.fromkeys(self.bits.values(), 0)
        for op, touch, live in zip(self.instructions, touched, after, strict=True):
            same = copied(op)
            source = self.mask((same[0],)) if same is not None else 0
            for bit in _bits(touch.writes):
                found[bit] |= (((live | touch.held) & ~source) | touch.writes) & ~bit
        return found


def copied(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Returns the source and target slot of an instruction that only copies a whole tensor or number."""
    match op:
        case MoveOp() if not isinstance(op.source.type, TensorType):
            return op.source, op.target
        case CallOp() if op.operator.data == COPY:
            return op.ins[0], op.outs[0]
        case _:
            return None


def _is_tensor(slot: SSAValue) -> bool:
    return isinstance(slot.type, TensorType)


def _can_be_shared(slot: SSAValue, inputs: set[SSAValue], written: set[SSAValue]) -> bool:
    """Returns whether a slot may be another's: it is no view, and instructions alone give it what it holds."""
    match slot.owner:
        case StateOp():
            return True
        case TensorOp() | ExternalOp():
            return slot not in inputs
        case IntOp() | DoubleOp() | BoolOp():
            return slot not in inputs and slot in written
        case _:
            return False


def _items(slots: Sequence[SSAValue]) -> Iterator[SSAValue]:
    for slot in slots:
        if isinstance(slot.owner, TensorListOp | OptionalTensorListOp | IntListOp):
            yield from slot.owner.operands
        else:
            yield slot


def _written(op: Operation) -> Iterator[SSAValue]:
    match op:
        case CallOp():
            yield from _items((*op.outs, *op.returns, *op.writes, *(op.ins[:1] if op.operator.data == COPY_INDEX else ())))
        case DelegateCallOp():
            yield from op.outs
        case MoveOp():
            yield op.target
        case _:
            pass


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def _depths(method: MethodOp) -> dict[Operation, int]:
    """Returns the number of loops, which a jump back closes, around each instruction."""
    labels: dict[str, int] = {}
    instructions = method.instructions
    changes = [0] * (len(instructions) + 1)
    for index, op in enumerate(instructions):
        if isinstance(op, LabelOp):
            labels[op.label.data] = index
        elif isinstance(op, JumpFalseOp) and op.label.data in labels:
            changes[labels[op.label.data]] += 1
            changes[index] -= 1
    depth, found = 0, dict[Operation, int]()
    for op, change in zip(instructions, changes, strict=False):
        depth += change
        found[op] = depth
    return found


def coalesce_slots(method: MethodOp) -> int:
    """Merges slots that differ only by a copy; returns the number of copies removed."""
    found = _Copies(method)
    if not found.copies:
        return 0
    apart = found.interference()
    depths = _depths(method)
    outputs = found.mask(method.terminator.outputs)
    members = {bit: bit for bit in apart}
    leader = {bit: bit for bit in apart}
    slots = {bit: slot for slot, bit in found.bits.items()}
    gone = 0
    for op in sorted(found.copies, key=lambda op: -depths[op]):
        ends = copied(op)
        assert ends is not None
        source, target = (leader[found.bits[slot]] for slot in ends)
        if source != target:
            both_returned = members[source] & outputs and members[target] & outputs
            if apart[source] & members[target] or apart[target] & members[source] or both_returned or not may_rewrite("coalesce-slots", op):
                continue
            # States and tensors in the caller's memory keep their slots.
            keep, other = (source, target) if isinstance(slots[source].owner, StateOp | ExternalOp) else (target, source)
            if isinstance(slots[other].owner, StateOp | ExternalOp):
                continue
            members[keep] |= members[other]
            apart[keep] |= apart[other]
            for bit in _bits(members[other]):
                leader[bit] = keep
        gone += 1
    with editing_operands():
        for bit, first in leader.items():
            if bit != first:
                replace_uses(slots[bit], slots[first])
        for op in found.copies:
            ends = copied(op)
            if ends is not None and (ends[0] is ends[1] or op in found.of_nothing):
                erase_instruction(op)
        erase_unused([slots[bit] for bit, first in leader.items() if bit != first])
    order_declarations(method)
    return gone


@dataclass(frozen=True)
class CoalesceSlotsPass(OperationPass):
    """Merges slots that differ only by a copy, the copies of innermost loops first.

    Needs: `exec` methods before planning. Leaves: no copy between slots of one type that never hold different contents at a time, but for
    constants, inputs, and two results of the method. A result of a branch is then computed into its slot, a round of a loop writes over
    what the round before left, and a state is read where it is.
    """

    name = "coalesce-slots"
    works_on = ("exec.method",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already."""
        for method in unplanned_methods_of(op):
            count("copies", coalesce_slots(method))
