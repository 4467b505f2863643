"""The dominance check: each operand is defined before it is used. xDSL's verifier leaves it out.

As in MLIR, operations of a graph region have no order, and an operation in an unreachable block may use any value of its region.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

_GRAPH_OPS = (ModuleOp, UnregisteredOp)
"""Operations with graph regions; an unregistered operation may have one."""
_GRAPH_OP_NAMES = ("equivalence.graph", "hw.module")
"""The other operations of xDSL with graph regions."""


def has_ssa_dominance(region: Region) -> bool:
    """Returns whether definitions must dominate their uses in a region: not in a graph region."""
    parent = region.parent
    return not isinstance(parent, _GRAPH_OPS) and (parent is None or parent.name not in _GRAPH_OP_NAMES)


def dominator_tree(region: Region) -> dict[Block, Block | None]:
    """Returns the immediate dominator of each reachable block (None for the entry block); dominators come first."""
    entry = region.first_block
    if entry is None:
        return {}
    order = _reverse_postorder(entry)
    numbers = {block: number for number, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for number, block in enumerate(order):
        for successor in _successors(block):
            predecessors[numbers[successor]].append(number)
    # Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm.
    idom = [0] + [-1] * (len(order) - 1)
    changed = True
    while changed:
        changed = False
        for number in range(1, len(order)):
            found = -1
            for other in predecessors[number]:
                if idom[other] >= 0:
                    found = other if found < 0 else _common_dominator(idom, found, other)
            if idom[number] != found:
                idom[number] = found
                changed = True
    return {block: order[idom[number]] if number else None for number, block in enumerate(order)}


def _common_dominator(idom: list[int], first: int, second: int) -> int:
    while first != second:
        if first > second:
            first = idom[first]
        else:
            second = idom[second]
    return first


def _successors(block: Block) -> Iterator[Block]:
    if (last := block.last_op) is not None:
        yield from last.successors


def _reverse_postorder(entry: Block) -> list[Block]:
    seen = {entry}
    postorder: list[Block] = []
    stack = [(entry, _successors(entry))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, _successors(successor)))
                break
        else:
            postorder.append(block)
            stack.pop()
    return postorder[::-1]


def dominance_errors(root: Operation) -> list[tuple[Operation, int, str]]:
    """Returns the operands in `root` whose definition does not dominate the use: the user, the operand's index, and the reason."""
    checker = _Checker(root)
    for region in root.regions:
        checker.region(region)
    return checker.found


class _Checker:
    """Visits the operations in dominance order and tracks the values that each may use."""

    def __init__(self, root: Operation):
        self.found: list[tuple[Operation, int, str]] = []
        self._root = root
        # Values compare by identity, and sets of ids are faster.
        self._usable = {id(value) for value in root.results}

    def region(self, region: Region) -> None:
        if not has_ssa_dominance(region):
            self._unordered(region, list(region.blocks))
        elif region.first_block is region.last_block:
            if (block := region.first_block) is not None:
                self._forget(self._block(block))
        else:
            self._blocks(region)

    def _blocks(self, region: Region) -> None:
        tree = dominator_tree(region)
        dominated: dict[Block, list[Block]] = {block: [] for block in tree}
        for block, dominator in tree.items():
            if dominator is not None:
                dominated[dominator].append(block)
        pending: list[Block | list[int]] = [next(iter(tree))]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                self._forget(item)
                continue
            pending.append(self._block(item))
            pending.extend(reversed(dominated[item]))
        unreachable = [block for block in region.blocks if block not in tree]
        if unreachable:
            self._unordered(region, unreachable)

    def _unordered(self, region: Region, blocks: list[Block]) -> None:
        """Checks blocks in which every value of the region may be used."""
        defined = [id(value) for block in region.blocks for value in _values(block)]
        self._usable.update(defined)
        for block in blocks:
            for op in block.ops:
                self._operation(op)
        self._forget(defined)

    def _block(self, block: Block) -> list[int]:
        """Checks a block; returns its values, which stay usable until they are passed to `_forget`."""
        defined = [id(argument) for argument in block.args]
        usable = self._usable
        usable.update(defined)
        for op in block.ops:
            self._operation(op)
            for result in op.results:
                usable.add(id(result))
                defined.append(id(result))
        return defined

    def _forget(self, values: list[int]) -> None:
        self._usable.difference_update(values)

    def _operation(self, op: Operation) -> None:
        usable = self._usable
        for index, operand in enumerate(op.operands):
            if id(operand) not in usable:
                self.found.append((op, index, _reason(self._root, op, operand)))
        for region in op.regions:
            self.region(region)


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _reason(root: Operation, user: Operation, value: SSAValue) -> str:
    """Returns why `user` may not use a value."""
    owner = value.owner if isinstance(value, OpResult | BlockArgument) else None
    block = owner.parent if isinstance(owner, Operation) else owner
    if owner is None or block is None or not root.is_ancestor(block):
        return "is not defined within the module"
    if isinstance(owner, Operation) and block.find_ancestor_op_in_block(user) is not None:
        return f"is used before {owner.name} defines it"
    if block.parent is None or user.parent is None or block.parent.find_ancestor_block_in_region(user.parent) is None:
        return "is defined in a region that does not enclose the use"
    return "is defined in a block that does not dominate the use"
