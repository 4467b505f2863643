"""Pairs of a quantization and a dequantization around moves of elements, so that what computes beside a move is between integers.

A quantized program says dequantize, view, product, view, quantize where only the product was quantized: views stand between it and its
integers. A pair beside each view changes no number: integers stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor, tensor_type
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.rewriting.uses import replace_uses


def add_pairs(block: Block, table: OperatorTable) -> list[QuantizePerTensorOp]:
    """Adds the pairs that a backend's operators between integers need beside its moves. Returns their quantizations."""
    has = _has_of(table)
    moves = [op for op in block.ops if isinstance(op, SchemaOp) and _is_move(op) and has(op)]
    pairs = [*_behind(moves, has), *_before(moves, has)] if moves else []
    # From the ends of chains of moves to the operators that they begin or end with: a pair stays if the one beside it does.
    useless = [pair for pair in reversed(pairs) if not _serves(pair, table) and _remove(pair)]
    return [pair for pair in pairs if pair not in useless]


def _serves(pair: QuantizePerTensorOp, table: OperatorTable) -> bool:
    """Returns whether the backend takes what computes the numbers of a pair, and one of its readers."""
    readers = {use.operation for reader in pair.result.uses for use in reader.operation.results[0].uses}
    source = pair.operands[0].owner
    return isinstance(source, Operation) and table.why_not(source) is None and any(table.why_not(reader) is None for reader in readers)


def _has_of(table: OperatorTable) -> Callable[[object], bool]:
    return lambda op: isinstance(op, SchemaOp) and table.named(type(op)) in table.integers


def _is_move(op: SchemaOp) -> bool:
    if len(op.operands) != 1 or len(op.results) != 1 or op.level() != "edge":
        return False
    row = op.siblings["row"]
    return (row.moves or row.schema.is_view) and element_of(op.operands[0]) == f32 == element_of(op.results[0])


def _behind(moves: Sequence[SchemaOp], has: Callable[[object], bool]) -> Iterator[QuantizePerTensorOp]:
    """Adds pairs behind moves of dequantized numbers that an operator of the backend reads, perhaps behind other moves."""
    known, leading = set(moves), set[Operation]()
    for move in reversed(moves):
        readers = {use.operation for use in move.results[0].uses}
        if any(reader in leading or (reader not in known and _computes(reader) and has(reader)) for reader in readers):
            leading.add(move)
    for move in moves:
        source = move.operands[0].owner
        if move in leading and isinstance(source, DequantizePerTensorOp):
            yield _pair(move.results[0], source, move)


def _before(moves: Sequence[SchemaOp], has: Callable[[object], bool]) -> Iterator[QuantizePerTensorOp]:
    """Adds pairs before moves whose results are quantized, where an operator of the backend computes what they move, for them alone."""
    known, led = set(moves), set[Operation]()
    for move in moves:
        value = move.operands[0]
        source = value.owner
        if value.has_one_use() and (source in led or (source not in known and _computes(source) and has(source))):
            led.add(move)
    for move in reversed(moves):
        readers = [use.operation for use in move.results[0].uses]
        source = move.operands[0].owner
        if move in led and len(readers) == 1 and isinstance(reader := readers[0], QuantizePerTensorOp) and isinstance(source, SchemaOp):
            yield _pair(move.operands[0], reader, source)


def _computes(op: object) -> bool:
    return not isinstance(op, (QuantizePerTensorOp, DequantizePerTensorOp))


def _pair(value: SSAValue, like: DequantizePerTensorOp | QuantizePerTensorOp, place: SchemaOp) -> QuantizePerTensorOp:
    """Adds a quantization of a value, of the numbers of another operation, and its dequantization, which all others read."""
    numbers = like.arguments()[1:6]
    stored = element_of(like.operands[0] if isinstance(like, DequantizePerTensorOp) else like.result)
    encoding = tensor_type(value).encoding
    quantize = QuantizePerTensorOp(value, *numbers, result_types=[tensor(stored, shape_of(value), encoding)])
    dequantize = DequantizePerTensorOp(quantize.result, *numbers, result_types=[tensor_type(value)])
    last: Operation = place
    block = place.parent_block()
    assert block is not None
    for op in (quantize, dequantize):
        op.location = place.location
        block.insert_op_after(op, last)
        last = op
    replace_uses(value, dequantize.result, lambda use: use.operation is not quantize)
    return quantize


def remove_pairs(block: Block, pairs: Iterable[QuantizePerTensorOp]) -> None:
    """Removes the pairs that stay in a block as they were added."""
    for pair in pairs:
        members = (pair, *(use.operation for use in pair.result.uses))
        if all(op.parent_block() is block for op in members) and all(isinstance(op, DequantizePerTensorOp) for op in members[1:]):
            _remove(pair)


def _remove(pair: QuantizePerTensorOp) -> bool:
    for op in dict.fromkeys(use.operation for use in pair.result.uses):
        replace_uses(op.results[0], pair.operands[0])
        op.detach()
        op.erase()
    pair.detach()
    pair.erase()
    return True
