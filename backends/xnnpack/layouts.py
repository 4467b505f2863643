"""Moves the transposes around each node to the border of a partition; transposes that meet cancel.

Transposes move from operands to results: past elementwise functions, and past nodes whose dimensions can be renamed. Limits move into the
node before them. A remaining transpose that changes no element's place in memory becomes a reshape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.backends.xnnpack.dialect.elementwise import ClampNodeOp
from flambeau.backends.xnnpack.dialect.movement import (
    ConcatenationNodeOp,
    StaticConstantPadNodeOp,
    StaticReshapeNodeOp,
    StaticSliceNodeOp,
    StaticTransposeNodeOp,
)
from flambeau.backends.xnnpack.dialect.nodes import BinaryNodeOp, NodeOp, UnaryNodeOp
from flambeau.backends.xnnpack.dialect.quantization import DequantizeNodeOp, QuantizeNodeOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import element_of, same_shape, shape_of, tensor
from flambeau.passes.delegation.checks import open_extents
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.rewriting.pattern_functions import rewrites

Order = tuple[int, ...]


def move_layouts(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Rewrites a partition of `xnnpack` operators in place."""
    moving = [PastBinaryPattern(constants), *_MOVING]
    PatternDriver(moving).run(partition)
    PatternDriver([_as_reshape, *moving]).run(partition)


def _order(value: SSAValue) -> Order | None:
    """Returns the order of the transpose that computes a value; None if no transpose does."""
    return value.owner.argument("perm") if isinstance(value.owner, StaticTransposeNodeOp) else None


def _before(value: SSAValue) -> SSAValue:
    """Returns the operand of the transpose that computes a value."""
    assert isinstance(value.owner, StaticTransposeNodeOp)
    return value.owner.operands[0]


def _inverse(order: Order) -> Order:
    return tuple(order.index(dim) for dim in range(len(order)))


def _transposed(value: SSAValue, order: Order) -> SSAValue:
    return StaticTransposeNodeOp(order, value).result


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns a value reshaped to `shape`, or the value itself if it has that shape. At most one extent of `shape` may be unknown."""
    if same_shape(shape, shape_of(value)):
        return value
    return StaticReshapeNodeOp(tuple(extent if is_known(extent) else 0 for extent in shape), value).result


@rewrites(StaticTransposeNodeOp, counter="transposes cancelled")
def _join_transposes(op: StaticTransposeNodeOp) -> SSAValue | None:
    """Joins transpose(transpose(x)) to one transpose, and drops a transpose that keeps the order."""
    order: Order = op.argument("perm")
    first = _order(op.operands[0])
    if order == tuple(range(len(order))):
        return op.operands[0]
    return None if first is None else _transposed(_before(op.operands[0]), tuple(first[dim] for dim in order))


@rewrites(UnaryNodeOp, counter="transposes moved")
def _past_unary(op: UnaryNodeOp) -> SSAValue | None:
    """Replaces f(transpose(x)) by transpose(f(x)), where f is an elementwise function."""
    order = _order(op.operands[0])
    return None if order is None or not op.elementwise else _transposed(op.rebuilt([_before(op.operands[0])]).result, order)


@rewrites(NodeOp, counter="reshapes moved")
def _after_elements(op: NodeOp) -> SSAValue | None:
    """Replaces f(reshape(x), reshape(y), …) by reshape(f(x, y, …)), where f is an elementwise function and x, y, … have one shape."""
    if not isinstance(op, UnaryNodeOp | BinaryNodeOp) or (isinstance(op, UnaryNodeOp) and not op.elementwise):
        return None
    if not all(isinstance(value.owner, StaticReshapeNodeOp) and same_shape(shape_of(value), shape_of(op.result)) for value in op.operands):
        return None
    before = [cast(StaticReshapeNodeOp, value.owner).operands[0] for value in op.operands]
    if not all(same_shape(shape_of(value), shape_of(before[0])) for value in before):
        return None
    return reshaped(op.rebuilt(before).result, shape_of(op.result))


@rewrites(DequantizeNodeOp, counter="transposes moved")
def _past_quantized(op: DequantizeNodeOp) -> SSAValue | None:
    """Replaces dequantize(quantize(transpose(x))) by transpose(dequantize(quantize(x)))."""
    quantize = op.operands[0].owner
    if not isinstance(quantize, QuantizeNodeOp) or (order := _order(quantize.operands[0])) is None:
        return None
    integers = quantize.rebuilt([_before(quantize.operands[0])]).result
    return _transposed(op.rebuilt([integers]).result, order)


class PastBinaryPattern(Pattern):
    """Replaces f(transpose(x), transpose(y)) by transpose(f(x, y)), where either operand may be a constant instead."""

    roots = (BinaryNodeOp,)
    counter = "transposes moved"

    def __init__(self, constants: ModuleConstants):
        self.constants = constants

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` if one operand is a transpose, and the other is a transpose of the same order or a constant."""
        assert isinstance(op, BinaryNodeOp)
        order = next((found for value in op.operands if (found := _order(value)) is not None), None)
        if order is None or len(order) != len(shape_of(op.result)):
            return
        operands = [self._in_order(value, order) for value in op.operands]
        if (a := operands[0]) is not None and (b := operands[1]) is not None:
            replace_with_values(op, [_transposed(op.rebuilt([a, b]).result, order)], rewriter)

    def _in_order(self, value: SSAValue, order: Order) -> SSAValue | None:
        """Returns the value that transposed to `order` is `value`: a transpose's operand, or a new constant; None if there is neither."""
        if _order(value) == order:
            return _before(value)
        array = self.constants.array(value)
        if array is None:
            return None
        moved = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(_inverse(order))
        return self.constants.add(f"{self.constants.name(value)}.xnnpack", moved, tensor(element_of(value), moved.shape)).result


