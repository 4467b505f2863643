"""Finds the nodes that XNNPACK computes in integers: those between `dequantize` and `quantize` that have an integer form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Block, Operation, SSAValue

from flambeau.backends.xnnpack.dialect import elementwise as e
from flambeau.backends.xnnpack.dialect import movement, pooling, products
from flambeau.backends.xnnpack.dialect.nodes import NodeOp
from flambeau.backends.xnnpack.dialect.quantization import LEAST, MOST, DequantizeChannelsNodeOp, DequantizeNodeOp, QuantizeNodeOp
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.passes.analysis.quantized_types import Quantized, QuantizedType
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

_INT32 = 2**31 - 1
Dequantized: TypeAlias = Mapping[SSAValue, Quantized]
"""The integers of values of floats."""


@dataclass(frozen=True)
class IntegerNode:
    """A node whose operands and result are integers.

    Attributes:
        operands: the integers of the operands, without the bias of a layer.
        result: the operation that quantizes the node's result.
        bias: the bias of a layer, if it has one.
    """

    operands: tuple[Quantized, ...]
    result: QuantizeNodeOp
    bias: Bias | None = None


@dataclass(frozen=True)
class Bias:
    """The bias of a layer as integers, which are added to the integer sums."""

    integers: Array = field(repr=False)
    scales: Array = field(repr=False)
    """The scale of the integers: one number without dimensions, or one number for each output."""


def dequantized_in(block: Block, constants: ModuleConstants) -> Dequantized:
    """Returns the integers from which values of a block are dequantized, unless their scales are no constant."""
    found: dict[SSAValue, Quantized] = {}
    for op in block.ops:
        if isinstance(op, DequantizeNodeOp):
            scale, zero_point, x = op.arguments()
            found[op.result] = Quantized(x, _type(x, (_single(scale),), (zero_point,)))
        elif isinstance(op, DequantizeChannelsNodeOp) and (numbers := constants.array(op.operands[1])) is not None:
            dim, x, _ = op.arguments()
            found[op.result] = Quantized(x, _type(x, tuple(map(float, numbers)), (0,) * len(numbers), dim))
    return found


def integer_nodes(block: Block, given: Dequantized, constants: ModuleConstants) -> Mapping[NodeOp, IntegerNode]:
    """Returns the nodes of a partition's block that are computed in integers."""
    found: dict[NodeOp, IntegerNode] = {}
    for op in block.ops:
        if isinstance(op, QuantizeNodeOp) and isinstance(node := op.operands[0].owner, NodeOp) and node.result.has_one_use():
            if (integer := _integer_node(node, op, given, constants)) is not None:
                found[node] = integer
    return found


def integer_weight(node: Operation, given: Dequantized, constants: ModuleConstants) -> SSAValue | None:
    """Returns the weight of a layer of floats that is read as integers with a scale for each output; None for other nodes."""
    if not isinstance(node, products.FullyConnectedNodeOp) or node.argument("flags") or element_of(node.result) != f32:
        return None
    x, weight = node.operands[:2]
    found = given.get(weight)
    fits = found is not None and found.type.axis == 0 and found.type.storage == i8 and constants.is_constant(found.value)
    return weight if fits and x is not weight else None


def stands_for(op: QuantizeNodeOp) -> QuantizedType:
    """Returns the quantized type of the result."""
    scale, zero_point, _ = op.arguments()
    return _type(op.result, (_single(scale),), (zero_point,))


def _type(value: SSAValue, scales: tuple[float, ...], zero_points: tuple[int, ...], axis: int | None = None) -> QuantizedType:
    return QuantizedType(element_of(value), LEAST, MOST, scales, zero_points, axis)


def _single(number: float) -> float:
    return float(np.float32(number))


def _integer_node(node: NodeOp, to: QuantizeNodeOp, dequantized: Dequantized, constants: ModuleConstants) -> IntegerNode | None:
    form = _mover if isinstance(node, movement.ConcatenationNodeOp) else _FORMS.get(type(node))
    if form is None or not _is_limited_to_some(node, stands_for(to)):
        return None
    is_layer = form is _layer
    given = [dequantized.get(value) for value in node.operands[: 2 if is_layer else None]]
    operands = tuple(item for item in given if item is not None and item.type.storage == i8)
    inputs = operands[:1] if is_layer else operands
    if len(operands) < len(given) or any(item.type.axis is not None for item in inputs):
        return None
    return form(node, operands, to, constants)


