"""`fuse-quantized`: computes in integers what stands between `dequantize` and `quantize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.elementwise.comparison import ClampOp
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.packing import pack_quads, pack_quantized_conv_weight
from flambeau.dialects.fused.quantized import (
    MOST_PRODUCTS,
    RANGES,
    QuantizedConv2dOp,
    QuantizedLinearOp,
    fixed_point,
)
from flambeau.dialects.fused.quantized_elementwise import QuantizedAddOp, QuantizedMulOp
from flambeau.dialects.fused.quantized_pool import QuantizedAvgPool2dOp
from flambeau.dialects.ir.tensor_types import element_of, is_static, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import Quantized, QuantizedType, before_clamp, dequantized, integer_bias, quantized_type
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.quantization.average_pools import PoolPattern
from flambeau.passes.quantization.dynamic_layers import DynamicPattern, IntegerProductPattern
from flambeau.passes.quantization.embedding_tables import TablePattern
from flambeau.passes.quantization.moved_integers import LookupPattern, MovePattern
from flambeau.passes.quantization.sums_and_products import ProductPattern, SumPattern
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
_SATURATING = (QuantizedLinearOp, QuantizedConv2dOp, QuantizedAddOp, QuantizedMulOp, QuantizedAvgPool2dOp)


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
        value, low, high = before_clamp(op.operands[0], to)
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
    """Returns the integers of the weight of a layer."""
    owner = layer.operands[1].owner
    assert isinstance(owner, Operation)
    return owner.operands[0]


def _is_dense_or_depthwise(op: ConvolutionOp) -> bool:
    x, weight, _, _, _, _, transposed, _, groups = op.arguments()
    shape = shape_of(weight)
    return not transposed and len(shape) == 4 and (groups == 1 or groups == shape_of(x)[1] == shape[0])


def _parameters(x: QuantizedType, weight: QuantizedType, to: QuantizedType, integers: Array, bias: Array | None) -> Array | None:
    """Bias, multiplier and shift of each output channel; None, with a reason, where numbers do not fit."""
    channels = integers.shape[0]
    rows = integers.reshape(channels, -1).astype(np.int64)
    if rows.shape[1] > MOST_PRODUCTS:
        return decline(f"stays in floats: a sum of {rows.shape[1]} products may not fit int32")
    whole, scales = integer_bias(x, weight, bias, channels)
    whole = whole - x.zero_point * rows.sum(1)
    if (np.abs(whole) + 256 * np.abs(rows).sum(1) > _INT32).any():
        return decline("stays in floats: the sum of products and bias may not fit int32")
    try:
        multipliers, shifts = fixed_point(scales / to.scale)
    except ValueError as error:
        return decline(f"stays in floats: {error}")
    return np.stack((whole.astype(np.int32), multipliers, shifts))


@dataclass(frozen=True)
class SaturationPattern(Pattern):
    """Replaces the clamp of a quantized layer or sum by the layer or sum with narrower limits."""

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
        kinds = (LayerPattern, SumPattern, ProductPattern, PoolPattern, MovePattern, LookupPattern)
        apply_patterns(op, [*(kind(target, constants) for kind in kinds), SaturationPattern()])
        # Last, the remaining layers and tables, whose results are floats.
        dynamic = (DynamicPattern(target, constants), IntegerProductPattern(target, constants))
        apply_patterns(op, [*dynamic, TablePattern(constants), *weight_only_patterns(target, constants)])
