"""Definitions come before uses: what xDSL's verifier does not look at.

As in MLIR, there is no order in a graph region, and whatever stands in a block that control never reaches may use any value of its region.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

_GRAPHS = (ModuleOp, UnregisteredOp)
_GRAPH_NAMES = ("equivalence.graph", "hw.module")
"""Operations of xDSL, beside these classes, whose regions are graphs."""


def has_order(region: Region) -> bool:
    """Whether the operations of a region run one after the other; in a graph region they do not. Unknown operations may have such."""
    parent = region.parent
    return not isinstance(parent, _GRAPHS) and (parent is None or parent.name not in _GRAPH_NAMES)


def dominator_tree(region: Region) -> dict[Block, Block | None]:
    """The immediate dominator of every block that control can reach, None for the entry, in an order that has dominators first."""
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
    above = [0] + [-1] * (len(order) - 1)
    changed = True
    while changed:
        changed = False
        for number in range(1, len(order)):
            found = -1
            for other in predecessors[number]:
                if above[other] >= 0:
                    found = other if found < 0 else _common(above, found, other)
            if above[number] != found:
                above[number] = found
                changed = True
    return {block: order[above[number]] if number else None for number, block in enumerate(order)}


def _common(above: list[int], first: int, second: int) -> int:
    while first != second:
        if first > second:
            first = above[first]
        else:
            second = above[second]
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


def misused_operands(root: Operation) -> list[tuple[Operation, int, str]]:
    """The operands in `root` that are not defined where they are used: the user, the operand's number, and what is wrong."""
    checker = _Checker(root)
    for region in root.regions:
        checker.region(region)
    return checker.found


class _Checker:
    """Walks the operations in the order of dominance, with the values that may be used at each point."""

    def __init__(self, root: Operation):
        self.found: list[tuple[Operation, int, str]] = []
        self._root = root
        # By identity: that is what equality of values is, and numbers are quicker.
        self._usable = {id(value) for value in root.results}

    def region(self, region: Region) -> None:
        if not has_order(region):
            self._unordered(region, list(region.blocks))
        elif region.first_block is region.last_block:
            if (block := region.first_block) is not None:
                self._forget(self._block(block))
        else:
            self._blocks(region)

    def _blocks(self, region: Region) -> None:
        tree = dominator_tree(region)
        inside: dict[Block, list[Block]] = {block: [] for block in tree}
        for block, dominator in tree.items():
            if dominator is not None:
                inside[dominator].append(block)
        pending: list[Block | list[int]] = [next(iter(tree))]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                self._forget(item)
                continue
            pending.append(self._block(item))
            pending.extend(reversed(inside[item]))
        unreachable = [block for block in region.blocks if block not in tree]
        if unreachable:
            self._unordered(region, unreachable)

    def _unordered(self, region: Region, blocks: list[Block]) -> None:
        """Blocks in which every value of the region may be used."""
        defined = [id(value) for block in region.blocks for value in _values(block)]
        self._usable.update(defined)
        for block in blocks:
            for op in block.ops:
                self._operation(op)
        self._forget(defined)

    def _block(self, block: Block) -> list[int]:
        """Checks a block and leaves its values usable; returns them."""
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
    """Why a value may not be used by `user`."""
    owner = value.owner if isinstance(value, OpResult | BlockArgument) else None
    block = owner.parent if isinstance(owner, Operation) else owner
    if owner is None or block is None or not root.is_ancestor(block):
        return "is not defined within the module"
    if isinstance(owner, Operation) and block.find_ancestor_op_in_block(user) is not None:
        return f"is used before {owner.name} defines it"
    if block.parent is None or user.parent is None or block.parent.find_ancestor_block_in_region(user.parent) is None:
        return "is defined in a region that does not enclose the use"
    return "is defined in a block that does not dominate the use"
