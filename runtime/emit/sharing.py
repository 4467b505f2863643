"""Infers from the instructions of a program which tensors share storage on purpose, which the format does not record."""

from bisect import bisect_right
from collections.abc import Iterable

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from flambeau.dialects.exec.declarations import order_declarations
from flambeau.dialects.exec.instructions import CallOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_contents import Conflict, ContentAnalysis, Fault
from flambeau.dialects.exec.slots import AliasOp, ReuseOp, StateOp, TensorOp, ViewOp, nbytes, place_of

ROUNDS = 8
"""The number of rounds of inference. Views of views take two; a program that needs more keeps its conflicts for the verifier."""


def lasting_slots(method: MethodOp) -> list[SSAValue]:
    """Returns the slots that must be state, though the program does not declare it: a path reads their bytes before any write to them.

    If a path reads only a part of a tensor in this way, and an instruction updates the whole tensor in place, returns the whole tensor.
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


def view_parts_of_state(method: MethodOp) -> None:
    """Declares the tensors that lie within state as views of it: they must be, because state keeps its memory between executes."""
    states = sorted(((place, op.slot) for op in method.slots if isinstance(op, StateOp) and (place := op.place)), key=lambda item: item[0])
    starts = [place for place, _ in states]
    round = _Round(method)
    for op in method.slots:
        if isinstance(op, TensorOp) and op.place is not None and (below := bisect_right(starts, op.place)):
            round.make_views([states[below - 1][1], op.slot])


def infer_sharing(method: MethodOp) -> None:
    """Declares slots that are read but never written as views, and outs in the memory of an input of the same instruction as reuses."""
    written = {slot for op in method.instructions for slot in reads_and_writes(op)[1]}
    for _ in range(ROUNDS):
        order_declarations(method)
        round = _Round(method)
        for conflict in ContentAnalysis(method).run():
            if conflict.fault is Fault.OVERLAP and conflict.other is not None:
                round.make_reuse(conflict.slot, conflict.other)
            elif conflict.fault in (Fault.BROKEN, Fault.LOST) and conflict.slot not in written:
                round.make_views([conflict.slot, *conflict.owners])
        if not round.replaced:
            return
        written = {round.now(slot) for slot in written}
    order_declarations(method)


def _base(slot: SSAValue) -> SSAValue:
    """Returns the slot of which `slot` is a part, through any number of views; `slot` itself if it is no view."""
    while isinstance(slot.owner, ViewOp):
        slot = slot.owner.source
    return slot


class _Round:
    """New declarations for some slots of a method. Conflicts found earlier may name the replaced slots, which `now` translates."""

    def __init__(self, method: MethodOp):
        self.position: dict[SSAValue, int] = {op.results[0]: index for index, op in enumerate(method.slots)}
        self.replaced: dict[SSAValue, SSAValue] = {}

    def now(self, slot: SSAValue) -> SSAValue:
        """Returns the slot that has replaced `slot`, or `slot` itself."""
        while slot in self.replaced:
            slot = self.replaced[slot]
        return slot

    def make_views(self, slots: Iterable[SSAValue]) -> None:
        """Replaces those of `slots` that lie within the largest of them by views of it."""
        bases = [base for base in dict.fromkeys(_base(self.now(slot)) for slot in slots) if place_of(base) is not None]
        if not bases:
            return
        # Only plain tensors can become views. Among slots of the largest size, the root is one that cannot, or else the first.
        root = max(bases, key=lambda base: (nbytes(base.type), not isinstance(base.owner, TensorOp), -self.position[base]))
        for base in bases:
            inner, outer = place_of(base), place_of(root)
            if base is root or inner is None or outer is None or not _contains(root, base):
                continue
            if isinstance(base.owner, TensorOp) and not _depends(root, base):
                self._replace(base.owner, ViewOp(root, base.type, inner[1] - outer[1]))

    def make_reuse(self, slot: SSAValue, source: SSAValue) -> None:
        """Replaces `slot` by a reuse of `source` if both start at the same place and `slot` is not larger."""
        slot, source = self.now(slot), self.now(source)
        if not isinstance(slot.owner, TensorOp) or _depends(source, slot):
            return
        if place_of(slot) == place_of(source) and nbytes(slot.type) <= nbytes(source.type):
            self._replace(slot.owner, ReuseOp(source, slot.type))

    def _replace(self, op: TensorOp, new: ViewOp | ReuseOp) -> None:
        new.attributes, new.location, new.slot.name_hint = op.attributes, op.location, op.slot.name_hint
        self.position[new.slot] = self.position[op.slot]
        self.replaced[op.slot] = new.slot
        Rewriter.replace_op(op, new)


def _depends(slot: SSAValue, on: SSAValue) -> bool:
    while slot is not on and isinstance(slot.owner, AliasOp):
        slot = slot.owner.source
    return slot is on


def make_state(op: TensorOp, global_name: str) -> StateOp:
    """Replaces a tensor's declaration by one of state with the value of a global. Returns the new declaration."""
    place = op.place
    arena, offset = (None, None) if place is None else place
    new = StateOp(global_name, op.slot.type, arena, offset, "")
    new.attributes, new.location, new.slot.name_hint = op.attributes, op.location, op.slot.name_hint
    Rewriter.replace_op(op, new)
    return new
