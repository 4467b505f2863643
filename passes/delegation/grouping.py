"""Groups the operations that go to a backend together, without cycles between groups.

Each operation has a level: one of the backend's is on the highest level among its operands; any other is one above its operands that
the backend takes. Levels never fall along a path, and a path that leaves the backend's operations comes back on a higher level. So
connected operations of one level can be one call, however many branches there are; the cost is linear. Two kinds of operations belong to
what reads them: one of constants alone that only the backend's operations read is on the lowest level of these, as it waits for nothing,
and stays if none of these reads it; a dequantization whose one reader is the backend's is on the level of its reader, so that integers
cross to there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS


def dependencies(block: Block) -> dict[Operation, list[Operation]]:
    """Returns the operations of a block that each of them but the terminator must follow.

    They give the values that it, or what is in its regions, reads; or they access state earlier.
    """
    found: dict[Operation, list[Operation]] = {}
    last: Operation | None = None
    for op in block.ops:
        if op is block.last_op:
            break
        read = (value.op for inner in op.walk() for value in inner.operands if isinstance(value, OpResult))
        found[op] = list(dict.fromkeys(before for before in read if before.parent is block))
        if not is_side_effect_free(op):
            if last is not None:
                found[op].append(last)
            last = op
    return found


def group(block: Block, takes: Callable[[Operation], bool], most: int, equal: Sequence[Sequence[Operation]] = ()) -> list[list[Operation]]:
    """Returns the operations that go to a backend, in groups of at most `most`, each in the order of the block.

    Operations that are equal are connected as one would be that all their readers read.
    """
    levels: dict[Operation, int] = {}
    parents: dict[Operation, Operation] = {}

    def root(op: Operation) -> Operation:
        while parents[op] is not op:
            parents[op] = parents[parents[op]]
            op = parents[op]
        return op

    def join(op: Operation, others: Iterable[Operation]) -> None:
        for other in others:
            if other in parents and levels[other] == levels[op]:
                parents[root(other)] = root(op)

    late: dict[Operation, Sequence[Operation]] = {}
    """The operations that belong to what reads them, with what comes before them."""
    for op, before in dependencies(block).items():
        if not takes(op) or (_is_of_constants(op) and not any(takes(reader) for reader in _readers(op))):
            levels[op] = max((levels[item] + (item in parents) for item in before), default=0)
            continue
        parents[op] = op
        is_source = _is_of_constants(op)
        levels[op] = 0 if is_source else max((levels[item] for item in before), default=0)
        if is_source or isinstance(op, DEQUANTIZATIONS):
            late[op] = before
        else:
            join(op, (item for item in before if item not in late))
    for op, before in late.items():
        readers, is_source = _readers(op), _is_of_constants(op)
        if all(reader in parents for reader in readers) and (is_source or len(readers) == 1):
            levels[op] = min(levels[reader] for reader in readers)
        elif is_source:
            continue
        join(op, (*readers, *before))
    for ops in equal:
        for op in ops:
            join(op, ops if op in parents else ())
    connected: dict[Operation, list[Operation]] = {}
    for op in parents:
        connected.setdefault(root(op), []).append(op)
    # A piece depends only on earlier pieces of its group, because operations are in the order of their operands.
    return [items[start : start + most] for items in connected.values() for start in range(0, len(items), most)]


def _readers(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for result in op.results for use in result.uses))


def _is_of_constants(op: Operation) -> bool:
    """Returns whether all operands of an operation are constants."""
    return len(op.operands) > 0 and all(isinstance(value.owner, GlobalLoadConstantOp) for value in op.operands)


def contracted_order(block: Block, groups: Sequence[Sequence[Operation]]) -> list[Operation | int]:
    """Returns an order in which each group (its index) can run at once; everything else stays as near to its place as that allows."""
    place = {op: index for index, op in enumerate(block.ops)}
    owner: dict[Operation, Operation | int] = {op: index for index, items in enumerate(groups) for op in items}
    priority: dict[Operation | int, int] = {index: place[items[-1]] for index, items in enumerate(groups)}
    waits: dict[Operation | int, set[Operation | int]] = {index: set() for index in range(len(groups))}
    for op, before in dependencies(block).items():
        node = owner.get(op, op)
        priority.setdefault(node, place[op])
        waits.setdefault(node, set()).update(found for item in before if (found := owner.get(item, item)) != node)
    followers: dict[Operation | int, list[Operation | int]] = {}
    for node, before in waits.items():
        for item in before:
            followers.setdefault(item, []).append(node)
    at = {priority[node]: node for node in waits}
    ready = [priority[node] for node, before in waits.items() if not before]
    heapq.heapify(ready)
    order: list[Operation | int] = []
    while ready:
        node = at[heapq.heappop(ready)]
        order.append(node)
        for follower in followers.get(node, ()):
            waits[follower].remove(node)
            if not waits[follower]:
                heapq.heappush(ready, priority[follower])
    return order


def used_outside(items: Sequence[Operation]) -> list[SSAValue]:
    """Returns the results that something other than `items` uses."""
    inside = set(items)
    return [result for op in items for result in op.results if any(use.operation not in inside for use in result.uses)]
