"""Calls that write over their first operand, in the forms that move the new entries alone."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import OVERWRITE, CallOp
from flambeau.dialects.exec.literals import BoolOp, IntOp, NoneOp, OptionalTensorListOp
from flambeau.dialects.exec.slots import ReuseOp, StateOp, ViewOp, element_size, root_of
from flambeau.dialects.ir.tensor_types import dtype_of, is_static, tensor, tensor_type
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.passes.storage.classes import MethodStorage
from flambeau.passes.storage.slot_rewrites import erase_instruction
from flambeau.passes.targets.interface import Target

_UPDATES = {"aten::index_put.out": "aten::index_put_"}
"""The kernels that write over their first operand, by those with an out."""


def use_update(op: CallOp, target: Target) -> None:
    """Gives a call whose out lies on its first operand the in-place kernel, if the target has it and it takes the operands."""
    kernel = _UPDATES.get(op.operator.data)
    if kernel is None or kernel not in target.operators or len(op.outs) != 1:
        return
    given, out = op.ins[0], op.outs[0]
    if out is not given and not (isinstance(out.owner, ReuseOp) and out.owner.source is given):
        return
    if (values := _rows(op)) is None or not may_rewrite("reuse-storage", op):
        return
    call = CallOp(kernel, [*op.ins[:2], values, op.ins[3]], (), [given])
    call.location = op.location
    Rewriter.insert_op(call, InsertPoint.before(op))
    if out is not given:
        replace_uses(out, given)
    erase_instruction(op)


def _rows(op: CallOp) -> SSAValue | None:
    """Returns the values of an `index_put` of rows, in the shape of the rows that they replace, as ExecuTorch's kernel demands."""
    given, indices, values, accumulate = op.ins
    entries = indices.owner.entries if isinstance(indices.owner, OptionalTensorListOp) else ()
    found = [(dim, entry) for dim, entry in enumerate(entries) if entry is not None]
    if len(found) != 1 or not isinstance(accumulate.owner, BoolOp) or accumulate.owner.truth or not is_static(given):
        return None
    ((dim, index),) = found
    shape, length = list(tensor_type(given).get_shape()), tensor_type(index).get_shape()
    if len(length) != 1 or dtype_of(tensor_type(index).element_type).torch not in ("int64", "int32"):
        return None
    wanted, has = [*shape[:dim], length[0], *shape[dim + 1 :]], list(tensor_type(values).get_shape())
    if has == wanted:
        return values
    if [1] * (len(wanted) - len(has)) + has != wanted or not _is_row_major(values):
        return None
    return _view(values, tensor(tensor_type(values).element_type, wanted), 0)


def _is_row_major(slot: SSAValue) -> bool:
    return is_static(slot) and list(dim_order(slot)) == sorted(dim_order(slot))


def _view(source: SSAValue, type: Attribute, offset: int) -> SSAValue:
    """Returns a view of a tensor, one that there is already if possible."""
    while isinstance(source.owner, ViewOp):
        offset += source.owner.byte_offset
        source = source.owner.source
    for use in source.uses:
        found = use.operation
        if isinstance(found, ViewOp) and found.byte_offset == offset and found.slot.type == type:
            return found.slot
    view = ViewOp(source, type, offset)
    Rewriter.insert_op(view, InsertPoint.after(cast(Operation, source.owner)))
    return view.slot


def write_part(op: CallOp, storage: MethodStorage) -> CallOp | None:
    """Makes a scatter over a state, of a part whose bytes lie together, a copy to that part. None for any other call."""
    is_update = len(op.outs) == 1 and op.outs[0] is op.ins[0] and not storage.takes_computed_numbers(op)
    offset = _part(op) if is_update else None
    if offset is None or not may_rewrite("reuse-storage", op):
        return None
    part = _view(op.ins[0], op.ins[1].type, offset * element_size(op.ins[0].type))
    no = BoolOp(False)
    Rewriter.insert_op(no, InsertPoint.before(cast(Operation, part.owner)))
    call = CallOp(OVERWRITE, [part, op.ins[1], no.results[0]], (), [part])
    call.location = op.location
    Rewriter.insert_op(call, InsertPoint.before(op))
    erase_instruction(op)
    return call


def _part(op: CallOp) -> int | None:
    """Returns the first element that a scatter replaces, if what it replaces lies together."""
    match op.operator.data, op.ins[2:]:
        case "aten::select_scatter.out", [dim, start]:
            step = None
        case "aten::slice_scatter.out", [dim, start, _, step]:
            pass
        case _:
            return None
    shape = tensor_type(op.ins[0]).get_shape()
    # Only for states: for other memory, the program file does not record views, and the runtime would miss writes through them.
    if not isinstance(root_of(op.ins[0])[0].owner, StateOp) or not _is_row_major(op.ins[0]) or not _is_row_major(op.ins[1]):
        return None
    if not isinstance(dim.owner, IntOp) or not isinstance(start.owner, IntOp | NoneOp):
        return None
    if step is not None and not (isinstance(step.owner, IntOp) and step.owner.number == 1):
        return None
    axis = dim.owner.number % len(shape)
    first = start.owner.number if isinstance(start.owner, IntOp) else 0
    first = max(first + shape[axis] if first < 0 else first, 0)
    return first * prod(shape[axis + 1 :]) if prod(shape[:axis]) == 1 and first < shape[axis] else None
