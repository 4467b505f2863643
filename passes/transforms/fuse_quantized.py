"""`fuse-quantized`: computes in integers what stands between `dequantize` and `quantize`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.arithmetic import AddTensorOp
from flambeau.dialects.aten.comparison import ClampOp
from flambeau.dialects.aten.convolution import ConvolutionOp
from flambeau.dialects.aten.linear import LinearOp
from flambeau.dialects.aten.pool import MaxPool2dWithIndicesOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.packing import pack_quads, pack_quantized_conv_weight
from flambeau.dialects.fused.quantized import (
    MOST_PRODUCTS,
    RANGES,
    SHIFTS,
    SUM_BITS,
    SUM_SHIFTS,
    QuantizedAddOp,
    QuantizedConv2dOp,
    QuantizedLinearOp,
)
from flambeau.dialects.ir.tensor_types import element_of, is_static, shape_of, tensor, tensor_type
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import Quantized, QuantizedType, dequantized, quantized_type
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.quantization.dynamic_layers import DynamicPattern, IntegerProductPattern
from flambeau.passes.quantization.embedding_tables import TablePattern
from flambeau.passes.quantization.weight_only_layers import weight_only_patterns
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.targets.interface import Target, TargetName, find_target
from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT32 = 2**31 - 1
_LAYERS = (LinearOp, ConvolutionOp)
_SATURATING = (QuantizedLinearOp, QuantizedConv2dOp, QuantizedAddOp)


def fixed_point(ratios: Array) -> tuple[Array, Array]:
    """Positive ratios as multipliers of 31 bits and the shifts to divide by: multiplier / 2 ** shift.

    Raises:
        ValueError: one is 2 ** 30 or more.
    """
    mantissas, exponents = np.frexp(ratios)
    shifts = np.minimum(31 - exponents, SHIFTS[1])
    multipliers = np.rint(np.ldexp(ratios, shifts)).astype(np.int64)
    rounded_up = multipliers > _INT32
    multipliers[rounded_up] >>= 1
    shifts[rounded_up] -= 1
    if (shifts < SHIFTS[0]).any() or not np.isfinite(mantissas).all():
        raise ValueError(f"the ratio of scales {float(ratios.max())} is too large")
    return multipliers.astype(np.int32), shifts.astype(np.int32)


@dataclass(frozen=True)
class _Layer:
    """A linear layer or convolution of quantized numbers with constant weights."""

    op: SchemaOp
    input: Quantized
    weight: Array
    parameters: Array


@dataclass(frozen=True)
class LayerPattern(Pattern):
    """quantize(clamp(linear or convolution(dequantize(x), dequantize(constant), bias))): the layer in integers."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "layers fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand a layer computes."""
        assert isinstance(op, QuantizePerTensorOp)
        to = quantized_type(op)
        value, low, high = _before_clamp(op.operands[0], to)
        if not isinstance(value.owner, _LAYERS) or value.owner.level() != "edge":
            return
        layer = self._layer(value, to)
        if layer is None:
            return
        name = self.constants.name(dequantized_source(layer.op))
        if isinstance(layer.op, LinearOp):
            fused = self._linear(layer, name, to, low, high)
        else:
            fused = self._convolution(layer, name, to, low, high, op)
        replace_with_values(op, [fused], rewriter)

    def _layer(self, value: SSAValue, to: QuantizedType) -> _Layer | None:
        layer = value.owner
        assert isinstance(layer, SchemaOp)
        form = QuantizedLinearOp if isinstance(layer, LinearOp) else QuantizedConv2dOp
        if not self.target.has(form):
            return decline(f"stays in floats: the target {self.target.name!r} has no kernel for {form.name}")
        x, weight, bias = layer.arguments()[:3]
        source, kernel = dequantized(x, self.constants), dequantized(weight, self.constants)
        if source is None or kernel is None:
            return decline("stays in floats: its input or its weight is not dequantized with constant parameters")
        storage = source.type.storage
        if source.type.axis is not None or storage not in RANGES or storage != to.storage or kernel.type.storage != i8:
            return decline(f"stays in floats: {storage} times {kernel.type.storage} as {to.storage} has no kernel")
        if any(kernel.type.zero_points) or kernel.type.axis not in (None, 0):
            return decline("stays in floats: the weight's zero points are not 0, or it has scales for other than output channels")
        integers, biases = self.constants.array(kernel.value), None if bias is None else self.constants.array(bias)
        if integers is None or (bias is not None and biases is None):
            return decline("stays in floats: its weight or its bias is not a constant")
        if not value.has_one_use() or not is_static(x, value) or not is_row_major(x) or not is_row_major(value):
            return decline("stays in floats: it has dynamic sizes, another layout than row-major, or uses before it is quantized")
        if isinstance(layer, ConvolutionOp) and not _is_dense_or_depthwise(layer):
            return decline("stays in floats: of convolutions, only those of images, dense or depthwise, have a kernel")
        parameters = _parameters(source.type, kernel.type, to, integers, biases)
        return None if parameters is None else _Layer(layer, source, integers, parameters)

    def _linear(self, layer: _Layer, name: str, to: QuantizedType, low: int, high: int) -> SSAValue:
        loads = self._loads(name, pack_quads(layer.weight), layer.parameters)
        return QuantizedLinearOp(layer.input.value, *loads, layer.weight.shape[0], to.zero_point, low, high).result

    def _convolution(self, layer: _Layer, name: str, to: QuantizedType, low: int, high: int, op: QuantizePerTensorOp) -> SSAValue:
        _, _, _, stride, padding, dilation, _, _, groups = layer.op.arguments()
        loads = self._loads(name, pack_quantized_conv_weight(layer.weight, groups), layer.parameters)
        image = ToDimOrderCopyOp(layer.input.value, dim_order=CHANNELS_LAST)
        fused = QuantizedConv2dOp(
            image.result,
            *loads,
            layer.weight.shape[2:],
            *((values[0], values[-1]) for values in (stride, padding, dilation)),
            groups,
            layer.weight.shape[0],
            layer.input.type.zero_point,
            to.zero_point,
            low,
            high,
            result_types=[with_dim_order(op.result, CHANNELS_LAST)],
        )
        fused.result.name_hint = op.result.name_hint
        return ToDimOrderCopyOp(fused.result, dim_order=(0, 1, 2, 3)).result

    def _loads(self, name: str, packed: Array, parameters: Array) -> Sequence[SSAValue]:
        weight = self.constants.add(f"{name}.packed", packed, tensor(i8, packed.shape))
        numbers = self.constants.add(f"{name}.requantization", parameters, tensor(i32, parameters.shape))
        return weight.results[0], numbers.results[0]


def dequantized_source(layer: SchemaOp) -> SSAValue:
    """The integers of the weight of a layer."""
    owner = layer.operands[1].owner
    assert isinstance(owner, Operation)
    return owner.operands[0]


def _is_dense_or_depthwise(op: ConvolutionOp) -> bool:
    x, weight, _, _, _, _, transposed, _, groups = op.arguments()
    shape = shape_of(weight)
    return not transposed and len(shape) == 4 and (groups == 1 or groups == shape_of(x)[1] == shape[0])


def _narrowed(to: QuantizedType, bounds: tuple[float, float]) -> tuple[int, int]:
    """The least and the greatest integer of numbers between bounds."""
    low, high = (to.quantize(bound) for bound in bounds)
    return max(low, to.low), max(low, min(high, to.high))


def _parameters(x: QuantizedType, weight: QuantizedType, to: QuantizedType, integers: Array, bias: Array | None) -> Array | None:
    """Bias, multiplier and shift of each output channel; None, with a reason, where numbers do not fit."""
    channels = integers.shape[0]
    rows = integers.reshape(channels, -1).astype(np.int64)
    if rows.shape[1] > MOST_PRODUCTS:
        return decline(f"stays in floats: a sum of {rows.shape[1]} products may not fit int32")
    scales = x.scale * np.broadcast_to(np.array(weight.scales, np.float64), channels)
    whole = np.zeros(channels) if bias is None else np.rint(bias.astype(np.float64) / scales)
    whole = whole - x.zero_point * rows.sum(1)
    if (np.abs(whole) + 256 * np.abs(rows).sum(1) > _INT32).any():
        return decline("stays in floats: the sum of products and bias may not fit int32")
    try:
        multipliers, shifts = fixed_point(scales / to.scale)
    except ValueError as error:
        return decline(f"stays in floats: {error}")
    return np.stack((whole.astype(np.int32), multipliers, shifts))


@dataclass(frozen=True)
class SumPattern(Pattern):
    """quantize(clamp(dequantize(x) + dequantize(y))): the sum in integers."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "sums fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand is a sum."""
        assert isinstance(op, QuantizePerTensorOp)
        to = quantized_type(op)
        value, low, high = _before_clamp(op.operands[0], to)
        total = value.owner
        if not isinstance(total, AddTensorOp) or total.level() != "edge" or total.argument("alpha") != 1 or not value.has_one_use():
            return None
        if not self.target.has(QuantizedAddOp):
            return decline(f"stays in floats: the target {self.target.name!r} has no kernel for {QuantizedAddOp.name}")
        x, y = (dequantized(operand, self.constants) for operand in total.operands)
        if x is None or y is None or x.type.axis is not None or y.type.axis is not None:
            return decline("stays in floats: an operand is not dequantized with one constant scale")
        if to.storage not in RANGES or {x.type.storage, y.type.storage} != {to.storage}:
            return decline(f"stays in floats: {x.type.storage} plus {y.type.storage} as {to.storage} has no kernel")
        if x.value.type != y.value.type or not is_static(x.value):
            return decline("stays in floats: its operands have dynamic sizes, or different ones or layouts")
        ratios = (x.type.scale / to.scale, y.type.scale / to.scale)
        shift = min(SUM_BITS - math.frexp(max(ratios))[1], SUM_SHIFTS[1])
        if shift < SUM_SHIFTS[0]:
            return decline(f"stays in floats: the ratio of scales {max(ratios)} is too large")
        multipliers = (round(ratio * 2**shift) for ratio in ratios)
        zero_points = x.type.zero_point, y.type.zero_point, to.zero_point
        return replace_with_values(op, [QuantizedAddOp(x.value, y.value, *multipliers, shift, *zero_points, low, high).result], rewriter)


def _before_clamp(value: SSAValue, to: QuantizedType) -> tuple[SSAValue, int, int]:
    """The operand of the clamp that computes `value`, if one does for nothing else, and between which integers it brings results."""
    clamp = value.owner
    if isinstance(clamp, SchemaOp) and value.has_one_use() and (bounds := bounds_of_clamp(clamp)) is not None:
        return clamp.operands[0], *_narrowed(to, bounds)
    return value, to.low, to.high


@dataclass(frozen=True)
class MovePattern(Pattern):
    """quantize(f(dequantize(x))) of one quantized type, where f moves elements, takes the largest or clamps: f of the integers."""

    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "operators moved to integers"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand `f` computes."""
        assert isinstance(op, QuantizePerTensorOp)
        to, value = quantized_type(op), op.operands[0]
        if (source := self._source(value, to)) is not None:
            return replace_with_values(op, [source], rewriter)
        mover = value.owner
        if not isinstance(mover, SchemaOp) or mover.level() != "edge" or not value.has_one_use():
            return None
        bounds = bounds_of_clamp(mover)
        if bounds is None and not _moves(mover):
            return None
        if (source := self._source(mover.operands[0], to)) is None:
            return None
        if bounds is not None:
            return replace_with_values(op, [ClampOp.at("edge")(source, *_narrowed(to, bounds)).result], rewriter)
        kinds = [tensor(to.storage, shape_of(value), tensor_type(value).encoding), *mover.result_types[1:]]
        moved = type(mover).create(operands=[source, *mover.operands[1:]], result_types=kinds, properties=dict(mover.properties))
        moved.location = mover.location
        return replace_with_values(op, [moved.results[0]], rewriter)

    def _source(self, value: SSAValue, to: QuantizedType) -> SSAValue | None:
        """The integers that a value is dequantized from, if they stand for the same, and none has to be clamped."""
        found = dequantized(value, self.constants)
        fits = found is not None and found.type.stands_for_same(to) and to.low <= found.type.low and found.type.high <= to.high
        return found.value if found is not None and fits else None


