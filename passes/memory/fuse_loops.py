"""`fuse-loops`: makes one loop of elementwise kernels, so that what one computes for the next need not be in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.ir import Block, Operation, Region, SSAValue

from flambeau.dialects.cpu import ElementOp, LoopOp, YieldOp
from flambeau.dialects.exec import slot_syntax
from flambeau.dialects.exec.instructions import (
    STEP,
    CallOp,
    EvaluateOp,
    FailOp,
    InstructionOp,
    LabelOp,
    TransferOp,
    lends_storage,
    reads_and_writes,
    written_literals,
)
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import ConstantOp, ExternalOp, Roots, StateOp, nbytes, place_of, root_of
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.passes.emission.lanes import elementwise_row, is_float_tensor
from flambeau.passes.emission.loop_nests import loop_nest
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite

_MOST_OPEN = 8
_MOST_CALLS = 32
"""Limits of the groups that calls may join, so that a pass over a long method takes time in proportion."""

Extent: TypeAlias = tuple[object, int, int]
"""Memory: an arena or a slot that has its own, and the bytes from and to where."""


@dataclass(frozen=True)
class FuseLoopsPass(OperationPass):
    """Replaces calls of elementwise kernels on floats of static sizes by `cpu.loop`: two calls or more by one.

    A call joins those before it whose outs have its sizes, if no instruction between them has to come before or after it. What only later
    calls of the loop read is not written. Needs: `exec.method`s, planned or not. Leaves: loops, which C can be made of and no `.pte`;
    the instructions of a method that has loops carry `flambeau.step`, the number that they had.
    """

    name = "fuse-loops"
    works_on = ("exec.method",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites the methods in place."""
        for method in [item for item in op.walk() if isinstance(item, MethodOp)]:
            count("loops", _Fusion(self.name, method).run())


@dataclass
class _Group:
    """Calls that become a loop, at the place of the last of them."""

    calls: list[CallOp] = field(default_factory=list[CallOp])
    loads: dict[SSAValue, Extent | None] = field(default_factory=dict[SSAValue, "Extent | None"])
    """What is read from memory, None for constants."""
    stores: dict[Extent, SSAValue] = field(default_factory=dict[Extent, SSAValue])
    """The last value that is written to each memory."""


def _overlap(one: Extent, other: Extent) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