def _is_limited_to_some(node: NodeOp, to: QuantizedType) -> bool:
    """Returns whether at least two integers of the type `to` lie between the limits of a node; true without limits."""
    if "output_min" not in node.schema.attributes:
        return True
    least, most = node.argument("output_min"), node.argument("output_max")
    low = to.low if least is None or least == -inf else to.quantize(least)
    return low < (to.high if most is None or most == inf else to.quantize(most))


_Form = Callable[[NodeOp, tuple[Quantized, ...], QuantizeNodeOp, ModuleConstants], IntegerNode | None]


def _layer(node: NodeOp, operands: tuple[Quantized, ...], to: QuantizeNodeOp, constants: ModuleConstants) -> IntegerNode | None:
    """Returns the integer form of a convolution or product; None unless the weight is a constant with zero point 0 and the scales fit."""
    x, weight = operands
    channel_dim = 3 if isinstance(node, products.DepthwiseConv2dNodeOp) else 0
    if any(weight.type.zero_points) or weight.type.axis not in (None, channel_dim) or not constants.is_constant(weight.value):
        return None
    scales = np.array(weight.type.scales if weight.type.axis is not None else weight.type.scale, np.float32) * np.float32(x.type.scale)
    fits = (scales >= 2.0**-126) & (scales / stands_for(to).scale < _MOST_RATIO)
    if node.argument("flags") or not fits.all():
        return None
    if len(node.operands) < 3:
        return IntegerNode(operands, to)
    array = constants.array(node.operands[2])
    if array is None:
        return None
    integers = np.rint(array.astype(np.float64) / scales)
    return IntegerNode(operands, to, Bias(integers.astype(np.int32), scales)) if (np.abs(integers) <= _INT32).all() else None


def _ratios(least: float, ratios: Callable[[Sequence[float], float], Sequence[float]]) -> _Form:
    """Returns a form for nodes all of whose ratios of scales, from the operands' scales and the result's, are in [least, 256)."""

    def form(node: NodeOp, operands: tuple[Quantized, ...], to: QuantizeNodeOp, constants: ModuleConstants) -> IntegerNode | None:
        found = ratios([item.type.scale for item in operands], stands_for(to).scale)
        return IntegerNode(operands, to) if all(least <= ratio < _MOST_RATIO for ratio in found) else None

    return form


def _mean(node: NodeOp, operands: tuple[Quantized, ...], to: QuantizeNodeOp, constants: ModuleConstants) -> IntegerNode | None:
    """Returns the integer form of a mean over height and width; None if the run decides how many there are, or the ratio does not fit."""
    return None if pooling.has_dynamic_means(node.operands[0]) else _ratio_of_mean(node, operands, to, constants)


def _mover(node: NodeOp, operands: tuple[Quantized, ...], to: QuantizeNodeOp, constants: ModuleConstants) -> IntegerNode | None:
    """Returns the integer form of a node that moves elements; None unless operands and result have the same scale and zero point."""
    return IntegerNode(operands, to) if all(item.type.stands_for_same(stands_for(to)) for item in operands) else None


_MOST_RATIO = 256.0
_sum = _ratios(2.0**-10, lambda scales, result: [scale / result for scale in scales])
_ratio_of_mean = _ratios(2.0**-8, lambda scales, result: [scales[0] / result])
_FORMS: Mapping[type[NodeOp], _Form] = {
    **dict.fromkeys((products.Conv2dNodeOp, products.DepthwiseConv2dNodeOp, products.ConvTranspose2dNodeOp), _layer),
    products.FullyConnectedNodeOp: _layer,
    **dict.fromkeys((e.ARITHMETIC["add"], e.ARITHMETIC["sub"]), _sum),
    e.ARITHMETIC["mul"]: _ratios(2.0**-16, lambda scales, result: [scales[0] * scales[-1] / result]),
    pooling.GlobalAvgPooling2dNodeOp: _mean,
    **dict.fromkeys(
        (
            e.ClampNodeOp,
            e.CopyNodeOp,
            movement.StaticTransposeNodeOp,
            movement.StaticReshapeNodeOp,
            movement.StaticSliceNodeOp,
            pooling.MaxPooling2dNodeOp,
        ),
        _mover,
    ),
}
