"""`sink-operators`: computes values as late as their first reader, where that lowers the peak of memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.tensor_types import dtype_of, element_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite


@dataclass(frozen=True)
class SinkOperatorsPass(OperationPass):
    """Moves operators without side effects to their first reader, if fewer bytes are live at once then.

    An operator moves if its operands are constants, or follow from constants for it alone and move with it, or are read at the new place or
    later anyway, so that no value lives longer. A block
    stays as it is unless the peak of its bytes falls: weights that are dequantized at the start of a method are the case.

    Needs: values, as at the edge level, before `convert-edge-to-exec`. Leaves: the same operations; the peak of each block, its inputs and
    constants apart, at most what it was. Dynamic sizes count as their bounds, and as nothing without one.
    """

    name = "sink-operators"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Moves operations in place, in each block that is inside `op`."""
        for inner in op.walk():
            for region in inner.regions:
                for block in region.blocks:
                    self._sink(block)

    def _sink(self, block: Block) -> None:
        before = [*block.ops]
        readers = cache(partial(_readers, block))
        anchors = _anchors(before, readers)
        if not anchors:
            return
        saved = _peak(before, readers) - _peak([*_in_order(before, anchors)], readers)
        if saved <= 0:
            return
        chosen = {op: anchor for op, anchor in anchors.items() if may_rewrite(self.name, op)}
        count("bytes of peak memory saved", saved)
        following = before[-1]
        for op in reversed([*_in_order(before, chosen)]):
            if op in chosen:
                op.detach()
                block.insert_op_before(op, following)
            following = op


def _anchors(ops: Sequence[Operation], readers_of: Callable[[SSAValue], Sequence[Operation]]) -> Mapping[Operation, Operation]:
    """Returns the operations that may move, and for each its first reader, which may move as well."""
    places = {op: place for place, op in enumerate(ops)}
    readers = {op: [reader for value in op.results for reader in readers_of(value)] for op in ops}
    follows: set[Operation] = set()
    for op in ops:
        if isinstance(op, GlobalLoadConstantOp) or (_may_move(op) and all(value.owner in follows for value in op.operands)):
            if isinstance(op, GlobalLoadConstantOp) or len(readers[op]) == 1:
                follows.add(op)
    anchors: dict[Operation, Operation] = {}
    for op in reversed(ops):
        if not _may_move(op) or not readers[op]:
            continue
        first = min(readers[op], key=places.__getitem__)
        if first is op.next_op and first not in anchors:
            continue
        # Of readers that move to one place, another may come first there.
        if any(places[reader] == places[first] for reader in readers[op] if reader is not first):
            continue
        # What is read at the new place or later lives no longer than before; constants do not count, and what they lead to follows.
        if all(
            value.owner in follows
            or not isinstance(value.type, TensorType)
            or any(places[other] >= places[first] for other in readers_of(value) if other is not op)
            for value in op.operands
        ):
            anchors[op] = first
            places[op] = places[first]
    return anchors


def _may_move(op: Operation) -> bool:
    return isinstance(op, SchemaOp) and not op.regions and is_side_effect_free(op)


def _readers(block: Block, value: SSAValue) -> Sequence[Operation]:
    """Returns the operations of a block that read a value, themselves or in their regions."""
    found = (block.find_ancestor_op_in_block(use.operation) for use in value.uses)
    return [reader for reader in found if reader is not None]


def _in_order(ops: Sequence[Operation], anchors: Mapping[Operation, Operation]) -> Iterator[Operation]:
    """Yields the operations with those that move before their readers; of several with one reader, in the order that they had."""
    waiting: dict[Operation, list[Operation]] = defaultdict(list)
    for op in ops:
        if op in anchors:
            waiting[anchors[op]].append(op)
    for op in ops:
        if op in anchors:
            continue
        stack, chain = [op], list[Operation]()
        while stack:
            item = stack.pop()
            chain.append(item)
            stack += waiting[item]
        yield from reversed(chain)


def _peak(order: Sequence[Operation], readers_of: Callable[[SSAValue], Sequence[Operation]]) -> int:
    """Returns the most bytes of results that are live at once, without those of constants."""
    places = {op: place for place, op in enumerate(order)}
    changes = [0] * (len(order) + 1)
    for op in order:
        for result in op.results:
            last = max((places[reader] for reader in readers_of(result)), default=places[op])
            size = _bytes(op, result)
            changes[places[op]] += size
            changes[last + 1] -= size
    return max(accumulate(changes))


def _bytes(op: Operation, result: OpResult) -> int:
    if isinstance(op, GlobalLoadConstantOp) or not isinstance(result.type, TensorType):
        return 0
    try:
        return prod(upper_bounds(result)) * dtype_of(element_of(result)).size
    except TypeError:
        return 0
