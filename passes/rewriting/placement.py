"""Replaces several operations at once, with new operations inserted where all of their operands are known and nothing reads them yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.passes.rewriting.explanation import decline


def replace_several(root: Operation, replaced: Mapping[Operation, Sequence[SSAValue]], rewriter: PatternRewriter) -> bool:
    """Replaces operations by values; detached operations behind the values are inserted, with locations and names.

    They go before the first reader of what they replace. What computes their operands after that moves up, if it has no effects.

    Args:
        root: the last of the operations that matched.
        replaced: the values for the results of each operation, none of which reads a result of these operations.
        rewriter: is told of every change.

    Returns:
        Whether there was such a place; if not, nothing has changed and the pattern has declined.
    """
    block = root.parent
    if block is None or any(op.parent is not block for op in replaced):
        decline("the operations to replace stand in several blocks")
        return False
    new = list(detached_ops(value for values in replaced.values() for value in values))
    order = _order(root, replaced)
    first = min((root, *(op for op in _readers(replaced, block) if op in order)), key=order.__getitem__)
    late = _late_operands([value for values in replaced.values() for value in values], order, order[first])
    if (obstacle := _obstacle(late, first, replaced)) is not None:
        decline(f"the new operations read {obstacle.name}, which cannot be computed before {first.name}, the first to read a result")
        return False
    if first is not root and not all(is_side_effect_free(op) for op in (*new, *replaced)):
        decline(f"operations with effects cannot be moved before {first.name}, the first to read a result")
        return False
    for op in late:
        op.detach()
        block.insert_op_before(op, first)
    _describe(replaced)
    for op in new:
        rewriter.insert(op, InsertPoint.before(first))
    for op, values in sorted(replaced.items(), key=lambda item: -order[item[0]]):
        rewriter.replace(op, [], list(values))
    return True


def _order(root: Operation, replaced: Iterable[Operation]) -> dict[Operation, int]:
    """Returns the position of each operation from the first replaced one to the root, or to the last replaced one behind it."""
    missing, span = set(replaced), list[Operation]()
    op: Operation | None = root
    while op is not None and (missing or not span):
        span.append(op)
        missing.discard(op)
        op = op.prev_op
    span.reverse()
    op = root.next_op
    while op is not None and missing:
        span.append(op)
        missing.discard(op)
        op = op.next_op
    return {op: position for position, op in enumerate(span)}


def _readers(replaced: Iterable[Operation], block: Block) -> Iterable[Operation]:
    """Yields the remaining operations of the block that read a replaced result, in themselves or in their regions."""
    gone = set(replaced)
    for op in gone:
        for result in op.results:
            for use in result.uses:
                reader = block.find_ancestor_op_in_block(use.operation)
                if reader is not None and reader not in gone:
                    yield reader


def _late_operands(values: Iterable[SSAValue], order: Mapping[Operation, int], place: int) -> list[Operation]:
    """Returns the operations at or after `place` that `values` depend on, in order."""
    late: set[Operation] = set()
    seen: set[Operation] = set()
    pending = [value.op for value in values if isinstance(value, OpResult)]
    while pending:
        op = pending.pop()
        position = order.get(op, -1)
        if op in seen or (op.parent is not None and position < place):
            continue
        seen.add(op)
        if op.parent is not None:
            late.add(op)
        pending += [operand.op for operand in op.operands if isinstance(operand, OpResult)]
    return sorted(late, key=order.__getitem__)


def _obstacle(late: Iterable[Operation], first: Operation, replaced: Mapping[Operation, object]) -> Operation | None:
    """Returns an operation that cannot move before `first`; None when all can."""
    for op in late:
        reads_replaced = any(isinstance(operand, OpResult) and operand.op in replaced for operand in op.operands)
        if op is first or op in replaced or reads_replaced or op.regions or not is_side_effect_free(op):
            return op
    return None


def _describe(replaced: Mapping[Operation, Sequence[SSAValue]]) -> None:
    """Gives the new operations the locations, and their results the names, of what they replace."""
    for op, values in replaced.items():
        for new in detached_ops(values):
            if new.location is UNKNOWN_LOC:
                new.location = op.location
        for old, value in zip(op.results, values, strict=True):
            if old.name_hint is not None and isinstance(value, OpResult) and value.op.parent is None and value.name_hint is None:
                value.name_hint = old.name_hint
