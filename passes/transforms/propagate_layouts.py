"""`propagate-layouts`: moves changes of memory layout to where the fewest remain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.aten.movement.permute import PermuteOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import dim_order, equal_memory, is_row_major, with_dim_order
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target, TargetName, find_target

_HEADS_AND_POSITIONS = (0, 2, 1, 3)
"""The permutation of [batch, heads, positions, features] that swaps heads and positions."""


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


def _behind(op: SchemaOp, operands: Sequence[SSAValue], order: tuple[int, ...]) -> list[SSAValue]:
    """Returns the results of `op` as row-major copies of those that it computes in another layout."""
    new = op.rebuilt(operands, result_types=[with_dim_order(result, order) for result in op.results])
    _name_as(new, op)
    return [ToDimOrderCopyOp(result, dim_order=tuple(range(len(order)))).result for result in new.results]


@rewrites(ToDimOrderCopyOp, counter="layout changes cancelled")
def _cancel(op: ToDimOrderCopyOp) -> SSAValue | None:
    """Drops a change of layout that moves nothing, and makes of two in a row one, or none where they end where they began."""
    source = op.operands[0]
    if source.type == op.result.type:
        return source
    inner = source.owner
    if not isinstance(inner, ToDimOrderCopyOp) or element_of(inner.operands[0]) != element_of(source):
        return None
    origin = inner.operands[0]
    return origin if origin.type == op.result.type else op.rebuilt([origin], result_types=op.result_types).result


@rewrites(ViewOp.at("edge"), counter="layout changes cancelled")
def _drop_copy(op: SchemaOp) -> SSAValue | None:
    """Lets a view read the bytes before a copy that puts every element at the same place, as is possible with dimensions of size 1."""
    origin = _moved(op.operands[0])
    is_same = origin is not None and equal_memory(origin, op.operands[0])
    return op.rebuilt([origin], result_types=op.result_types).result if origin is not None and is_same else None


@dataclass(frozen=True)
class _Moves:
    """The rewrites that need kernels of a target."""

    target: Target

    def _takes(self, order: tuple[int, ...]) -> bool:
        """Returns whether kernels take tensors in a dim order; declines if not."""
        why = f"stays row-major: kernels of the target {self.target.name!r} do not take tensors in the dim order {list(order)}"
        return self.target.takes(order) or bool(decline(why))

    def elementwise(self, op: SchemaOp) -> list[SSAValue] | None:
        """Computes elementwise operators and `cat` in the layout of their operands: the copy to row-major moves behind the operator."""
        joins = op.joins == "along"
        if not (op.elementwise or joins) or op.level() not in ("edge", "fused") or len(op.results) != 1 or not is_row_major(op.result):
            return None
        if all(_moved(operand) is None for operand in op.operands):
            return None
        shape = shape_of(op.result)
        origins: list[SSAValue] = []
        order: tuple[int, ...] | None = None
        for operand in op.operands:
            origin = _moved(operand)
            # A tensor with at most one dimension larger than 1 is the same in every layout.
            if not joins and shape_of(operand) != shape and sum(extent != 1 for extent in shape_of(operand)) <= 1:
                origins.append(operand)
                continue
            if origin is None or (shape_of(origin) != shape and not joins) or (order is not None and dim_order(origin) != order):
                return decline("stays row-major: its operands come in different layouts")
            order = dim_order(origin)
            origins.append(origin)
        assert order is not None
        return _behind(op, origins, order) if self._takes(order) else None

    def first_operand(self, op: SchemaOp) -> list[SSAValue] | SchemaOp | None:
        """Lets pools read images in another layout and write their results in it; reductions only read them."""
        origin = None if op.dim_order is None or op.level() not in ("edge", "fused") else _moved(op.operands[0])
        if origin is None or not self._takes(dim_order(origin)):
            return None
        operands = [origin, *op.operands[1:]]
        if op.dim_order != "read":
            return _behind(op, operands, dim_order(origin))
        return op.rebuilt(operands, result_types=op.result_types) if all(map(is_row_major, op.results)) else None

    def permute(self, op: SchemaOp) -> SchemaOp | None:
        """Makes a permutation whose users accept any layout a change of the type alone: no byte moves."""
        if not is_row_major(op.result) or not is_row_major(op.operands[0]):
            return None
        dims: tuple[int, ...] = op.argument("dims")
        rank = len(dims)
        positions = [d % rank for d in dims]
        order = tuple(positions.index(d) for d in range(rank))
        if order == tuple(range(rank)) or order[-1] != rank - 1:
            return None
        users = [(use.operation, use.index) for use in op.result.uses]
        if not users or not all(isinstance(user, SchemaOp) and index in user.any_order for user, index in users):
            return None
        return op.rebuilt(result_types=[with_dim_order(op.result, order)]) if self._takes(order) else None

    def attention_result(self, op: SchemaOp) -> SchemaOp | None:
        """Lets attention write its result in the layout in which the permutation after it, its only user, moves nothing."""
        if not op.any_order or not is_row_major(op.result):
            return None
        users = [use.operation for use in op.result.uses]
        if len(users) != 1 or not isinstance(users[0], PermuteOp) or tuple(users[0].argument("dims")) != _HEADS_AND_POSITIONS:
            return None
        kind = with_dim_order(op.result, _HEADS_AND_POSITIONS)
        return op.rebuilt(result_types=[kind]) if self._takes(_HEADS_AND_POSITIONS) else None


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
        moves = _Moves(find_target(self.target))
        return [
            _cancel,
            rewrites(SchemaOp, counter="layout changes moved")(moves.elementwise),
            rewrites(SchemaOp, counter="layout changes moved")(moves.first_operand),
            rewrites(PermuteOp.at("edge"), counter="permutations made free")(moves.permute),
            rewrites(SchemaOp, counter="permutations made free")(moves.attention_result),
            _drop_copy,
        ]
