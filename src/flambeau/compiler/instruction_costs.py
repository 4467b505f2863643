"""Costs of the instructions of a method, counted from the types of their slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.literals import OptionalTensorListOp, TensorListOp, literal_value
from flambeau.dialects.exec.method import MethodOp, named_data_of
from flambeau.dialects.exec.row_kernels import RowKernel, row_kernels
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.cost import KernelCall, flops, untouched
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError


@dataclass(frozen=True)
class InstructionCost:
    """The cost of one run of an instruction at the greatest sizes.

    Attributes:
        flops: its floating-point operations; None if unknown.
        untouched: the bytes of the instruction's arguments that it does not read.
    """

    flops: int | None = None
    untouched: int = 0


def instruction_costs(module: ModuleOp, context: FlambeauContext, method: MethodOp) -> list[InstructionCost]:
    """Returns the cost of each instruction of a method."""
    delegates: dict[str, int | None] = {}
    named_data = named_data_of(module, context.blobs)
    for op in module.body.block.ops:
        if isinstance(op, PartitionOp):
            delegates[op.sym_name.data] = _total(op)
        elif isinstance(op, PayloadOp):
            try:
                delegates[op.sym_name.data] = _total(disassemble(op, named_data, context.blobs).partition)
            except BackendError:
                delegates[op.sym_name.data] = None
    return [_cost(op, delegates) for op in method.steps]


def _cost(op: Operation, delegates: Mapping[str, int | None]) -> InstructionCost:
    if isinstance(op, DelegateCallOp):
        return InstructionCost(delegates.get(op.delegate.string_value()))
    if not isinstance(op, CallOp) or not any(isinstance(slot.type, TensorType) for slot in (*op.outs, *op.returns, *op.writes)):
        return InstructionCost(0)
    kernel = row_kernels().get(op.operator.data)
    if kernel is None:
        return InstructionCost()
    computation = _computation(op, kernel)
    try:
        return InstructionCost(flops(computation), untouched(computation))
    except TypeError:
        return InstructionCost(flops(computation))


def _computation(call: CallOp, kernel: RowKernel) -> KernelCall:
    """Returns the computation of a call of the kernel that a row describes."""
    row, inputs = kernel.row, [argument.name for argument in kernel.out.arguments if argument not in kernel.out.outs]
    arguments = dict(zip(inputs, map(_argument, call.ins), strict=False))
    return KernelCall(row.schema, row.moves, row.looks_up, _tensors(call.ins), tuple(call.outs) or tuple(call.returns), arguments)


def _total(partition: PartitionOp) -> int | None:
    counts = [flops(op) for op in partition.body.walk() if isinstance(op, SchemaOp)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _tensors(slots: Sequence[SSAValue]) -> list[SSAValue]:
    found: list[SSAValue] = []
    for slot in slots:
        match slot.owner:
            case TensorListOp() | OptionalTensorListOp():
                found += slot.owner.items
            case _:
                found.append(slot)
    return [slot for slot in found if isinstance(slot.type, TensorType)]


def _argument(slot: SSAValue) -> Any:
    """Returns a tensor as its slot, and what is a literal as its value; None for lists of tensors."""
    if isinstance(slot.type, TensorType):
        return slot
    try:
        return literal_value(slot)
    except TypeError:
        return None
