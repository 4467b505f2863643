"""Converts quantization to `xnnpack` nodes, and puts it around every node that XNNPACK can compute in integers.

A node that moves elements does not change integers, so it is put between `dequantize` and `quantize` too, as a layer is.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.backends.xnnpack.dialect.elementwise import ClampNodeOp
from flambeau.backends.xnnpack.dialect.movement import StaticReshapeNodeOp, StaticSliceNodeOp, StaticTransposeNodeOp
from flambeau.backends.xnnpack.dialect.nodes import NodeOp
from flambeau.backends.xnnpack.dialect.pooling import MaxPooling2dNodeOp
from flambeau.backends.xnnpack.dialect.quantization import (
    DEQUANTIZE,
    DequantizeChannelsNodeOp,
    DequantizeNodeOp,
    QuantizeNodeOp,
    RoundRowsNodeOp,
)
from flambeau.backends.xnnpack.dynamic import source_of
from flambeau.backends.xnnpack.layouts import limit_result
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import dequantized, quantized_type
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.support.lazy import Array, np

_MOVERS = (StaticTransposeNodeOp, StaticReshapeNodeOp, StaticSliceNodeOp, MaxPooling2dNodeOp)


def quantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts `quantize_per_tensor`; returns the integers."""
    assert isinstance(op, QuantizePerTensorOp)
    kind = quantized_type(op)
    return QuantizeNodeOp(kind.scale, kind.zero_point, op.operands[0]).result


def dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a dequantization; returns the floats. The floats of a constant with integers that XNNPACK lacks are computed now."""
    found = dequantized(op.result, constants)
    if found is None or (found.type.axis is not None and any(found.type.zero_points)):
        arguments = [constants.array(cast("SSAValue", value)) if isinstance(value, SSAValue) else value for value in op.arguments()]
        return constant(constants, f"{constants.name(op.operands[0])}.dequantized", op.call("numpy", arguments), op.result)
    if found.type.axis is None:
        return DequantizeNodeOp(found.type.scale, found.type.zero_point, found.value).result
    scales = np.array(found.type.scales, np.float32)
    loaded = constants.add(f"{constants.name(found.value)}.scales", scales, tensor(f32, scales.shape)).result
    return DequantizeChannelsNodeOp(found.type.axis, found.value, loaded).result


def round_rows(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts the last of the operators that quantize the input of a layer; the others are left without readers."""
    return RoundRowsNodeOp(1, source_of(op.result)).result


def layer_operands(x: SSAValue, weight: SSAValue, constants: ModuleConstants) -> tuple[SSAValue, SSAValue]:
    """Returns the input and the weight of a linear layer as XNNPACK takes them together.

    For an input that is rounded row by row, a weight with one scale gets one for each output; with a weight of floats, it is not rounded.
    """
    if not isinstance(x.owner, RoundRowsNodeOp):
        return x, weight
    match weight.owner:
        case DequantizeNodeOp() as op:
            scale, _, integers = op.arguments()
            array = np.full(shape_of(weight)[0], scale, np.float32)
            loaded = constants.add(f"{constants.name(integers)}.scales", array, tensor(f32, array.shape)).result
            return x, DequantizeChannelsNodeOp(0, integers, loaded).result
        case DequantizeChannelsNodeOp() as op if op.argument("channel_dim") == 0:
            return x, weight
        case _:
            return x.owner.operands[0], weight


def elements(value: SSAValue, constants: ModuleConstants) -> Array:
    """Returns the elements of a constant, which are integers if it is dequantized."""
    return constants.elements(_source(value))


def _source(value: SSAValue) -> SSAValue:
    op = value.owner
    return op.operands[0] if isinstance(op, DequantizeNodeOp | DequantizeChannelsNodeOp) else value


def by_outputs(value: SSAValue, outputs: int | None, constants: ModuleConstants) -> SSAValue:
    """Returns a weight. If its scales are along another dimension than `outputs`, returns its floats as a new constant instead."""
    op = value.owner
    if not isinstance(op, DequantizeChannelsNodeOp) or op.argument("channel_dim") == outputs:
        return value
    floats = DequantizeChannelsNodeOp.numpy(op.argument("channel_dim"), *map(constants.elements, op.operands))
    return constant(constants, f"{constants.name(op.operands[0])}.dequantized", floats, value)


