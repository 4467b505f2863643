"""Operators between integers: an operator of the edge level whose operands are dequantized and whose result is quantized.

A quantized program says so in operations around the operator, as PyTorch exports it: quantize(clamp(operator(dequantize(x), …))). They are
exact, every level runs them, and an operator that nobody takes in integers is computed in floats where it stands. This module alone finds
them: tables ask it what is between integers, converters and fusions what they compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.quantized_decomposed.quantize import (
    DequantizePerChannelGroupOp,
    DequantizePerChannelOp,
    DequantizePerTensorOp,
    QuantizePerTensorOp,
)
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.ranges import bounds_of_clamp

DEQUANTIZE: tuple[type[Operation], ...] = (DequantizePerTensorOp, DequantizePerChannelOp)
DEQUANTIZATIONS: tuple[type[Operation], ...] = (*DEQUANTIZE, DequantizePerChannelGroupOp)
"""All of them: of scales for groups no operator between integers is made."""


@dataclass(frozen=True)
class QuantizedOperator:
    """quantize(clamp(operator(dequantize(x), …))), or without an operator: quantize(clamp(dequantize(x))).

    Attributes:
        operator: computes floats; None where integers of one quantized type become those of another.
        clamps: the operators that limit these floats, the first one first; nothing else reads what is between.
        quantize: gives the integers.
    """

    operator: SchemaOp | None
    clamps: tuple[SchemaOp, ...]
    quantize: QuantizePerTensorOp

    @property
    def members(self) -> tuple[SchemaOp, ...]:
        """The operators of floats, in order; the quantization itself where there are none."""
        return (*(() if self.operator is None else (self.operator,)), *self.clamps) or (self.quantize,)

    @property
    def parts(self) -> tuple[Operation, ...]:
        """The operations that are computed in integers together: the dequantizations of the operands, the members, the quantization."""
        return *(value.owner for value in self.floats if isinstance(value.owner, DEQUANTIZE)), *self.members, self.quantize

    @cached_property
    def floats(self) -> tuple[SSAValue, ...]:
        """The operands of the first member."""
        return tuple(self.members[0].operands)


def quantized_operator(op: Operation) -> QuantizedOperator | None:
    """Returns what an operation is part of: an operator between integers, its clamp, or the quantization behind it; None otherwise."""
    while not isinstance(op, QuantizePerTensorOp):
        if not _is_float_operator(op) or (reader := _only_reader(op)) is None:
            return None
        op = reader
    return _ending_at(op)


def together_with(op: Operation) -> Iterator[Operation]:
    """Yields the operations without which an operation is not computed in integers: the parts of the operator that it belongs to."""
    for item in (use.operation for use in op.results[0].uses) if isinstance(op, DEQUANTIZE) else (op,):
        if (found := quantized_operator(item)) is not None:
            yield from found.parts


def _ending_at(quantize: QuantizePerTensorOp) -> QuantizedOperator | None:
    clamps: list[SchemaOp] = []
    value = quantize.operands[0]
    while isinstance(op := value.owner, SchemaOp) and _only_reader(op) is not None:
        if not _is_float_operator(op) or bounds_of_clamp(op) is None:
            break
        clamps.insert(0, op)
        value = op.operands[0]
    source = value.owner
    if isinstance(source, DEQUANTIZE):
        found = QuantizedOperator(None, tuple(clamps), quantize)
    elif isinstance(source, SchemaOp) and _is_float_operator(source) and _only_reader(source) is not None and value is source.results[0]:
        found = QuantizedOperator(source, tuple(clamps), quantize)
    else:
        return None
    has_integers = any(isinstance(operand.owner, DEQUANTIZE) for operand in found.floats)
    # Operands of integers are places and conditions, which are what they are.
    are_taken = all(element_of(operand) == f32 or isinstance(element_of(operand), IntegerType) for operand in found.floats)
    return found if has_integers and are_taken else None


def _is_float_operator(op: Operation) -> bool:
    return isinstance(op, SchemaOp) and op.level() == "edge" and bool(op.results) and element_of(op.results[0]) == f32


def _only_reader(op: Operation) -> Operation | None:
    """Returns the operation that reads the first result of `op`, if nothing else reads any of its results."""
    readers = {use.operation for result in op.results for use in result.uses}
    reads_one = len(readers) == 1 and not any(any(result.uses) for result in op.results[1:])
    return next(iter(readers)) if reads_one else None
