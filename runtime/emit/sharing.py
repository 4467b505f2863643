"""Which tensors of a program share storage on purpose: what the format does not say, inferred from what the instructions do."""

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from flambeau.dialects.exec.contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.instructions import CallOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import AliasOp, ReuseOp, SlotOp, StateOp, TensorOp, ViewOp, nbytes, place_of

ROUNDS = 8
"""How often what was inferred may lead to more. Views of views take two; a program that needs more keeps its conflicts for the verifier."""


def lasting_slots(method: MethodOp) -> list[SSAValue]:
    """Slots that last from call to call although nothing says so: they are read, and nothing, on some path, has ever written their bytes.

    Where only a part of a tensor is read so, and an instruction updates the whole tensor in place, it is that tensor that lasts.
    """
    updated = [slot for op in method.instructions if isinstance(op, CallOp) and not op.outs for slot in reads_and_writes(op)[1]]
    found: list[SSAValue] = []
    for conflict in ContentAnalysis(method).run():
        if _is_unset(conflict) and place_of(conflict.slot) is not None:
            found.append(next((slot for slot in updated if _contains(slot, conflict.slot)), conflict.slot))
    return list(dict.fromkeys(found))


def _contains(outer: SSAValue, inner: SSAValue) -> bool:
    around, within = place_of(outer), place_of(inner)
    if around is None or within is None or around[0] != within[0]:
        return False
    return around[1] <= within[1] and within[1] + nbytes(inner.type) <= around[1] + nbytes(outer.type)


def _is_unset(conflict: Conflict) -> bool:
    return conflict.fault is Fault.BROKEN and not conflict.owners and conflict.writer is None


def infer_sharing(method: MethodOp) -> None:
    """Declares as views the slots that are read but never written, and as reuses the outs that lie on an input of the same instruction."""
    written = {slot for op in method.instructions for slot in reads_and_writes(op)[1]}
    for _ in range(ROUNDS):
        sort_declarations(method)
        # The slots that stand for those of a conflict, once these have been replaced.
        current: dict[SSAValue, SSAValue] = {}
        changed = False
        for conflict in ContentAnalysis(method).run():
            slot = _current(conflict.slot, current)
            if conflict.fault is Fault.OVERLAP and conflict.other is not None:
                changed |= _make_reuse(slot, _current(conflict.other, current), current)
            elif conflict.fault in (Fault.BROKEN, Fault.LOST) and conflict.slot not in written:
                owners = [_current(owner, current) for owner in conflict.owners]
                changed |= _make_views([slot, *owners], current)
        if not changed:
            return
        written = {_current(slot, current) for slot in written}
    sort_declarations(method)


def _current(slot: SSAValue, current: dict[SSAValue, SSAValue]) -> SSAValue:
    while slot in current:
        slot = current[slot]
    return slot


def _replace(op: TensorOp, new: ViewOp | ReuseOp, current: dict[SSAValue, SSAValue]) -> None:
    new.attributes, new.location, new.slot.name_hint = op.attributes, op.location, op.slot.name_hint
    current[op.slot] = new.slot
    Rewriter.replace_op(op, new)


def _base(slot: SSAValue) -> SSAValue:
    """The slot that `slot` is, through views, a part of."""
    while isinstance(slot.owner, ViewOp):
        slot = slot.owner.source
    return slot


def _make_views(slots: Iterable[SSAValue], current: dict[SSAValue, SSAValue]) -> bool:
    """Makes views of the largest of `slots` of those that lie within it; returns whether there were any."""
    bases = [base for base in dict.fromkeys(map(_base, slots)) if place_of(base) is not None]
    if not bases:
        return False
    # Only plain tensors can become views; of equals, one that cannot is the base, else the first.
    root = max(bases, key=lambda base: (nbytes(base.type), not isinstance(base.owner, TensorOp)))
    changed = False
    for base in bases:
        if base is root or not isinstance(base.owner, TensorOp) or _depends(root, base):
            continue
        inner, outer = place_of(base), place_of(root)
        if inner is not None and outer is not None and _contains(root, base):
            _replace(base.owner, ViewOp(root, base.type, inner[1] - outer[1]), current)
            changed = True
    return changed


def _make_reuse(slot: SSAValue, source: SSAValue, current: dict[SSAValue, SSAValue]) -> bool:
    """Makes `slot` a reuse of `source` if it starts where that does."""
    if not isinstance(slot.owner, TensorOp) or _depends(source, slot):
        return False
    if place_of(slot) != place_of(source) or nbytes(slot.type) > nbytes(source.type):
        return False
    _replace(slot.owner, ReuseOp(source, slot.type), current)
    return True


def _depends(slot: SSAValue, on: SSAValue) -> bool:
    while slot is not on and isinstance(slot.owner, AliasOp):
        slot = slot.owner.source
    return slot is on


def sort_declarations(method: MethodOp) -> None:
    """Puts each slot behind those that it refers to; slots keep their order otherwise."""
    block = method.body.block
    declared: set[Operation] = set()
    ordered: list[Operation] = []
    for start in method.slots:
        pending: list[Operation] = [start]
        while pending:
            op = pending[-1]
            missing = [item.owner for item in op.operands if isinstance(item.owner, SlotOp) and item.owner not in declared]
            if missing:
                pending += missing
                continue
            pending.pop()
            if op not in declared:
                declared.add(op)
                ordered.append(op)
    if ordered == method.slots:
        return
    for op in ordered:
        op.detach()
    first = block.first_op
    if first is None:
        block.add_ops(ordered)
    else:
        block.insert_ops_before(ordered, first)


def make_state(op: TensorOp, global_name: str) -> StateOp:
    """Declares a tensor as state with the value of a global; returns the new declaration."""
    place = op.place
    arena, offset = (None, None) if place is None else place
    new = StateOp(global_name, op.slot.type, arena, offset)
    new.attributes, new.location, new.slot.name_hint = op.attributes, op.location, op.slot.name_hint
    Rewriter.replace_op(op, new)
    return new