def _moves(op: SchemaOp) -> bool:
    """Whether every element of the first result is one of the only operand."""
    if isinstance(op, MaxPool2dWithIndicesOp):
        return all(not result.uses for result in op.results[1:])
    return isinstance(op, ToDimOrderCopyOp) or (len(op.operands) == 1 and op.siblings["row"].schema.is_view)


@dataclass(frozen=True)
class SaturationPattern(Pattern):
    """clamp(quantized layer or sum): it saturates there."""

    roots = (ClampOp,)
    counter = "clamps fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, which has numbers for bounds."""
        assert isinstance(op, ClampOp)
        bounds, value = bounds_of_clamp(op), op.operands[0]
        copy = value.owner
        layer = copy.operands[0].owner if isinstance(copy, ToDimOrderCopyOp) and copy.operands[0].has_one_use() else copy
        if bounds is None or not value.has_one_use() or not isinstance(layer, _SATURATING) or element_of(op.result) not in RANGES:
            return
        arguments = list(layer.arguments())
        low, high = arguments[-2:]
        low, high = int(max(low, bounds[0])), int(min(high, bounds[1]))
        if low > high:
            return
        fused = type(layer)(*arguments[:-2], low, high, result_types=list(layer.result_types))
        fused.location = layer.location
        result = ToDimOrderCopyOp(fused.result, dim_order=(0, 1, 2, 3)).result if layer is not copy else fused.result
        replace_with_values(op, [result], rewriter)


