"""Rewrites the slots of a method: views in place of tensors, declarations in order, unused slots erased."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import PlacedOp, ReuseOp, SlotOp, ViewOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.rewriting.uses import replace_uses


def methods_of(op: Operation) -> list[MethodOp]:
    """Returns the methods of a module, or the method that `op` is."""
    if isinstance(op, MethodOp):
        return [op]
    return [item for item in op.body.block.ops if isinstance(item, MethodOp)] if isinstance(op, ModuleOp) else []


def unplanned_methods_of(op: Operation) -> list[MethodOp]:
    """As `methods_of`, for passes that change lifetimes, which a plan rests on. Raises OperationError for a method that has its plan."""
    methods = methods_of(op)
    for method in methods:
        if any(isinstance(slot, PlacedOp) and slot.place is not None for slot in method.slots):
            raise OperationError(method, f"the memory of @{method.sym_name.data} is planned already; run this before plan-memory")
    return methods


def replace_slot(slot: SSAValue, new: SlotOp) -> SSAValue:
    """Declares `new` in the place of `slot`, for all its users; gives the new slot."""
    old = slot.owner
    assert isinstance(old, Operation) and old.parent is not None
    new.location = old.location
    new.attributes.update(old.attributes)
    old.parent.insert_op_before(new, old)
    result = new.results[0]
    name = slot.name_hint
    replace_uses(slot, result)
    result.name_hint = name
    old.detach()
    old.erase()
    return result


def make_view(slot: SSAValue, source: SSAValue, offset: int) -> SSAValue:
    """Turns the declaration of `slot` into a view of `source`, or of what that is a view of."""
    while isinstance(source.owner, ViewOp):
        offset += source.owner.byte_offset
        source = source.owner.source
    return replace_slot(slot, ViewOp(source, slot.type, offset))


def make_reuse(slot: SSAValue, source: SSAValue) -> SSAValue:
    """Turns the declaration of `slot` into a new content in the storage of `source`."""
    return replace_slot(slot, ReuseOp(source, slot.type))


def collapse_views(method: MethodOp) -> None:
    """Makes every view of a view a view of the latter's source."""
    for op in method.slots:
        if isinstance(op, ViewOp) and isinstance(op.source.owner, ViewOp):
            make_view(op.slot, op.source, op.byte_offset)


def erase_instruction(op: Operation) -> None:
    """Erases an instruction, and the slots that only it used."""
    operands = list(dict.fromkeys(op.operands))
    op.detach()
    op.erase()
    erase_unused(operands)


def erase_unused(slots: Iterable[SSAValue]) -> None:
    """Erases those of the declarations that nothing uses, and what only they used."""
    work = list(slots)
    erased: set[SSAValue] = set()
    while work:
        slot = work.pop()
        if slot in erased or not isinstance(slot, OpResult) or slot.first_use is not None:
            continue
        erased.add(slot)
        operands = list(slot.op.operands)
        slot.op.detach()
        slot.op.erase()
        work += operands
