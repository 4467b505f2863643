"""`propagate-layouts`: moves changes of memory layout to where the fewest remain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from flambeau.dialects.aten.movement.permute import PermuteOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import dim_order, equal_memory, is_row_major, with_dim_order
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.targets.interface import Target, TargetName, find_target

_HEADS_AND_POSITIONS = (0, 2, 1, 3)
"""The permutation of [batch, heads, positions, features] that swaps heads and positions."""
_OTHER_LAYOUTS = "stays row-major: its operands come in different layouts"


def _moved(value: SSAValue) -> SSAValue | None:
    """Returns the source of a row-major copy that changes only the layout; None for any other value."""
    owner = value.owner
    if not isinstance(owner, ToDimOrderCopyOp) or not is_row_major(value) or element_of(owner.operands[0]) != element_of(value):
        return None
    return owner.operands[0]


def _name_as(new: Operation, op: Operation) -> None:
    """Moves the names of the results of `op` to those of `new`, which are the same numbers, so that the copies behind them have none."""
    for result, before in zip(new.results, op.results, strict=True):
        result.name_hint, before.name_hint = before.name_hint, None


def _insert_copy(value: SSAValue, order: tuple[int, ...], op: Operation, rewriter: PatternRewriter) -> SSAValue:
    copy = ToDimOrderCopyOp(value, dim_order=order)
    copy.location = op.location
    return rewriter.insert(copy, InsertPoint.before(op)).result


class CancelPattern(Pattern):
    """A change of layout that ends where it began, or that moves nothing."""

    roots = (ToDimOrderCopyOp,)
    counter = "layout changes cancelled"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by the value that it copies if the layouts agree, and two copies in a row by one copy or none."""
        assert isinstance(op, ToDimOrderCopyOp)
        source = op.operands[0]
        if source.type == op.result.type:
            rewriter.replace(op, [], [source])
            return
        inner = source.owner
        if not isinstance(inner, ToDimOrderCopyOp) or element_of(inner.operands[0]) != element_of(source):
            return
        origin = inner.operands[0]
        if origin.type == op.result.type:
            rewriter.replace(op, [], [origin])
        else:
            new = op.rebuilt([origin], result_types=op.result_types)
            rewriter.replace(op, new)


def _not_taken(target: Target, order: tuple[int, ...]) -> str:
    return f"stays row-major: kernels of the target {target.name!r} do not take tensors in the dim order {list(order)}"


@dataclass(frozen=True)
class ElementwisePattern(Pattern):
    """Elementwise operators and `cat` work in the layout of their operands: the copy to row-major moves behind the operator."""

    target: Target
    roots = (SchemaOp,)
    counter = "layout changes moved"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when its full-size operands all come from the same layout."""
        assert isinstance(op, SchemaOp)
        joins = op.joins == "along"
        if not (op.elementwise or joins) or op.level() not in ("edge", "fused") or len(op.results) != 1 or not is_row_major(op.result):
            return
        if all(_moved(operand) is None for operand in op.operands):
            return
        shape = shape_of(op.result)
        origins: list[SSAValue] = []
        order: tuple[int, ...] | None = None
        for operand in op.operands:
            origin = _moved(operand)
            # A tensor with at most one dimension larger than 1 is the same in every layout.
            if not joins and shape_of(operand) != shape and sum(extent != 1 for extent in shape_of(operand)) <= 1:
                origins.append(operand)
                continue
            if origin is None:
                return decline(_OTHER_LAYOUTS)
            if (shape_of(origin) != shape and not joins) or (order is not None and dim_order(origin) != order):
                return decline(_OTHER_LAYOUTS)
            order = dim_order(origin)
            origins.append(origin)
        assert order is not None
        if not self.target.takes(order):
            return decline(_not_taken(self.target, order))
        new = op.rebuilt(origins, result_types=[with_dim_order(op.result, order)])
        _name_as(new, op)
        rewriter.insert(new, InsertPoint.before(op))
        rewriter.replace(op, [], [_insert_copy(new.result, tuple(range(len(shape))), op, rewriter)])


@dataclass(frozen=True)
class FirstOperandPattern(Pattern):
    """Pools read images in another layout and write their results in that layout; reductions only read images in another layout."""

    target: Target
    roots = (SchemaOp,)
    counter = "layout changes moved"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when its operand is a copy of an image in another layout."""
        assert isinstance(op, SchemaOp)
        if op.dim_order is None or op.level() != "edge":
            return
        origin = _moved(op.operands[0])
        if origin is None:
            return
        order = dim_order(origin)
        if not self.target.takes(order):
            return decline(_not_taken(self.target, order))
        if op.dim_order == "read":
            if not all(is_row_major(result) for result in op.results):
                return
            new = op.rebuilt([origin, *op.operands[1:]], result_types=op.result_types)
            rewriter.replace(op, new)
            return
        types = [with_dim_order(result, order) for result in op.results]
        new = op.rebuilt([origin, *op.operands[1:]], result_types=types)
        _name_as(new, op)
        rewriter.insert(new, InsertPoint.before(op))
        contiguous = tuple(range(len(order)))
        rewriter.replace(op, [], [_insert_copy(result, contiguous, op, rewriter) for result in new.results])