@dataclass(frozen=True)
class FuseQuantizedPass(ModulePass):
    """Linear layers, convolutions and sums of quantized numbers become `fused.quantized_linear`, `quantized_conv2d` and `quantized_add`.

    Weights stay the 8-bit integers that they are, packed for the kernels. The bias, and the ratio of scales as multiplier and shift, are
    constants in int32. Operators between layers that move elements, take the largest or clamp do so with the integers.
    Linear layers of floats with int8 weights become `fused.weight_only_linear`, or `fused.dynamic_quantized_linear` where the run
    quantizes the floats. Embeddings take rows of integers, of which these alone become floats.

    Needs: `edge` operators between `dequantize_*` and `quantize_per_tensor` of `quantized_decomposed`, with constant parameters. Leaves:
    convolutions channels-last between two `edge._to_dim_order_copy`; in floats what the target has no integer kernel for, with a remark.
    """

    name = "fuse-quantized"
    works_on = ("edge", "fused")
    target: TargetName = "flambeau"
    """Whose kernels compute them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        target, constants = find_target(self.target), ModuleConstants(ctx, op)
        apply_patterns(op, [LayerPattern(target, constants), SumPattern(target, constants), MovePattern(constants), SaturationPattern()])
        # Then what is left of layers, and tables: their results are floats.
        dynamic = (DynamicPattern(target, constants), IntegerProductPattern(target, constants))
        apply_patterns(op, [*dynamic, TablePattern(constants), *weight_only_patterns(target, constants)])
