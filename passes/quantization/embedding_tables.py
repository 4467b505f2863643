"""Embeddings from quantized tables: rows are taken before they become floats."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.elementwise.conversion import ToCopyOp
from flambeau.dialects.aten.indexing.embedding import EmbeddingOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import element_of, is_static, normalize_dim, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import (
    DequantizePerChannelGroupOp,
    DequantizePerChannelOp,
    DequantizePerTensorOp,
)
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites

_MOST_STEPS = 8
"""The longest way from the integers of a table to its floats; a dequantization takes six operators where it is written out."""


def _followed(op: SchemaOp, rows: int) -> list[SSAValue] | None:
    """Returns the operands with a row per row of the result, when each row depends on the same rows only; None otherwise."""
    shape = shape_of(op.results[0])
    match op:
        case ViewOp() | ToCopyOp() | DequantizePerTensorOp():
            wanted = [op.operands[0]]
        case DequantizePerChannelOp():
            wanted = list(op.operands if normalize_dim(op.argument("axis"), len(shape)) == 0 else op.operands[:1])
        case DequantizePerChannelGroupOp():
            wanted = list(op.operands)
        case _ if op.elementwise and len(op.results) == 1:
            wanted = [operand for operand in op.operands if len(shape_of(operand)) == len(shape) and shape_of(operand)[0] != 1]
        case _:
            return None
    return wanted if shape[:1] == (rows,) and all(shape_of(operand)[:1] == (rows,) for operand in wanted) else None


def are_separate(value: SSAValue, rows: int, constants: ModuleConstants, steps: int = _MOST_STEPS) -> bool:
    """Returns whether a value is computed from constants row by row, in at most `steps` nested operators."""
    if not is_static(value) or not is_row_major(value):
        return False
    if constants.is_constant(value):
        return shape_of(value)[:1] == (rows,) and constants.array(value) is not None
    op = value.owner
    if not isinstance(op, SchemaOp) or op.level() not in ("edge", "quantized_decomposed") or steps == 0:
        return False
    operands = _followed(op, rows)
    return bool(operands) and all(are_separate(operand, rows, constants, steps - 1) for operand in operands)


@dataclass(frozen=True)
class RowsOfTable:
    """Gathers the rows at `indices`, a vector, from values whose rows `are_separate`."""

    constants: ModuleConstants
    rows: int
    indices: SSAValue
    found: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def of(self, value: SSAValue) -> SSAValue:
        """Returns the rows of `value` at the indices."""
        if value not in self.found:
            self.found[value] = self._constant_rows(value) if self.constants.is_constant(value) else self._computed_rows(value)
        return self.found[value]

    def _constant_rows(self, value: SSAValue) -> SSAValue:
        rest = shape_of(value)[1:]
        if len(rest) == 1:
            return EmbeddingOp.at("edge")(value, self.indices).result
        array = self.constants.array(value)
        assert array is not None
        shape = (self.rows, math.prod(rest))
        matrix = self.constants.add(f"{self.constants.name(value)}.rows", array.reshape(shape), tensor(element_of(value), shape)).results[0]
        return ViewOp.at("edge")(EmbeddingOp.at("edge")(matrix, self.indices).result, (shape_of(self.indices)[0], *rest)).result

    def _computed_rows(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, SchemaOp)
        followed = _followed(op, self.rows)
        assert followed is not None
        operands = [self.of(operand) if operand in followed else operand for operand in op.operands]
        if isinstance(op, ViewOp):
            return ViewOp.at("edge")(operands[0], (shape_of(self.indices)[0], *shape_of(value)[1:])).result
        return op.rebuilt(operands).results[0]


def table_pattern(constants: ModuleConstants) -> Pattern:
    """Returns the pattern of embedding(dequantize(constant), indices): dequantize(embedding(constant, indices)), with the rows' scales."""

    @rewrites(EmbeddingOp.at("edge"), counter="embeddings taken from integers")
    def take_rows(op: SchemaOp) -> SSAValue | None:
        table, indices = op.operands
        if constants.is_constant(table) or element_of(table) != f32 or not is_static(table):
            return None
        rows, count = shape_of(table)[0], math.prod(shape_of(indices))
        if rows < 2 or (is_known(count) and count >= rows) or not is_row_major(indices) or not is_row_major(op.result):
            return None
        if not are_separate(table, rows, constants):
            return decline("the whole table becomes floats: not each of its rows follows from the same row of constants")
        flat = indices if len(shape_of(indices)) == 1 else ViewOp.at("edge")(indices, (count,)).result
        result = RowsOfTable(constants, rows, flat).of(table)
        return result if flat is indices else ViewOp.at("edge")(result, shape_of(op.result)).result

    return take_rows