@rewrites(ConcatenationNodeOp, counter="transposes moved")
def _past_concatenation(op: ConcatenationNodeOp) -> SSAValue | None:
    """Replaces concatenate(transpose(x), transpose(y), …) by transpose(concatenate(x, y, …)), if the orders are equal."""
    order = _order(op.operands[0])
    if order is None or any(_order(value) != order for value in op.operands):
        return None
    axis: int = op.argument("axis")
    return _transposed(op.rebuilt([_before(value) for value in op.operands], axis=order[axis]).result, order)


def _past(kind: type[NodeOp], *lists: str) -> Pattern:
    """Returns a pattern that replaces node(transpose(x)) by transpose(node(x)), with the arguments `lists` in x's order of dimensions."""

    def rewrite(op: NodeOp) -> SSAValue | None:
        order = _order(op.operands[0])
        if order is None:
            return None
        renamed: dict[str, Any] = {name: tuple(op.argument(name)[dim] for dim in _inverse(order)) for name in lists}
        return _transposed(op.rebuilt([_before(op.operands[0])], **renamed).result, order)

    rewrite.__name__ = f"_past_{kind.schema.base}"
    return rewrites(kind, counter="transposes moved")(rewrite)


def _narrower(value: float | None, least: float | None, most: float | None) -> float | None:
    """Returns a limit of a node after its result is limited again to [least, most]; None for no limit."""
    if value is None:
        return None
    value = value if least is None else max(value, least)
    return value if most is None else min(value, most)


@rewrites(ClampNodeOp, counter="limits fused")
def limit_result(op: ClampNodeOp) -> SSAValue | None:
    """Replaces clamp(node) by the node with narrower limits, if the node has limits and nothing else reads its result."""
    node, least, most = op.operands[0].owner, op.argument("output_min"), op.argument("output_max")
    if not isinstance(node, NodeOp) or "output_min" not in node.schema.attributes or not node.result.has_one_use():
        return None
    low, high = (_narrower(node.argument(name), least, most) for name in ("output_min", "output_max"))
    return node.rebuilt(node.operands, output_min=least if low is None else low, output_max=most if high is None else high).result


@rewrites(StaticReshapeNodeOp)
def _join_reshapes(op: StaticReshapeNodeOp) -> SSAValue | None:
    """Joins reshape(reshape(x)) to one reshape, and drops a reshape to the same shape."""
    x = op.operands[0]
    if isinstance(x.owner, StaticReshapeNodeOp):
        return reshaped(x.owner.operands[0], shape_of(op.result))
    return x if same_shape(shape_of(x), shape_of(op.result)) else None


_MOVING = (
    _join_transposes,
    _join_reshapes,
    _past_unary,
    _past_quantized,
    _after_elements,
    _past_concatenation,
    _past(StaticConstantPadNodeOp, "pre_paddings", "post_paddings"),
    _past(StaticSliceNodeOp, "offsets", "sizes"),
    limit_result,
)


@rewrites(StaticTransposeNodeOp, counter="transposes that are reshapes")
def _as_reshape(op: StaticTransposeNodeOp) -> SSAValue | None:
    """Replaces a transpose that moves only dimensions of one entry by a reshape."""
    shape = shape_of(op.operands[0])
    order: Order = op.argument("perm")
    moved = [dim for dim in order if not provably_equal(shape[dim], 1)]
    is_reshape = moved == sorted(moved) and open_extents(shape) <= 1
    return reshaped(op.operands[0], shape_of(op.result)) if is_reshape else None
