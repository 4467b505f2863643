"""`elide-views`: replaces kernel calls that only give bytes another type by views."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import ALIASING, CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import TensorOp, nbytes
from flambeau.dialects.ir.diagnostics import OperationError, remark
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.layouts import relaid
from flambeau.passes.storage.reinterpretation import Part, reinterpretation
from flambeau.passes.storage.slot_rewrites import (
    collapse_views,
    erase_instruction,
    erase_unused,
    make_view,
    replace_slot,
    unplanned_methods_of,
)
from flambeau.passes.targets.interface import Target, TargetName, find_target


def _is_sound(part: Part, time: int, storage: MethodStorage) -> bool:
    """Returns whether a view of the source always reads the same content as the copy."""
    source, copy = storage[part.source], storage[part.slot]
    if not isinstance(part.slot.owner, TensorOp) or source is copy or copy.writes != [time] or copy.first != time:
        return False
    if source.is_external or (source.is_constant and part.offset):
        return False
    if copy.is_output and (source.is_constant or source.is_state):
        # The caller owns an output: writing it must change neither a weight nor the state of the next call.
        return False
    return not source.written_between(time, copy.last)


def _takes_over(op: CallOp, part: Part, storage: MethodStorage) -> bool:
    """Lets the operand of a copy stand for the copy, which is written again, where nobody reads the operand afterwards."""
    source, copy, time = storage[part.source], storage[part.slot], storage.time[op]
    is_whole = part.slot.type == part.source.type and not part.offset and len(copy.members) == len(source.members) == 1
    is_own = isinstance(part.source.owner, TensorOp) and isinstance(part.slot.owner, TensorOp) and not source.is_output
    is_last = source.last == copy.first == time and copy.writes[:1] == [time] and len(copy.writes) > 1
    # An input in an arena must not become an output.
    is_given = copy.is_output and source.writes[:1] == [0]
    if not (is_whole and is_own and is_last) or is_given:
        return False
    if not may_rewrite("elide-views", op):
        return False
    storage.forget(copy, time)
    storage.replace(part.slot, part.source)
    replace_uses(part.slot, part.source)
    erase_instruction(op)
    erase_unused([part.slot])
    return True


def _shares(op: CallOp, storage: MethodStorage) -> bool:
    """Lets the result of a reshaping call of dynamic sizes share its operand's memory; what is left of the call is to set the sizes."""
    if op.operator.data != "aten::view_copy.out" or is_static(*op.ins[:1], *op.outs):
        return False
    part = Part(op.outs[0], op.ins[0], 0)
    time, source, copy = storage.time[op], storage[part.source], storage[part.slot]
    is_row_major = all(list(dim_order(slot)) == sorted(dim_order(slot)) for slot in (part.source, part.slot))
    if not is_row_major or copy.is_output or nbytes(part.slot.type) > nbytes(part.source.type) or not _is_sound(part, time, storage):
        return False
    if not may_rewrite("elide-views", op):
        return False
    storage.join(source, copy)
    storage.rename(part.slot, make_view(part.slot, part.source, 0))
    return True


def _elide(op: CallOp, storage: MethodStorage, target: Target) -> bool:
    if storage.takes_computed_numbers(op):
        return False
    change = None
    parts = reinterpretation(op)
    if parts is None:
        change = relaid(op, target)
        parts = [] if change is None else [change.part]
    if len(parts) == 1 and change is None and _takes_over(op, parts[0], storage):
        return True
    time = storage.time[op]
    slots = [part.slot for part in parts]
    if not parts or len(set(slots)) != len(slots) or not all(_is_sound(part, time, storage) for part in parts):
        return False
    source = storage[parts[0].source]
    # A view keeps its whole source alive. If the parts are less than half of the source, saving memory is worth the small copy.
    small = 2 * sum(nbytes(slot.type) for slot in slots) < source.size
    if small and not source.is_state and storage.would_grow(source, [storage[slot] for slot in slots]):
        remark(op, f"stays a copy: as a view it would keep {source.size} bytes alive while memory is fullest")
        return False
    if not may_rewrite("elide-views", op):
        return False
    if change is not None:
        new = replace_slot(change.slot, TensorOp(change.type))
        storage.rename(change.slot, new)
        parts = [Part(new, op.ins[0], 0) if change.part.slot is change.slot else Part(change.part.slot, new, 0)]
    for part in parts:
        copy = storage[part.slot]
        storage.forget(copy, time)
        storage.join(source, copy)
        storage.rename(part.slot, make_view(part.slot, part.source, part.offset))
    erase_instruction(op)
    return True


def elide_views(method: MethodOp, target: Target) -> int:
    """Elides the views of a method; gives how many calls vanished."""
    with analysis("storage classes", method):
        storage = MethodStorage(method, target.alignment)
    if not storage.keeps_storage:
        return 0
    calls = [op for op in storage.instructions if isinstance(op, CallOp)]
    sharing = dict.fromkeys(op for op in calls if _shares(op, storage))
    elided = sum(_elide(op, storage, target) for op in calls if op not in sharing)
    for op in sharing:
        sized = CallOp(ALIASING, op.ins[:2], (), op.outs)
        sized.location = op.location
        Rewriter.insert_op(sized, InsertPoint.before(op))
        erase_instruction(op)
    collapse_views(method)
    order_declarations(method)
    return len(sharing) + elided


@dataclass(frozen=True)
class ElideViewsPass(OperationPass):
    """Turns copies that only reinterpret bytes into `exec.view`, and their calls into nothing.

    Such are reshapes, copies of one dtype and layout, permutations that move no byte, and slices whose bytes lie together.

    Needs: `exec` methods before planning. Leaves: no such copy where a view gives the same content until its last read, but for small
    parts of large tensors that would live on for them while memory is fullest. Outputs stay copies of constants and of state. A reshape of
    dynamic sizes becomes ExecuTorch's `et_view`, which gives the view its sizes; other dynamic copies stay as they are, and so does what a
    loop carries from round to round. A copy that is written again vanishes where nobody reads its operand afterwards, which stands for it.
    """

    name = "elide-views"
    works_on = ("exec.method",)
    target: TargetName = "executorch"
    """Whose kernels read the views: where they take another dim order, permutations before them vanish."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already, and for a copy that must become a view."""
        target = find_target(self.target)
        for method in unplanned_methods_of(op):
            count("calls elided", elide_views(method, target))
            for call in method.walk():
                if isinstance(call, CallOp) and call.operator.data in target.views:
                    raise OperationError(
                        call,
                        f"the target {target.name!r} has no kernel {call.operator.data}, and the result cannot be a view of the operand: "
                        "its shape is dynamic, or the operand is a constant or carried by a loop; compile for the target 'flambeau', "
                        "export fixed sizes, or return torch.view_as_real(y) where y is a complex result",
                    )
