"""Lays out `scf` as labels and jumps: results are computed into their slots, what a loop carries stays where it is.

A branch computes each result into the slot of the result, and a round of a loop the next value of what it carries into the slot of the
present one, wherever nothing reads that slot afterwards. Elsewhere the value is copied at the end of the branch or round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from xdsl.dialects import arith, cf, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, TensorType, i1
from xdsl.ir import Block, Operation, OpResult, SSAValue

from flambeau.dialects.delegate.ops import CallOp as DelegatedCallOp
from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import COPY_INDEX, CallOp, JumpFalseOp, LabelOp, MoveOp
from flambeau.dialects.exec.literals import BoolOp, IntListOp, IntOp
from flambeau.dialects.exec.out_variants import out_variant
from flambeau.dialects.exec.slots import TensorOp, ViewOp
from flambeau.dialects.flambeau.symbol_operations import ValueOp
from flambeau.dialects.ir.extents import exceeds, largest, provably_equal, unknown
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor_type
from flambeau.dialects.ir.tensor_types import tensor as make_type
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.storage.classes import inplace_arguments
from flambeau.passes.storage.number_arithmetic import NUMBERS, number_slot, slot_of, why_not
from flambeau.passes.storage.number_slots import NumberSlots

_LOOPS = (scf.ForOp, scf.WhileOp)
_CONDITIONAL = (scf.IfOp, scf.ConditionOp, cf.AssertOp)
"""The operations that jump where their first operand, a truth value, does not hold."""
_WRITERS = (
    SchemaOp,
    DelegatedCallOp,
    scf.IfOp,
    *_LOOPS,
    tensor.EmptyOp,
    tensor.ExtractSliceOp,
    tensor.FromElementsOp,
    tensor.InsertSliceOp,
)
"""The operations whose results have slots of their own."""

STRUCTURED = (
    arith.ConstantOp,
    *NUMBERS,
    cf.AssertOp,
    scf.IfOp,
    *_LOOPS,
    tensor.EmptyOp,
    tensor.ExtractOp,
    tensor.ExtractSliceOp,
    tensor.FromElementsOp,
    tensor.InsertSliceOp,
)
"""The operations that `ControlFlow` converts."""


class Method(Protocol):
    """The method that is built."""

    values: dict[SSAValue, SSAValue]
    """The slot of each value."""
    numbers: NumberSlots
    """The slots of numbers that only the run knows."""

    def slot(self, op: Operation) -> SSAValue:
        """Declares a slot."""
        ...

    def constant(self, value: float | bool | None, kind: str) -> SSAValue:
        """The slot of a constant, or of None."""
        ...

    def own_slot(self, result: SSAValue, op: Operation) -> SSAValue:
        """Declares the slot of a tensor or number that `op` gives, if it has none, and makes the slot that of the value."""
        ...

    def instruct(self, instruction: Operation, op: Operation) -> None:
        """Adds an instruction, in the place of `op`."""
        ...

    def copy(self, source: SSAValue, target: SSAValue, op: Operation) -> None:
        """Adds a copy from one slot to another of the same type."""
        ...

    def convert(self, block: Block) -> None:
        """Adds the instructions of a block."""
        ...

    def refuse(self, op: Operation, reason: str) -> None:
        """Notes that an operation has no form; its results get slots all the same."""
        ...


@dataclass
class ControlFlow:
    """The control flow of one method."""

    method: Method
    destinations: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The slot into which a value is to be computed, chosen before its operation is reached."""
    _holders: dict[SSAValue, Sequence[SSAValue]] = field(default_factory=dict[SSAValue, Sequence[SSAValue]])
    """The values that lie in a destination already: what a loop carries, in the slot of its next value."""
    labels: int = 0

    def prepare(self, block: Block) -> None:
        """Hands destinations on, before a block is converted: what a loop begins with is computed where the loop's result goes."""
        for op in reversed(list(block.ops)):
            if isinstance(op, _LOOPS):
                for result in op.results:
                    if (slot := self.destinations.get(result)) is None or not _keeps(op, result):
                        continue
                    start = _starts(op)[result.index]
                    if _is_only_for(start, op) and _may_write_over(start, self._holders.get(slot, ()), block):
                        self.destinations[start] = slot

    def convert(self, op: Operation) -> None:
        """Adds the instructions of an operation."""
        match op:
            case arith.ConstantOp():
                self._constant(op)
            case cf.AssertOp():
                self.method.numbers.require(self.method.values[op.arg], op.msg.data)
            case tensor.EmptyOp():
                self._empty(op)
            case tensor.ExtractOp():
                self._extract(op)
            case tensor.FromElementsOp():
                self._from_elements(op)
            case tensor.ExtractSliceOp():
                self._extract_slice(op)
            case tensor.InsertSliceOp():
                self._insert_slice(op)
            case scf.IfOp():
                self._if(op)
            case scf.ForOp():
                self._for(op)
            case scf.WhileOp():
                self._while(op)
            case _:
                self._number(op)

    # Numbers, and entries of tensors

    def _constant(self, op: arith.ConstantOp) -> None:
        value = op.value
        if isinstance(value, IntegerAttr) and op.result.type == i1:
            self.method.values[op.result] = self.method.constant(bool(value.value.data), "bool")
        elif isinstance(value, IntegerAttr):
            self.method.values[op.result] = self.method.constant(value.value.data, "int")
        elif isinstance(value, FloatAttr):
            self.method.values[op.result] = self.method.constant(value.value.data, "float")
        else:
            self.method.refuse(op, f"a constant of type {op.result.type} has no form as a slot")

    def _number(self, op: Operation) -> None:
        if (reason := why_not(op)) is not None:
            self.method.refuse(op, reason)
            return
        given = [self.method.values[value] for value in op.operands]
        self.method.values[op.results[0]] = number_slot(op, given, self.method.numbers)

    def _empty(self, op: tensor.EmptyOp) -> None:
        out = self.method.own_slot(op.tensor, op)
        if not is_static(op.tensor):
            sizes = self.method.slot(IntListOp([self.method.numbers.of(size) for size in shape_of(op.tensor)]))
            self.method.instruct(CallOp("aten::empty.out", [sizes, self.method.constant(None, "")], [out]), op)

    def _extract(self, op: tensor.ExtractOp) -> None:
        if any(extent != 1 for extent in shape_of(op.tensor)):
            self.method.refuse(op, f"only the one element of a tensor can become a number, got {op.tensor.type}")
        held = self.method.values[op.tensor]
        # Jumps take the tensor itself.
        is_condition = op.result.type == i1 and all(isinstance(use.operation, _CONDITIONAL) and use.index == 0 for use in op.result.uses)
        self.method.values[op.result] = held if is_condition else self.method.numbers.item(held, slot_of(op.result.type))

    def _from_elements(self, op: tensor.FromElementsOp) -> None:
        out = self.method.own_slot(op.result, op)
        if shape_of(op.result):
            self.method.refuse(op, f"only a tensor without dimensions can be made of a number, got {op.result.type}")
            return
        shape = self.method.slot(IntListOp([]))
        self.method.instruct(CallOp("aten::full.out", [shape, self.method.values[op.elements[0]]], [out]), op)

    def _extract_slice(self, op: tensor.ExtractSliceOp) -> None:
        index = self._entry(op, op.source, op.result)
        out = self.method.own_slot(op.result, op)
        if index is not None:
            source, outermost = self.method.values[op.source], self.method.constant(0, "int")
            self.method.instruct(CallOp("aten::select_copy.int_out", [source, outermost, index], [out]), op)

    def _insert_slice(self, op: tensor.InsertSliceOp) -> None:
        index = self._entry(op, op.dest, op.source)
        whole, part = self.method.values[op.dest], self.method.values[op.source]
        out = self.method.own_slot(op.result, op)
        if index is None:
            return
        if not is_static(op.source):
            operands = [whole, part, self.method.constant(0, "int"), index]
            self.method.instruct(CallOp("aten::select_scatter.out", operands, [out]), op)
            return
        if out is not whole and not _is_undefined(op.dest):
            self.method.copy(whole, out, op)
        # The kernel sets the outermost dimension to the number of entries so far.
        entries, *shape = shape_of(op.result)
        kind = make_type(tensor_type(op.result).element_type, (unknown(0, largest(entries)), *shape), LayoutAttr.of(dim_order(op.result)))
        self.method.instruct(CallOp(COPY_INDEX, [self.method.slot(ViewOp(out, kind)), part, index]), op)

    def _entry(self, op: tensor.ExtractSliceOp | tensor.InsertSliceOp, whole: SSAValue, part: SSAValue) -> SSAValue | None:
        """The slot of the number of the entry of the outermost dimension that a slice is; None, and refused, if it is something else."""
        shape, entry, offsets = shape_of(whole), shape_of(part), op.static_offsets.get_values()
        sizes = _with_numbers(op.static_sizes.get_values(), op.sizes)
        is_whole = len(sizes) == len(shape) == len(entry) + 1 and all(map(provably_equal, entry, shape[1:]))
        is_entry = is_whole and all(map(provably_equal, sizes, (1, *shape[1:]))) and not any(offsets[1:])
        is_plain = list(dim_order(whole)) == sorted(dim_order(whole)) and list(dim_order(part)) == sorted(dim_order(part))
        if not is_entry or not is_plain or op.strides:
            self.method.refuse(op, "only one entry of the outermost dimension of a row-major tensor can be read or written")
            return None
        return self.method.values[op.offsets[0]] if op.offsets else self.method.constant(offsets[0], "int")

    # Branches

    def _if(self, op: scf.IfOp) -> None:
        outs = [self.method.own_slot(result, op) for result in op.results]
        number = self._label()
        otherwise, end = f"else{number}", f"end{number}"
        has_else = bool(op.false_region.blocks) and (bool(outs) or len(op.false_region.block.ops) > 1)
        self.method.instruct(JumpFalseOp(self.method.values[op.cond], otherwise if has_else else end), op)
        self._branch(op.true_region.block, outs, op)
        if has_else:
            self._jump(end, op)
            self.method.instruct(LabelOp(otherwise), op)
            self._branch(op.false_region.block, outs, op)
        self.method.instruct(LabelOp(end), op)

    def _branch(self, block: Block, outs: Sequence[SSAValue], op: Operation) -> None:
        given = _terminator(block).operands
        for value, out in zip(given, outs, strict=True):
            if _is_written_in(value, block):
                self.destinations.setdefault(value, out)
        self.method.convert(block)
        self._move([(self.method.values[value], out) for value, out in zip(given, outs, strict=True)], op)

    # Loops

    def _for(self, op: scf.ForOp) -> None:
        low, high, step = (_number(value) for value in (op.lb, op.ub, op.step))
        if low is None or step is None:
            self.method.refuse(op, "it must begin with a constant, and its step must be one")
        low, step = low or 0, step or 1
        carried = self._carried(op)
        self.method.values.update(zip(op.results, carried, strict=True))
        if high is not None and exceeds(low + 1, high):
            return
        index, *held = op.body.block.args
        counter, ended = self.method.slot(IntOp(low)), self.method.slot(BoolOp(False))
        number = self._label()
        head, end = f"for{number}", f"end{number}"
        last = self.method.values[op.ub]
        self.method.values[index] = counter
        first = self.method.constant(low, "int")
        may_be_empty = high is None or not exceeds(high, low)
        if may_be_empty:
            self.method.instruct(JumpFalseOp(self.method.numbers.compare("lt", first, last), end), op)
        self.method.instruct(MoveOp(first, counter), op)
        self.method.instruct(LabelOp(head), op)
        self._round(op.body.block, held, carried, op)
        self.method.instruct(CallOp("executorch_prim::add.Scalar", [counter, self.method.constant(step, "int")], (), [counter]), op)
        self.method.instruct(CallOp("executorch_prim::ge.Scalar", [counter, last], (), [ended]), op)
        self.method.instruct(JumpFalseOp(ended, head), op)
        if may_be_empty:
            self.method.instruct(LabelOp(end), op)

    def _while(self, op: scf.WhileOp) -> None:
        number = self._label()
        head, end = f"while{number}", f"end{number}"
        before, after = op.before_region.block, op.after_region.block
        carried = self._carried(op)
        self.method.values.update(zip(before.args, carried, strict=True))
        self.method.instruct(LabelOp(head), op)
        self.method.convert(before)
        condition, *forwarded = _terminator(before).operands
        self.method.instruct(JumpFalseOp(self.method.values[condition], end), op)
        self.method.values.update((arg, self.method.values[value]) for arg, value in zip(after.args, forwarded, strict=True))
        self._round(after, after.args, carried, op)
        self._jump(head, op)
        self.method.instruct(LabelOp(end), op)
        taken: set[SSAValue] = set()
        for result, value in zip(op.results, forwarded, strict=True):
            slot = self.method.values[value]
            # A slot stands for one result, which a later loop may write over.
            is_own = value in before.args or _is_written_in(value, before)
            if slot in taken or not is_own or self.destinations.get(result, slot) is not slot:
                self.method.copy(slot, self.method.own_slot(result, op), op)
            else:
                self.method.values[result] = slot
                taken.add(slot)

    def _carried(self, op: scf.ForOp | scf.WhileOp) -> list[SSAValue]:
        """The slots of what a loop carries from round to round, holding what it begins with."""
        arguments = _starts(op)
        body = op.body.block.args[1:] if isinstance(op, scf.ForOp) else op.before_region.block.args
        carried: list[SSAValue] = []
        for position, (start, arg) in enumerate(zip(arguments, body, strict=True)):
            slot = self.method.values[start]
            result = op.results[position] if position < len(op.results) else None
            wanted = self.destinations.get(result) if result is not None and _keeps(op, result) else None
            if wanted is None and _is_only_for(start, op):
                wanted = slot
            if wanted is not None:
                self.destinations[arg] = wanted
            out = self.method.own_slot(arg, op)
            if slot is not out and not _is_undefined(start):
                self.method.copy(slot, out, op)
            carried.append(out)
        return carried

    def _round(self, block: Block, held: Sequence[SSAValue], carried: Sequence[SSAValue], op: Operation) -> None:
        """The body of a loop, and what carries its values to the next round."""
        self.method.values.update(zip(held, carried, strict=True) if isinstance(op, scf.ForOp) else ())
        given = _terminator(block).operands
        for value, slot in zip(given, carried, strict=True):
            holders = [arg for arg in held if self.method.values[arg] is slot]
            if value not in self.destinations and _is_written_in(value, block) and _may_write_over(value, holders, block):
                self.destinations[value], self._holders[slot] = slot, holders
        self.method.convert(block)
        self._move([(self.method.values[value], slot) for value, slot in zip(given, carried, strict=True)], op)

    # Instructions

    def _label(self) -> int:
        self.labels += 1
        return self.labels - 1

    def _jump(self, label: str, op: Operation) -> None:
        self.method.instruct(JumpFalseOp(self.method.constant(False, "bool"), label), op)

    def _move(self, moves: Sequence[tuple[SSAValue, SSAValue]], op: Operation) -> None:
        """Copies slots to slots, all at once: none is written before it has been read."""
        pending = [(source, target) for source, target in moves if source is not target]
        while pending:
            sources = [source for source, _ in pending]
            ready = next((move for move in pending if move[1] not in sources), None)
            if ready is not None:
                self.method.copy(*ready, op)
                pending.remove(ready)
                continue
            source, target = pending[0]
            held = self.method.slot(TensorOp(tensor_type(source)) if isinstance(source.type, TensorType) else slot_of(source.type))
            self.method.copy(source, held, op)
            pending[0] = (held, target)


