"""Integers and booleans at the borders of a model, which has them as integers of 32 bits."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from flambeau.backends.coreml.dialect.elementwise import CastMilOp
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.tensor_types import element_of, i1, i32, i64, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.support.lazy import np


def enter(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Gives the operators of a partition integers of 32 bits in place of those of 64, and booleans made of the integers that it gets.

    Raises BackendError for a constant that 32 bits do not hold.
    """
    block = partition.body.block
    first = block.first_op
    assert first is not None
    for argument in block.args:
        if element_of(argument) in (i1, i64):
            number = _before(CastMilOp(argument, dtype="int32"), first)
            value = number if element_of(argument) == i64 else _before(CastMilOp(number, dtype="bool"), first)
            replace_uses(argument, value, lambda use, kept=number.owner: use.operation is not kept)
    for op in list(block.ops):
        if isinstance(op, GlobalLoadConstantOp) and element_of(op.result) == i64:
            array = constants.elements(op.result)
            narrow = array.astype(np.int32)
            if (narrow != array).any():
                numbers = f"@{constants.name(op.result)} has numbers from {array.min()} to {array.max()}"
                raise BackendError(f"coreml: {numbers}, and Core ML's have 32 bits: no_delegate keeps what reads it")
            load = constants.add(f"{constants.name(op.result)}.i32", narrow, tensor(i32, shape_of(op.result)))
            replace_uses(op.result, _before(load, op))


def leave(partition: PartitionOp) -> None:
    """Gives a partition results of its types."""
    end = partition.body.block.last_op
    assert end is not None
    for place, (value, kind) in enumerate(zip(end.operands, partition.function_type.outputs.data, strict=True)):
        if element_of(kind) == i1:
            number = _before(CastMilOp(value, dtype="int32"), end)
            end.operands[place] = _before(CastMilOp(number, dtype="bool"), end)
        elif element_of(kind) == i64:
            end.operands[place] = _before(CastMilOp(value, dtype="int64"), end)


def at_entry(op: Operation) -> bool:
    """Returns whether an operation is a cast that the runtime makes of an input."""
    return isinstance(op, CastMilOp) and isinstance(op.operands[0].owner, Block) and element_of(op.operands[0]) in (i1, i64)


def at_exit(value: SSAValue) -> bool:
    """Returns whether a value is an output that the runtime makes of integers."""
    owner = value.owner
    if not isinstance(owner, CastMilOp) or element_of(owner.operands[0]) != i32:
        return False
    readers = [use.operation for use in value.uses]
    return element_of(value) == i64 or (element_of(value) == i1 and all(isinstance(reader, ReturnOp) for reader in readers))


def _before(op: CastMilOp | GlobalLoadConstantOp, reader: Operation) -> SSAValue:
    op.location = reader.location
    block = reader.parent
    assert block is not None
    if op.parent is None:
        block.insert_op_before(op, reader)
    return op.result
