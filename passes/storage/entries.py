"""Numbers in tensors, and entries of tensors: `tensor` operations as kernel calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, i1
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import COPY_INDEX, CallOp
from flambeau.dialects.exec.literals import IntListOp
from flambeau.dialects.exec.slots import ViewOp
from flambeau.dialects.flambeau.symbol_operations import ValueOp
from flambeau.dialects.ir.extents import largest, provably_equal, unknown
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor_type
from flambeau.dialects.ir.tensor_types import tensor as make_type
from flambeau.passes.storage.number_arithmetic import slot_of
from flambeau.passes.storage.value_slots import ValueSlots

_CONDITIONAL = (cf.ConditionalBranchOp, cf.AssertOp)
"""The operations that jump where their first operand, a truth value, does not hold."""
ENTRIES = (tensor.EmptyOp, tensor.ExtractOp, tensor.FromElementsOp, tensor.ExtractSliceOp, tensor.InsertSliceOp)
"""The operations that `convert_entry` converts."""


def convert_entry(op: Operation, slots: ValueSlots) -> None:
    """Adds the instructions of an operation of `ENTRIES`."""
    match op:
        case tensor.EmptyOp():
            _empty(op, slots)
        case tensor.ExtractOp():
            _extract(op, slots)
        case tensor.FromElementsOp():
            _from_elements(op, slots)
        case tensor.ExtractSliceOp():
            _extract_slice(op, slots)
        case tensor.InsertSliceOp():
            _insert_slice(op, slots)
        case _:
            raise TypeError(f"{op.name} is none of ENTRIES")


def _empty(op: tensor.EmptyOp, slots: ValueSlots) -> None:
    out = slots.own(op.tensor, op)
    if not is_static(op.tensor):
        sizes = slots.builder.slot(IntListOp([slots.numbers.of(size) for size in shape_of(op.tensor)]))
        slots.builder.emit(CallOp("aten::empty.out", [sizes, slots.constant(None, "")], [out]))


def _extract(op: tensor.ExtractOp, slots: ValueSlots) -> None:
    if any(extent != 1 for extent in shape_of(op.tensor)):
        slots.refuse(op, f"only the one element of a tensor can become a number, got {op.tensor.type}")
        return
    held = slots.values[op.tensor]
    # A jump reads its condition from the tensor.
    is_condition = op.result.type == i1 and all(isinstance(use.operation, _CONDITIONAL) and use.index == 0 for use in op.result.uses)
    slots.values[op.result] = held if is_condition else slots.numbers.item(held, slot_of(op.result.type))


def _from_elements(op: tensor.FromElementsOp, slots: ValueSlots) -> None:
    out = slots.own(op.result, op)
    if shape_of(op.result):
        slots.refuse(op, f"only a tensor without dimensions can be made of a number, got {op.result.type}")
        return
    shape = slots.builder.slot(IntListOp([]))
    slots.builder.emit(CallOp("aten::full.out", [shape, slots.values[op.elements[0]]], [out]))


def _extract_slice(op: tensor.ExtractSliceOp, slots: ValueSlots) -> None:
    index = _entry(op, op.source, op.result, slots)
    out = slots.own(op.result, op)
    if index is not None:
        source, outermost = slots.values[op.source], slots.builder.integer(0)
        slots.builder.emit(CallOp("aten::select_copy.int_out", [source, outermost, index], [out]))


def _insert_slice(op: tensor.InsertSliceOp, slots: ValueSlots) -> None:
    index = _entry(op, op.dest, op.source, slots)
    whole, part = slots.values[op.dest], slots.values[op.source]
    out = slots.own(op.result, op)
    if index is None:
        return
    if not is_static(op.source):
        operands = [whole, part, slots.builder.integer(0), index]
        slots.builder.emit(CallOp("aten::select_scatter.out", operands, [out]))
        return
    slots.copy(whole, out)
    # The kernel sets the outermost dimension to the number of entries so far.
    entries, *shape = shape_of(op.result)
    kind = make_type(tensor_type(op.result).element_type, (unknown(0, largest(entries)), *shape), LayoutAttr.of(dim_order(op.result)))
    slots.builder.emit(CallOp(COPY_INDEX, [slots.builder.slot(ViewOp(out, kind)), part, index]))


def _entry(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, whole: SSAValue, part: SSAValue, slots: ValueSlots) -> SSAValue | None:
    """Returns the slot of the number of the outermost entry that a slice is; None, and refuses the operation, if it is something else."""
    shape, entry, offsets = shape_of(whole), shape_of(part), op.static_offsets.get_values()
    sizes = _with_numbers(op.static_sizes.get_values(), op.sizes)
    is_whole = len(sizes) == len(shape) == len(entry) + 1 and all(map(provably_equal, entry, shape[1:]))
    is_entry = is_whole and all(map(provably_equal, sizes, (1, *shape[1:]))) and not any(offsets[1:])
    is_plain = list(dim_order(whole)) == sorted(dim_order(whole)) and list(dim_order(part)) == sorted(dim_order(part))
    if not is_entry or not is_plain or op.strides:
        slots.refuse(op, "only one entry of the outermost dimension of a row-major tensor can be read or written")
        return None
    return slots.values[op.offsets[0]] if op.offsets else slots.builder.integer(offsets[0])


def _with_numbers(static: Sequence[int], dynamic: Sequence[SSAValue]) -> Sequence[int]:
    """Returns the sizes of a slice, with an unknown number for each that nothing tells."""
    given = iter(dynamic)
    found = [number_of(next(given)) if size == DYNAMIC_INDEX else size for size in static]
    return [unknown() if size is None else size for size in found]


def number_of(value: SSAValue) -> int | None:
    """Returns the number, or the size, that a value is known to be."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as attribute):
            return cast("IntegerAttr[IndexType]", attribute).value.data
        case ValueOp():
            return value.owner.expression.value
        case _:
            return None
