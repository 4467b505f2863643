"""`lower-scf`: converts `scf.if`, `scf.while` and `scf.for` to blocks and branches of `cf`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from flambeau.dialects.ir.extents import exceeds
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.passes.storage.entries import number_of


def _end(block: Block, branch: Operation, *before: Operation, place: Operation) -> None:
    """Appends `before` and a branch to a block, in place of its terminator of `scf`."""
    last = block.last_op
    if isinstance(last, scf.YieldOp | scf.ConditionOp):
        Rewriter.erase_op(last)
    for op in (*before, branch):
        op.location = place.location
        block.add_op(op)


def _yielded(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None, "the verifier asks for a terminator"
    return tuple(block.last_op.operands)


def _replace(values: Sequence[SSAValue], by: Sequence[SSAValue]) -> None:
    for value, new in zip(values, by, strict=True):
        replace_uses(value, new)


def _merge_arguments(block: Block, by: Sequence[SSAValue]) -> None:
    """Replaces the arguments of a block by values that dominate it."""
    _replace(block.args, by)
    for argument in tuple(block.args):
        block.erase_arg(argument)


def _add_arguments(rest: Block, results: Sequence[OpResult]) -> None:
    """Makes the results of an operation arguments of the block after it."""
    for result in results:
        argument = rest.insert_arg(result.type, len(rest.args))
        argument.location = result.op.location
        replace_uses(result, argument)


def _lower_if(op: scf.IfOp, block: Block, rest: Block) -> list[Block]:
    _add_arguments(rest, op.results)
    starts: list[Block] = []
    for region in (op.true_region, op.false_region):
        body = region.first_block
        if body is None or (not op.results and len(body.ops) == 1):
            starts.append(rest)
            continue
        starts.append(body)
        _end(body, cf.BranchOp(rest, *_yielded(body)), place=op)
        region.move_blocks_before(rest)
    _end(block, cf.ConditionalBranchOp(op.cond, starts[0], (), starts[1], ()), place=op)
    return [start for start in starts if start is not rest]


def _lower_while(op: scf.WhileOp, block: Block, rest: Block) -> list[Block]:
    before, after = op.before_region.block, op.after_region.block
    condition, *forwarded = _yielded(before)
    _end(block, cf.BranchOp(before, *op.arguments), place=op)
    _merge_arguments(after, forwarded)
    _replace(op.results, forwarded)
    _end(before, cf.ConditionalBranchOp(condition, after, (), rest, ()), place=op)
    _end(after, cf.BranchOp(before, *_yielded(after)), place=op)
    op.before_region.move_blocks_before(rest)
    op.after_region.move_blocks_before(rest)
    return [before, after]


def _lower_for(op: scf.ForOp, block: Block, rest: Block) -> list[Block]:
    body = op.body.block
    low, high = number_of(op.lb), number_of(op.ub)
    if low is not None and high is not None and exceeds(low + 1, high):
        _replace(op.results, op.iter_args)
        _end(block, cf.BranchOp(rest), place=op)
        return []
    _add_arguments(rest, op.results)
    if low is not None and high is not None and exceeds(high, low):
        _end(block, cf.BranchOp(body, op.lb, *op.iter_args), place=op)
    else:
        has_rounds = arith.CmpiOp(op.lb, op.ub, "slt")
        start = cf.ConditionalBranchOp(has_rounds.result, body, (op.lb, *op.iter_args), rest, op.iter_args)
        _end(block, start, has_rounds, place=op)
    carried = _yielded(body)
    following = arith.AddiOp(body.args[0], op.step)
    is_last = arith.CmpiOp(following.result, op.ub, "sge")
    again = cf.ConditionalBranchOp(is_last.result, rest, carried, body, (following.result, *carried))
    _end(body, again, following, is_last, place=op)
    op.body.move_blocks_before(rest)
    return [body]


def lower_scf(function: FuncOp) -> int:
    """Lowers the control flow of a function, from the outside in, in place. Returns the number of operations lowered."""
    found = 0
    pending = list(reversed(function.body.blocks))
    while pending:
        block = pending.pop()
        op = next((op for op in block.ops if isinstance(op, scf.IfOp | scf.WhileOp | scf.ForOp)), None)
        if op is None:
            continue
        found += 1
        rest = block.split_before(op)
        match op:
            case scf.IfOp():
                inner = _lower_if(op, block, rest)
            case scf.WhileOp():
                inner = _lower_while(op, block, rest)
            case scf.ForOp():
                inner = _lower_for(op, block, rest)
        Rewriter.erase_op(op)
        pending += [rest, *inner]
    return found


@dataclass(frozen=True)
class LowerScfPass(ModulePass):
    """Lowers structured control flow in functions to branches between blocks.

    Needs: `scf.if`, `scf.while` and `scf.for` in blocks of functions, in each other at any depth. Leaves: a block for each of their
    regions, in the order of the text, and one after each, whose arguments are the results of a branch or of a loop with a counter. Such a
    loop tests at its end, and before it begins unless it is sure to have a round. Other operations of `scf`, and what is in other
    operations with regions, stay.
    """

    name = "lower-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites functions in place."""
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and any(isinstance(item, scf.IfOp | scf.WhileOp | scf.ForOp) for item in function.walk()):
                if may_rewrite(self.name, function):
                    count("operations lowered", lower_scf(function))
