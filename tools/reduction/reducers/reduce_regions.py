"""Reducers of regions and blocks: inlining of bodies, and straight-line control flow."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import SymbolOpInterface

from flambeau.tools.reduction.edits import erase_all, is_terminator, replace_results, value_of_type
from flambeau.tools.reduction.function_signature import Signature, free_functions
from flambeau.tools.reduction.reducer import NotApplicableError, Reducer


class InlineRegionsReducer(Reducer[tuple[Operation, int]]):
    """A reducer that replaces an operation by its body."""

    name = "regions"

    def targets(self, module: ModuleOp) -> Sequence[tuple[Operation, int]]:
        """Returns the regions of one block, except those of functions and modules."""
        return [
            (op, index)
            for op in module.walk()
            if op.parent is not None and not isinstance(op, ModuleOp) and not op.has_trait(SymbolOpInterface)
            for index, region in enumerate(op.regions)
            if region.blocks and region.first_block is region.last_block
        ]

    def apply(self, module: ModuleOp, targets: Sequence[tuple[Operation, int]]) -> None:
        """Moves the operations of the first chosen region of each operation out of it; its other regions are lost."""
        signatures = {function: Signature.of(function) for function in free_functions(module)}
        done: set[Operation] = set()
        for op, index in targets:
            if op not in done and op.parent is not None:
                done.add(op)
                _inline(op, op.regions[index].block, signatures)
        for signature in signatures.values():
            signature.write()


def _inline(op: Operation, block: Block, signatures: dict[FuncOp, Signature]) -> None:
    for argument in block.args:
        if argument.uses:
            argument.replace_all_uses_with(_stand_in(op, argument, signatures))
    last = block.last_op
    given: tuple[SSAValue, ...] = ()
    if last is not None and is_terminator(last):
        given = tuple(last.operands)
    around = op.parent
    assert around is not None
    for inner in list(block.ops):
        if inner is not last or not is_terminator(inner):
            inner.detach()
            around.insert_op_before(inner, op)
    values: list[SSAValue] = []
    for index, result in enumerate(op.results):
        same = [value for value in given if value.type == result.type]
        value = given[index] if index < len(given) and given[index] in same else (same or [value_of_type(op, result.type)])[0]
        if value is None and result.uses:
            raise NotApplicableError("a result has no value to take its place")
        values.append(result if value is None else value)
    replace_results(op, values)


def _stand_in(op: Operation, argument: BlockArgument, signatures: dict[FuncOp, Signature]) -> SSAValue:
    value = value_of_type(op, argument.type)
    if value is not None:
        return value
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    signature = signatures.get(around) if around is not None else None
    if signature is None:
        raise NotApplicableError("a block argument has no value to take its place")
    return signature.add_argument(argument.type, argument.name_hint)


class BranchesReducer(Reducer[tuple[Operation, int]]):
    """A reducer that makes conditional branches unconditional, and joins the blocks that follow each other."""

    name = "branches"

    def targets(self, module: ModuleOp) -> Sequence[tuple[Operation, int]]:
        """Returns both ways of each conditional branch, and each branch to a block with no other predecessor."""
        found: list[tuple[Operation, int]] = []
        for op in module.walk():
            if isinstance(op, ConditionalBranchOp):
                found += [(op, 0), (op, 1)]
            elif isinstance(op, BranchOp) and len(op.successor.predecessors()) == 1 and op.successor is not op.parent:
                found.append((op, 0))
        return found

    def apply(self, module: ModuleOp, targets: Sequence[tuple[Operation, int]]) -> None:
        """Changes the branches, and erases unreachable blocks."""
        for op, way in targets:
            block = op.parent
            if block is None:
                continue
            if isinstance(op, ConditionalBranchOp):
                successor, operands = (op.else_block, op.else_arguments) if way else (op.then_block, op.then_arguments)
                branch = BranchOp(successor, *operands)
                branch.location = op.location
                block.insert_op_after(branch, op)
                erase_all([op])
            elif isinstance(op, BranchOp) and len(op.successor.predecessors()) == 1:
                _join(block, op)
        for op in list(module.walk()):
            for region in op.regions:
                _erase_unreachable(region)


def _join(block: Block, branch: BranchOp) -> None:
    following = branch.successor
    for argument, value in zip(following.args, branch.arguments, strict=True):
        argument.replace_all_uses_with(value)
    erase_all([branch])
    for op in list(following.ops):
        op.detach()
        block.add_op(op)
    region = following.parent
    assert region is not None
    region.detach_block(following)
    following.erase()


def _erase_unreachable(region: Region) -> None:
    if region.first_block is None or region.first_block is region.last_block:
        return
    reached = {region.first_block}
    waiting = [region.first_block]
    while waiting:
        last = waiting.pop().last_op
        for successor in () if last is None else last.successors:
            if successor not in reached:
                reached.add(successor)
                waiting.append(successor)
    gone = [block for block in region.blocks if block not in reached]
    for block in gone:
        region.detach_block(block)
    for block in gone:
        block.drop_all_references()
    for block in gone:
        block.erase(safe_erase=False)