@dataclass
class _Fusion:
    """The loops of a method."""

    name: str
    method: MethodOp
    _open: list[_Group] = field(default_factory=list[_Group])
    _done: list[_Group] = field(default_factory=list[_Group])
    _roots: Roots = field(default_factory=dict[SSAValue, tuple[SSAValue, int]])

    def run(self) -> int:
        """Makes the loops; returns their number."""
        instructions = self.method.instructions
        if any(map(lends_storage, instructions)):
            # Memory that a slot has taken over may be written and read under several names.
            return 0
        self._changed = written_literals([*instructions, self.method.terminator])
        self._time = {op: time for time, op in enumerate(instructions)}
        self._repeats = any(isinstance(op, LabelOp) for op in instructions)
        for op in instructions:
            self._visit(op)
        self._done += self._open
        groups = [group for group in self._done if len(group.calls) > 1 and may_rewrite(self.name, group.calls[-1])]
        if groups:
            for number, op in enumerate(self.method.steps):
                op.attributes[STEP] = slot_syntax.integer(number)
            readers = self._readers()
            for group in groups:
                self._replace(group, readers)
        return len(groups)

    def _extent(self, slot: SSAValue) -> Extent | None:
        """Returns the memory of a slot; None for a constant, which nothing writes."""
        root, offset = root_of(slot, self._roots)
        if isinstance(root.owner, ConstantOp):
            return None
        place = place_of(slot, self._roots)
        start = offset if place is None else place[1]
        return (root if place is None else place[0], start, start + nbytes(slot.type))

    def _visit(self, op: InstructionOp) -> None:
        if not isinstance(op, CallOp | TransferOp | EvaluateOp | FailOp):
            self._done += self._open
            self._open = []
            return
        joined = None
        if isinstance(op, CallOp) and len(op.outs) == 1 and not op.returns and not op.writes and is_float_tensor(op.outs[0]):
            if elementwise_row(op.operator.data, op.ins, self._changed) is not None:
                joined = next((group for group in reversed(self._open) if self._join(group, op)), None)
                if joined is None:
                    joined = _Group()
                    if not self._join(joined, op):
                        joined = None
        reads, writes = (list(map(self._extent, slots)) for slots in reads_and_writes(op))
        for group in list(self._open):
            if group is not joined and self._conflicts(group, reads, writes):
                self._open.remove(group)
                self._done.append(group)
        if joined is not None and joined not in self._open:
            self._open.append(joined)
            if len(self._open) > _MOST_OPEN:
                self._done.append(self._open.pop(0))

    @staticmethod
    def _conflicts(group: _Group, reads: Sequence[Extent | None], writes: Sequence[Extent | None]) -> bool:
        """Returns whether the group cannot move behind an instruction."""
        own = [extent for extent in group.loads.values() if extent is not None]
        return any(_overlap(found, extent) for found in reads if found is not None for extent in group.stores) or any(
            _overlap(found, extent) for found in writes if found is not None for extent in (*own, *group.stores)
        )

    def _join(self, group: _Group, op: CallOp) -> bool:
        """Adds a call to a group; returns False, and changes nothing, if it does not fit."""
        if len(group.calls) == _MOST_CALLS:
            return False
        out = op.outs[0]
        loads = dict(group.loads)
        for slot in op.ins:
            if not is_float_tensor(slot):
                continue
            extent = self._extent(slot)
            written = [other for other in group.stores if extent is not None and _overlap(other, extent)]
            if written and (written != [extent] or group.stores[written[0]].type != slot.type):
                return False
            if not written:
                loads[slot] = extent
        place = self._extent(out)
        if place is None:
            return False
        # Each round reads before it writes, which is right only if both are the same elements.
        for slot, extent in (*loads.items(), *((slot, extent) for extent, slot in group.stores.items())):
            if extent is not None and _overlap(extent, place) and (extent != place or slot.type != out.type):
                return False
        first = group.calls[0].outs[0] if group.calls else out
        stored = [slot.type for slot in group.stores.values()]
        if shape_of(first) != shape_of(out) or loop_nest(first.type, [out.type, *stored, *(slot.type for slot in loads)]) is None:
            return False
        group.calls.append(op)
        group.loads = loads
        group.stores[place] = out
        return True

    def _readers(self) -> dict[SSAValue, list[InstructionOp | None]]:
        """Returns who reads each slot that has memory of its own, and what lies in it; None for the caller."""
        found: dict[SSAValue, list[InstructionOp | None]] = {}
        for op in self.method.instructions:
            for slot in reads_and_writes(op)[0]:
                found.setdefault(root_of(slot, self._roots)[0], []).append(op)
        for slot in self.method.terminator.outputs:
            found.setdefault(root_of(slot, self._roots)[0], []).append(None)
        return found

    def _is_stored(self, group: _Group, slot: SSAValue, readers: dict[SSAValue, list[InstructionOp | None]]) -> bool:
        root = root_of(slot, self._roots)[0]
        if isinstance(root.owner, StateOp | ExternalOp):
            return True
        written = max(self._time[op] for op in group.calls if op.outs[0] is slot)
        return any(op is None or (op not in group.calls and (self._repeats or self._time[op] > written)) for op in readers.get(root, ()))

    def _replace(self, group: _Group, readers: dict[SSAValue, list[InstructionOp | None]]) -> None:
        stores = {extent: slot for extent, slot in group.stores.items() if self._is_stored(group, slot, readers)}
        body = Block()
        arguments: dict[SSAValue, SSAValue] = {}
        values: dict[Extent, SSAValue] = {}

        def argument(slot: SSAValue) -> SSAValue:
            extent = self._extent(slot) if is_float_tensor(slot) else None
            if extent is not None and extent in values:
                return values[extent]
            if slot not in arguments:
                arguments[slot] = body.insert_arg(slot.type, len(body.args))
                arguments[slot].name_hint = slot.name_hint
            return arguments[slot]

        for op in group.calls:
            out = op.outs[0]
            made = ElementOp(op.operator.data, list(map(argument, op.ins)), out.type)
            made.location = op.location
            made.result.name_hint = out.name_hint
            body.add_op(made)
            extent = self._extent(out)
            assert extent is not None
            values[extent] = made.result
        body.add_op(YieldOp([values[extent] for extent in stores]))
        last = group.calls[-1]
        loop = LoopOp(list(arguments), list(stores.values()), Region(body))
        loop.location = last.location
        loop.attributes[STEP] = last.attributes[STEP]
        block = last.parent
        assert block is not None
        if stores:
            block.insert_op_before(loop, last)
        for op in group.calls:
            op.detach()
            op.erase()
