"""`reuse-storage`: lets kernels write over an operand that is not read again, and new state over old."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import COPY, OVERWRITE, CallOp
from flambeau.dialects.exec.literals import OptionalTensorListOp, TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import AliasOp, ExternalOp, ReuseOp, StateOp, TensorOp, nbytes, root_of
from flambeau.dialects.ir.extents import provably_equal
from flambeau.dialects.ir.tensor_types import is_static, shape_of
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import analysis, may_rewrite, was_restricted
from flambeau.passes.rewriting.conversion_report import ConversionError, IllegalOperation, LegalizationReport
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.passes.storage.classes import MethodStorage, inplace_arguments, touched_slots
from flambeau.passes.storage.slot_rewrites import erase_instruction, erase_unused, make_reuse, unplanned_methods_of
from flambeau.passes.storage.updates import use_update, write_part
from flambeau.passes.targets.interface import Target, TargetName, find_target


def _writable(op: CallOp, source: SSAValue, storage: MethodStorage) -> bool:
    """Returns whether the kernel of `op` may write its out over `source`, of the same type."""
    positions = inplace_arguments(op.operator.data)
    if len(op.outs) != 1 or source.type != op.outs[0].type or not all(map(provably_equal, shape_of(source), shape_of(op.outs[0]))):
        return False
    # Another operand in the same memory could be read after it was overwritten, unless it is the same slot.
    others = [slot for slot in touched_slots(op)[0] if storage[slot] is storage[source] and slot != source]
    read_at = {position for position, slot in enumerate(op.ins) if slot == source}
    in_list = any(source in slot.owner.operands for slot in op.ins if isinstance(slot.owner, TensorListOp | OptionalTensorListOp))
    # The slot must not also be an argument at a position that the kernel may read after writing.
    return not others and not in_list and bool(read_at) and read_at.issubset(positions)


def _reuse(op: CallOp, storage: MethodStorage) -> bool:
    """Lets a call write over the first operand that allows it."""
    if len(op.outs) != 1:
        return False
    out, time = op.outs[0], storage.time[op]
    if not isinstance(out.owner, TensorOp) or storage[out].first != time:
        return False
    for source in touched_slots(op)[0]:
        held = storage[source]
        dies = held.last == time and not (held.is_constant or held.is_state or held.is_external or held.is_output)
        if dies and held is not storage[out] and held.size == nbytes(source.type) and _writable(op, source, storage):
            if not may_rewrite("reuse-storage", op):
                return False
            storage.join(held, storage[out])
            storage.rename(out, make_reuse(out, source))
            return True
    return False


def _writer(value: SSAValue, state: SSAValue, time: int, storage: MethodStorage) -> Operation | None:
    """Returns the instruction that may compute `value` in the memory of `state`, to which it is copied at `time`."""
    held, computed = storage[state], storage[value]
    if not isinstance(value.owner, TensorOp) or state.type != value.type or not is_static(state) or len(computed.writes) != 1:
        return None
    when = computed.writes[0]
    # If a branch or loop ends between the write and the copy, the state would also be written on paths that skip the copy.
    is_sure = computed.first == when and not computed.is_output and 0 < when < time and storage.run_together(when, time)
    writer = storage.instructions[when - 1] if is_sure else None
    # Slots in the caller's memory cannot have views.
    kinds = AliasOp if held.is_external else ReuseOp
    if writer is None or value not in touched_slots(writer)[1] or any(isinstance(slot.owner, kinds) for slot in computed.members):
        return None
    uses = storage.uses(held)
    if any(when < use < time for use in uses) or held.written_between(time, computed.last):
        return None
    return writer if when not in uses or (isinstance(writer, CallOp) and _writable(writer, state, storage)) else None


def _start(value: SSAValue, state: SSAValue, time: int, storage: MethodStorage) -> CallOp | None:
    """Returns the copy of the state that calls update in place and that is copied back at `time`; None when other code reads it."""
    held, computed = storage[state], storage[value]
    when = computed.first
    if not isinstance(value.owner, TensorOp) or computed.is_output or not when or len(computed.members) > 1 or when >= time:
        return None
    start = storage.instructions[when - 1]
    if not isinstance(start, CallOp) or start.operator.data != COPY or start.ins[0] is not state or state.type != value.type:
        return None
    is_between = any(when < use < time for use in storage.uses(held))
    is_sure = is_static(state) and storage.run_together(when, time)
    return None if is_between or not is_sure or held.written_between(time, computed.last) else start


def _write_to_state(op: CallOp, storage: MethodStorage) -> bool:
    """Lets the calls that compute the next value of a state, one from the other, write it there, in place of a copy at the end.

    An input that is written in the caller's memory is treated as state.
    """
    if op.operator.data != OVERWRITE or not isinstance(root_of(op.ins[0])[0].owner, StateOp | ExternalOp):
        return False
    state, value, time = op.ins[0], op.ins[1], storage.time[op]
    if (start := _start(value, state, time, storage)) is not None and may_rewrite("reuse-storage", op):
        storage[state].writes.remove(time)
        _move(value, state, storage)
        erase_instruction(start)
        erase_instruction(op)
        return True
    writer = _writer(value, state, time, storage)
    if writer is None or not may_rewrite("reuse-storage", op):
        return False
    storage[state].writes.remove(time)
    _move(value, state, storage)
    erase_instruction(op)
    while isinstance(writer, CallOp):
        step, time, writer = writer, storage.time[writer], None
        sources = dict.fromkeys(touched_slots(step)[0])
        if any(storage[source] is storage[state] for source in sources):
            break
        for source in sources:
            if storage[source].last == time and _writable(step, source, storage):
                writer = _writer(source, state, time, storage)
            if writer is not None:
                _move(source, state, storage)
                break
    return True


def _move(value: SSAValue, state: SSAValue, storage: MethodStorage) -> None:
    storage.replace(value, state)
    replace_uses(value, state)
    erase_unused([value])


def reuse_storage(method: MethodOp, target: Target) -> int:
    """Lets the calls of a method write over their operands; gives how many do."""
    with analysis("storage classes", method):
        storage = MethodStorage(method)
    if not storage.keeps_storage:
        return 0
    calls = [op for op in storage.instructions if isinstance(op, CallOp)]
    # States come first, because the next value of a state must not share other storage yet. Values for a part of a state follow.
    left = [op for op in calls if not _write_to_state(op, storage)]
    parts = [copy for op in left if (copy := write_part(op, storage)) is not None]
    if parts:
        order_declarations(method)
        storage = MethodStorage(method)
        left = [op for op in storage.instructions if isinstance(op, CallOp)]
        left = [op for op in left if op not in parts or not _write_to_state(op, storage)]
    found = len(calls) - len(left) + sum(_reuse(op, storage) for op in left)
    for op in method.instructions:
        if isinstance(op, CallOp):
            use_update(op, target)
    order_declarations(method)
    return found


def _check_types(method: MethodOp, target: Target) -> None:
    """Refuses calls over element types that their kernels do not take, once the calls that vanish have vanished."""
    calls = [op for op in method.instructions if isinstance(op, CallOp)] if not was_restricted() else []
    illegal = [
        IllegalOperation(op, f"{op.operator.data} of the target {target.name!r} does not take it: {reason}")
        for op in calls
        if (reason := target.table.lacking(op.operator.data, chain(*touched_slots(op)))) is not None
    ]
    if illegal:
        raise ConversionError(LegalizationReport.of(f"kernel calls of the target {target.name!r}", illegal))


@dataclass(frozen=True)
class ReuseStoragePass(OperationPass):
    """Gives the result of an elementwise call the storage of an operand of the same type that dies there: `exec.reuse`.

    Which operands a kernel may write over is what its row's `inplace` says. Constants and what the method returns are never written over;
    state, and an input in the caller's memory, only with its own next value, whose copy at the end then vanishes. An `index_put` of rows
    into such an operand becomes the target's `index_put_`, so that a step moves the new entries of a cache and nothing else.

    Needs: `exec` methods before planning; run it after `elide-views` and `place-concat`, which it would block. Leaves: no such call
    that could still take over an operand; never more bytes live at once than before. What a loop
    carries from round to round stays as it is, and so do shapes that may differ when the program runs. By now every call that can vanish
    has vanished: the pass refuses those that are left over element types that their kernels do not take.
    """

    name = "reuse-storage"
    works_on = ("exec.method",)
    target: TargetName = "executorch"
    """Whose kernels update a tensor in place."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already, ConversionError for such calls."""
        target = find_target(self.target)
        for method in unplanned_methods_of(op):
            count("calls in place", reuse_storage(method, target))
            _check_types(method, target)
