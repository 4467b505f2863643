"""`place-concat`: what is concatenated is written where it belongs at once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ReuseOp, TensorOp, nbytes, root_of
from flambeau.dialects.types import shape_of, tensor_type
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.reinterpretation import Cut, cut_offset, is_static, literal
from flambeau.passes.storage.rewrite import collapse_views, erase_instruction, make_view, methods_of, order_declarations

KERNELS = {"aten::cat.out": True, "aten::stack.out": False}
"""Kernels that join tensors, and whether the dimension along which they do so is there already."""


def _offsets(op: CallOp) -> list[tuple[SSAValue, int]] | None:
    """The tensors that a call joins, each with the offset of its bytes in the result; None when they do not lie together there."""
    keeps_dim = KERNELS.get(op.operator.data)
    if keeps_dim is None or not isinstance(op.ins[0].owner, TensorListOp) or len(op.outs) != 1:
        return None
    parts, whole = tuple(op.ins[0].owner.items), op.outs[0]
    dim = literal(op.ins[1])
    if not isinstance(dim, int) or not parts or not is_static(whole, *parts):
        return None
    rank = len(shape_of(whole))
    element = tensor_type(whole).element_type
    if any(len(shape_of(part)) != rank - (not keeps_dim) or tensor_type(part).element_type != element for part in parts):
        return None
    dim %= rank
    found: list[tuple[SSAValue, int]] = []
    start = 0
    for part in parts:
        length = shape_of(part)[dim] if keeps_dim else 1
        offset = cut_offset(whole, part, Cut(dim, start, length, keeps_dim))
        if offset is None or nbytes(part.type) == 0:
            return None
        found.append((part, offset))
        start += length
    return found


def _place(op: CallOp, storage: MethodStorage) -> bool:
    found = _offsets(op)
    if found is None:
        return False
    out, time = op.outs[0], storage.time[op]
    whole = storage[out]
    if whole.writes != [time] or not isinstance(out.owner, TensorOp):
        return False
    roots: dict[SSAValue, int] = {}
    for slot, offset in found:
        root, inner = root_of(slot)
        part = storage[slot]
        # Whatever shares the memory of a part must hold just this part, written by instructions before the call only.
        if not isinstance(root.owner, TensorOp) or inner or nbytes(root.type) != nbytes(slot.type) or root in roots or part is whole:
            return False
        if not part.writes or not 0 < part.writes[0] <= part.writes[-1] < time:
            return False
        if any(isinstance(member.owner, ReuseOp) for member in part.members):
            return False
        roots[root] = offset
    parts = [storage[root] for root in roots]
    if storage.would_grow(whole, parts):
        return False
    storage.forget(whole, time)
    for root, offset in roots.items():
        storage.join(whole, storage[root])
        storage.rename(root, make_view(root, out, offset))
    erase_instruction(op)
    return True


def place_concat(method: MethodOp) -> int:
    """Places the operands of a method's concatenations; gives how many calls vanished."""
    storage = MethodStorage(method)
    if not storage.is_straight:
        return 0
    count = sum(_place(op, storage) for op in storage.instructions if isinstance(op, CallOp))
    collapse_views(method)
    order_declarations(method)
    return count


@dataclass(frozen=True)
class PlaceConcatPass(ModulePass):
    """Makes the operands of a concatenation views of its result, so that it has nothing left to copy.

    Applies along the outermost dimension in memory, when each operand has storage of its own, written by one instruction, and appears in
    no other concatenation that was placed before.

    Needs: `exec` methods before planning; finds more after `elide-views`. Leaves: no concatenation that could be placed as a whole
    without raising the most bytes that are live at once. Dynamic shapes, loops and branches stay as they are.
    """

    name = "place-concat"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        for method in methods_of(op):
            place_concat(method)
