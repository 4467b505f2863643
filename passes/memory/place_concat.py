"""`place-concat`: lets kernels write the parts of a concatenation into its result directly."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import COPY, CallOp
from flambeau.dialects.exec.literals import IntOp, NoneOp, TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slots import ReuseOp, TensorOp, ViewOp, nbytes, root_of
from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor_type
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.reinterpretation import offset_of_view, tensors_of, unwritten_array
from flambeau.passes.storage.slot_rewrites import collapse_views, erase_instruction, make_view, unplanned_methods_of
from flambeau.passes.targets.interface import Target, TargetName, find_target

MOST_COPIES = 4
"""More operands than this are not copied one by one: each copy is a call of its own."""


def _offsets(op: CallOp) -> list[tuple[SSAValue, int]] | None:
    """Returns the tensors that a call joins, each with the offset of its bytes in the result; None when they do not lie together there."""
    kernel = row_kernels().get(op.operator.data)
    if kernel is None or kernel.row.joins is None or not isinstance(op.ins[0].owner, TensorListOp) or len(op.outs) != 1:
        return None
    keeps_dim = kernel.row.joins == "along"
    parts, whole = tuple(op.ins[0].owner.items), op.outs[0]
    if not isinstance(op.ins[1].owner, IntOp) or not parts or not is_static(whole, *parts):
        return None
    rank = len(shape_of(whole))
    element = tensor_type(whole).element_type
    if any(len(shape_of(part)) != rank - (not keeps_dim) or tensor_type(part).element_type != element for part in parts):
        return None
    dim, result = op.ins[1].owner.number % rank, unwritten_array(whole)
    found: list[tuple[SSAValue, int]] = []
    start = 0
    for part in parts:
        length = shape_of(part)[dim] if keeps_dim else 1
        entries = slice(start, start + length) if keeps_dim else start
        offset = offset_of_view(result[(slice(None),) * dim + (entries,)], result, part)
        if offset is None or nbytes(part.type) == 0:
            return None
        found.append((part, offset))
        start += length
    return found


def _can_move(slot: SSAValue, time: int, storage: MethodStorage) -> bool:
    """Returns whether the storage of a part may lie inside the result.

    Whatever shares it must hold just this part, written by instructions before `time` only.
    """
    (root, inner), part = root_of(slot), storage[slot]
    if not isinstance(root.owner, TensorOp) or inner or nbytes(root.type) != nbytes(slot.type):
        return False
    if not part.writes or not 0 < part.writes[0] <= part.writes[-1] < time:
        return False
    return not any(isinstance(member.owner, ReuseOp) for member in part.members)


def _copy_part(op: CallOp, part: SSAValue, offset: int) -> None:
    """Copies a part that stays where it is to its place in the result."""
    out = op.outs[0]
    place, none = ViewOp(out, part.type, offset), NoneOp()
    copy = CallOp(COPY, [part, none.slot], [place.slot])
    copy.location = op.location
    block, declaration = op.parent, out.owner
    assert block is not None and isinstance(declaration, Operation)
    block.insert_ops_after([none, place], declaration)
    block.insert_op_before(copy, op)


def _place(op: CallOp, storage: MethodStorage, target: Target) -> bool:
    found = None if storage.takes_computed_numbers(op) else _offsets(op)
    if found is None:
        return False
    out, time = op.outs[0], storage.time[op]
    whole = storage[out]
    if (
        whole.writes != [time]
        or whole.first != time
        or not isinstance(out.owner, TensorOp)
        or any(storage[slot] is whole for slot, _ in found)
    ):
        return False
    roots: dict[SSAValue, int] = {}
    copied: list[int] = []
    for index, (slot, offset) in enumerate(found):
        root = root_of(slot)[0]
        if root not in roots and _can_move(slot, time, storage):
            roots[root] = offset
        else:
            copied.append(index)
    left = sum(nbytes(found[index][0].type) for index in copied)
    if len(copied) > MOST_COPIES or 2 * left > whole.size or not roots or storage.would_grow(whole, [storage[root] for root in roots]):
        return False
    if copied and COPY not in target.operators:
        remark(op, f"stays: {len(copied)} of its operands would be copied, and the target {target.name!r} has no kernel {COPY}")
        return False
    if not may_rewrite("place-concat", op):
        return False
    if not copied:
        storage.forget(whole, time)
    for root, offset in roots.items():
        storage.join(whole, storage[root])
        storage.rename(root, make_view(root, out, offset))
    for index in copied:
        _copy_part(op, tensors_of(op.ins[0])[index], found[index][1])
    erase_instruction(op)
    return True


def place_concat(method: MethodOp, target: Target) -> int:
    """Places the operands of a method's concatenations; gives how many were placed."""
    with analysis("storage classes", method):
        storage = MethodStorage(method, target.alignment)
    if not storage.keeps_storage:
        return 0
    found = sum(_place(op, storage, target) for op in storage.instructions if isinstance(op, CallOp))
    collapse_views(method)
    order_declarations(method)
    return found


@dataclass(frozen=True)
class PlaceConcatPass(OperationPass):
    """Makes the operands of a concatenation views of its result, so that it has nothing left to copy.

    Applies along the outermost dimension in memory. An operand is placed when it has storage of its own, which instructions write, and lies
    in no concatenation that was placed before; others (inputs, constants) are copied to their place one by one, as long
    as they are few and small.

    Needs: `exec` methods before planning; finds more after `elide-views`. Leaves: no concatenation that could be placed without raising
    the most bytes that are live at once. Dynamic shapes, and what a loop carries from round to round, stay as they are.
    """

    name = "place-concat"
    works_on = ("exec.method",)
    target: TargetName = "executorch"
    """Whose kernels copy the operands that cannot be placed, and whose alignment says how much memory that takes."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place. Raises OperationError for one that is planned already."""
        for method in unplanned_methods_of(op):
            count("concatenations placed", place_concat(method, find_target(self.target)))