def _terminator(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def _starts(op: scf.ForOp | scf.WhileOp) -> Sequence[SSAValue]:
    return op.iter_args if isinstance(op, scf.ForOp) else op.arguments


def _keeps(op: scf.ForOp | scf.WhileOp, result: SSAValue) -> bool:
    """Whether a result of a loop is what the loop carries at the same position."""
    if isinstance(op, scf.ForOp):
        return True
    position = cast(OpResult, result).index
    args = op.before_region.block.args
    forwarded = _terminator(op.before_region.block).operands[1:]
    return position < len(args) and forwarded[position] is args[position]


def _is_written_in(value: SSAValue, block: Block) -> bool:
    """Whether an operation of a block gives a value a slot of its own."""
    return isinstance(value, OpResult) and value.op.parent is block and isinstance(value.op, _WRITERS)


def _is_only_for(start: SSAValue, loop: Operation) -> bool:
    """Whether a loop may write over what it begins with: nothing else uses it."""
    return loop.parent is not None and _is_written_in(start, loop.parent) and start.has_one_use()


def _may_write_over(value: SSAValue, holders: Sequence[SSAValue], block: Block) -> bool:
    """Whether a value may be computed into the slot of `holders`: nothing reads these afterwards, nor its operation while it writes."""
    assert isinstance(value, OpResult)
    order = {op: index for index, op in enumerate(block.ops)}
    pending = list(holders)
    while pending:
        holder = pending.pop()
        for use in holder.uses:
            user = block.find_ancestor_op_in_block(use.operation)
            if user is None or order[user] < order[value.op]:
                # Conditions are read where they are used.
                pending += use.operation.results if isinstance(use.operation, tensor.ExtractOp) else ()
            elif user is not value.op or use.operation is not user or not _writes_over(value, use.index):
                return False
    return True


def _writes_over(value: OpResult, position: int) -> bool:
    """Whether an operation may compute a result over the operand at a position."""
    op = value.op
    if op.operands[position].type != value.type:
        return False
    match op:
        case SchemaOp():
            schema = out_variant(op.schema)
            if (
                not is_static(value)
                or schema is None
                or len(op.results) != 1
                or op.operands[position] in [*op.operands[:position], *op.operands[position + 1 :]]
            ):
                return False
            names = [argument.name for argument in schema.arguments]
            operand = op.operands[position]
            given = zip((a.name for a in op.schema.arguments), op.arguments(), strict=True)
            return any(found is operand and names.index(name) in inplace_arguments(schema.qualified_name) for name, found in given)
        case tensor.InsertSliceOp():
            return op.operands[position] is op.dest and is_static(op.source)
        case scf.ForOp() | scf.WhileOp():
            start = op.operands[position]
            return start in _starts(op) and _starts(op).index(start) == value.index and _keeps(op, value)
        case _:
            return False


def _is_undefined(value: SSAValue) -> bool:
    """Whether a tensor has neither elements nor sizes that are worth a copy."""
    return isinstance(value.owner, tensor.EmptyOp) and is_static(value)


def _number(value: SSAValue) -> int | None:
    """The number or the extent that a value is; None where that is not known."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as attribute):
            return cast("IntegerAttr[IndexType]", attribute).value.data
        case ValueOp():
            return value.owner.expression.value
        case _:
            return None


def _with_numbers(static: Sequence[int], dynamic: Sequence[SSAValue]) -> Sequence[int]:
    """The sizes of a slice, with an unknown number for each that nothing tells."""
    given = iter(dynamic)
    found = [_number(next(given)) if size == DYNAMIC_INDEX else size for size in static]
    return [unknown() if size is None else size for size in found]
