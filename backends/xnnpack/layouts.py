"""Moves the transposes around each node to the border of a partition; transposes that meet cancel.

Limits move into the node before them, and reshapes behind elementwise functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

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
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import same_shape, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pattern_functions import rewrites


def move_layouts(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Rewrites a partition of `xnnpack` operators in place."""
    moves = Transposes(StaticTransposeNodeOp, "perm", reshaped, _is_elementwise, constants)

    @rewrites(DequantizeNodeOp, counter="transposes moved")
    def past_quantized(op: DequantizeNodeOp) -> SSAValue | None:
        """Replaces dequantize(quantize(transpose(x))) by transpose(dequantize(quantize(x)))."""
        quantize = op.operands[0].owner
        if not isinstance(quantize, QuantizeNodeOp) or (order := moves.order(quantize.operands[0])) is None:
            return None
        integers = quantize.rebuilt([moves.before(quantize.operands[0])]).result
        return moves.transposed(op.rebuilt([integers]).result, order)

    moving = [
        moves.past_elements(BinaryNodeOp),
        moves.join(),
        moves.join_reshapes(StaticReshapeNodeOp),
        moves.past_elements(UnaryNodeOp),
        past_quantized,
        _after_elements,
        moves.past_axis(ConcatenationNodeOp),
        moves.past(StaticConstantPadNodeOp, "pre_paddings", "post_paddings"),
        moves.past(StaticSliceNodeOp, "offsets", "sizes"),
        limit_result,
    ]
    PatternDriver(moving).run(partition)
    PatternDriver([moves.as_reshape(), *moving]).run(partition)


def _is_elementwise(op: SchemaOp) -> bool:
    return isinstance(op, BinaryNodeOp) or (isinstance(op, UnaryNodeOp) and op.elementwise)


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns a value reshaped to `shape`, or the value itself if it has that shape. At most one extent of `shape` may be unknown."""
    if same_shape(shape, shape_of(value)):
        return value
    return StaticReshapeNodeOp(tuple(extent if is_known(extent) else 0 for extent in shape), value).result


@rewrites(NodeOp, counter="reshapes moved")
def _after_elements(op: NodeOp) -> SSAValue | None:
    """Replaces f(reshape(x), reshape(y), …) by reshape(f(x, y, …)), where f is an elementwise function and x, y, … have one shape."""
    if not _is_elementwise(op):
        return None
    if not all(isinstance(value.owner, StaticReshapeNodeOp) and same_shape(shape_of(value), shape_of(op.result)) for value in op.operands):
        return None
    before = [cast(StaticReshapeNodeOp, value.owner).operands[0] for value in op.operands]
    if not all(same_shape(shape_of(value), shape_of(before[0])) for value in before):
        return None
    return reshaped(op.rebuilt(before).result, shape_of(op.result))


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