@dataclass(frozen=True)
class PermutePattern(Pattern):
    """A permutation whose users accept any layout becomes a change of the type alone: no byte moves."""

    target: Target
    roots = (PermuteOp.at("edge"),)
    counter = "permutations made free"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Gives the result the layout in which the bytes stay where they are."""
        assert isinstance(op, PermuteOp)
        if not is_row_major(op.result) or not is_row_major(op.operands[0]):
            return
        dims: tuple[int, ...] = op.argument("dims")
        rank = len(dims)
        positions = [d % rank for d in dims]
        order = tuple(positions.index(d) for d in range(rank))
        if order == tuple(range(rank)) or order[-1] != rank - 1:
            return
        users = [(use.operation, use.index) for use in op.result.uses]
        if not users or not all(isinstance(user, SchemaOp) and index in user.any_order for user, index in users):
            return
        if not self.target.takes(order):
            return decline(_not_taken(self.target, order))
        kind = with_dim_order(op.result, order)
        new = op.rebuilt(result_types=[kind])
        rewriter.replace(op, new)


@dataclass(frozen=True)
class AttentionResultPattern(Pattern):
    """Attention writes its result in the layout in which the permutation after it moves nothing."""

    target: Target
    roots = (SchemaOp,)
    counter = "permutations made free"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when its only user swaps heads and positions."""
        assert isinstance(op, SchemaOp)
        if not op.any_order or not is_row_major(op.result):
            return
        users = [use.operation for use in op.result.uses]
        if len(users) != 1 or not isinstance(users[0], PermuteOp) or tuple(users[0].argument("dims")) != _HEADS_AND_POSITIONS:
            return
        if not self.target.takes(_HEADS_AND_POSITIONS):
            return decline(_not_taken(self.target, _HEADS_AND_POSITIONS))
        kind = with_dim_order(op.result, _HEADS_AND_POSITIONS)
        new = op.rebuilt(result_types=[kind])
        rewriter.replace(op, new)


class DropCopyPattern(Pattern):
    """A copy between layouts that put every element at the same place (possible with dimensions of size 1), before a view."""

    roots = (ViewOp.at("edge"),)
    counter = "layout changes cancelled"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Lets a view read the original bytes."""
        assert isinstance(op, ViewOp)
        origin = _moved(op.operands[0])
        if origin is not None and equal_memory(origin, op.operands[0]):
            new = op.rebuilt([origin], result_types=op.result_types)
            rewriter.replace(op, new)


@dataclass(frozen=True)
class PropagateLayoutsPass(PatternPass):
    """Moves copies between layouts along the data flow until they cancel or cannot move on.

    Needs: `edge` and `fused` operators. Leaves: elementwise operators and pools in the layout that their operands have, and attention
    reading and writing heads in place, where the kernels of the target take such layouts.
    """

    name = "propagate-layouts"
    works_on = ("edge", "fused")
    target: TargetName = "flambeau"
    """The target whose kernels must accept the layouts."""

    def patterns(self) -> Sequence[Pattern]:
        """Returns the patterns that move copies, and the patterns that make copies unnecessary."""
        target = find_target(self.target)
        return [
            CancelPattern(),
            ElementwisePattern(target),
            FirstOperandPattern(target),
            PermutePattern(target),
            AttentionResultPattern(target),
            DropCopyPattern(),
        ]