def with_elements(value: SSAValue, array: Array, channel_dim: int, constants: ModuleConstants) -> SSAValue:
    """Returns a constant like `value` with the elements `array`, in which `channel_dim` is the dimension of the scales, if it has any."""
    op = value.owner
    source = _source(value)
    loaded = constant(constants, f"{constants.name(source)}.xnnpack", array, source)
    match op:
        case DequantizeChannelsNodeOp():
            return DequantizeChannelsNodeOp(channel_dim, loaded, op.operands[1]).result
        case DequantizeNodeOp():
            return DequantizeNodeOp(*op.arguments()[:2], loaded).result
        case _:
            return loaded


def constant(constants: ModuleConstants, name: str, array: Array, like: SSAValue) -> SSAValue:
    """Returns a new constant with the elements of an array, in the element type of `like`."""
    array = np.ascontiguousarray(array, numpy_dtype(element_of(like)))
    return constants.add(name, array, tensor(element_of(like), array.shape)).result


def move_in_integers(partition: PartitionOp) -> None:
    """Puts nodes that move elements between `dequantize` and `quantize`, if their elements are integers before or after the node."""
    PatternDriver([_after_dequantize, _before_quantize, _clamp_once, _quantize_again, limit_result]).run(partition)


def _rounded(value: SSAValue, like: SchemaOp) -> SSAValue:
    """Returns dequantize(quantize(value)), with the scale and the zero point of `like`."""
    numbers = like.arguments()[:2]
    return DequantizeNodeOp(*numbers, QuantizeNodeOp(*numbers, value).result).result


@rewrites(NodeOp, counter="operators moved to integers")
def _after_dequantize(op: NodeOp) -> SSAValue | None:
    """Replaces move(dequantize(x)), which no quantize reads, by dequantize(quantize(move(dequantize(x))))."""
    source = op.operands[0].owner
    if not isinstance(op, _MOVERS) or not isinstance(source, DequantizeNodeOp):
        return None
    if any(isinstance(use.operation, QuantizeNodeOp) for use in op.result.uses):
        return None
    return _rounded(op.rebuilt(op.operands).result, source)


@rewrites(QuantizeNodeOp, counter="operators moved to integers")
def _before_quantize(op: QuantizeNodeOp) -> SSAValue | None:
    """Replaces quantize(move(x)) by quantize(move(dequantize(quantize(x)))), where x is the result of a node that may give integers."""
    move = op.operands[0].owner
    if not isinstance(move, _MOVERS) or not move.result.has_one_use():
        return None
    x = move.operands[0]
    if not isinstance(x.owner, NodeOp) or isinstance(x.owner, DEQUANTIZE) or not x.has_one_use():
        return None
    moved = move.rebuilt([_rounded(x, op)]).result
    return QuantizeNodeOp(*op.arguments()[:2], moved).result


@rewrites(QuantizeNodeOp)
def _quantize_again(op: QuantizeNodeOp) -> SSAValue | None:
    """Replaces quantize(dequantize(x)) by x, if all scales and zero points are equal and x is a result of quantize."""
    source = op.operands[0].owner
    if not isinstance(source, DequantizeNodeOp) or not isinstance(source.operands[0].owner, QuantizeNodeOp):
        return None
    return source.operands[0] if op.arguments()[:2] == source.arguments()[:2] == source.operands[0].owner.arguments()[:2] else None


@rewrites(QuantizeNodeOp, counter="limits fused")
def _clamp_once(op: QuantizeNodeOp) -> SSAValue | None:
    """Replaces quantize(clamp(dequantize(quantize(x)))) by quantize(clamp(x)), so that the node that computes x takes the limits.

    The scales and zero points must be equal, and nothing else may read the values between.
    """
    clamp = op.operands[0].owner
    if not isinstance(clamp, ClampNodeOp) or not clamp.result.has_one_use():
        return None
    floats = clamp.operands[0].owner
    if not isinstance(floats, DequantizeNodeOp) or not floats.result.has_one_use():
        return None
    integers = floats.operands[0].owner
    if not isinstance(integers, QuantizeNodeOp) or not integers.result.has_one_use():
        return None
    numbers = op.arguments()[:2]
    if numbers != integers.arguments()[:2] or numbers != floats.arguments()[:2]:
        return None
    limited = clamp.rebuilt(integers.operands).result
    return QuantizeNodeOp(*numbers, limited).result
