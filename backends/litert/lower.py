"""Converts `edge` operators to `litert` ones, in floats or between integers, with transposes around operators of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect.images import (
    AveragePool2dOp,
    Conv2dOp,
    DepthwiseConv2dOp,
    FullyConnectedOp,
    MaxPool2dOp,
    padding_word,
)
from flambeau.backends.litert.dialect.movement import ConcatenationOp, PadV2Op, ReshapeOp, SliceOp, TransposeOp
from flambeau.backends.litert.dialect.operators import ACTIVATIONS, HIGH, LOW, WIDE, LiteRtOp, limits_of
from flambeau.backends.litert.legality import table
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType, integer_bias, quantized_type
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.delegation.interface import BackendOptions, RefusedError
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.delegation.normalized import Windows, dim_of, pads_of, permutation, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("litert")
_CHANNELS_FIRST = (0, 3, 1, 2)


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `litert` operators. Raises ConversionError, which lists the operators that have no converter."""
    # Where floats are taken too, an operator that is not taken between integers stays in floats.
    chosen = table(options) if isinstance(options, LiteRtOptions) and options.precision == "mixed" else None
    CONVERTERS.apply(partition, constants, chosen)
    moves = Transposes(TransposeOp, "perm", reshaped, lambda op: op.elementwise, constants)
    moving = [moves.join(), moves.past_elements(LiteRtOp), moves.past_axis(ConcatenationOp), moves.join_reshapes(ReshapeOp)]
    moving += [moves.past(SliceOp, "begin", "size")]
    apply_patterns(partition, moving)
    apply_patterns(partition, [moves.as_reshape(), *moving])
    apply_patterns(partition, [end_with_activation])


@rewrites(LiteRtOp, counter="activations joined")
def end_with_activation(op: LiteRtOp) -> SSAValue | None:
    """Makes a function of floats that a layer, a sum or a product can end with the activation of the one before it."""
    activation = op.schema.base.upper()
    source = op.operands[0].owner if activation in e.LIMITED else None
    if not isinstance(source, LiteRtOp) or source.keeps_type or op.argument("scales") or not op.operands[0].has_one_use():
        return None
    given = {argument.name: source.argument(argument.name) for argument in source.schema.arguments}
    if given.get("fused_activation_function") != "NONE":
        return None
    kind: Any = type(source)
    return kind(**{**given, "fused_activation_function": activation}).result


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns the same elements in another shape."""
    return value if shape_of(value) == tuple(shape) else ReshapeOp(value, tuple(shape)).result


def constant(constants: ModuleConstants, name: str, array: Array, like: SSAValue) -> SSAValue:
    """Returns an array as a constant of the element type of another value."""
    element = element_of(like)
    return constants.add(name, np.asarray(array, numpy_dtype(element), order="C"), tensor(element, array.shape)).result


def on_images(x: SSAValue, function: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """Returns what a function makes of images [batch, height, width, channels], of images with the channels first."""
    return TransposeOp(function(TransposeOp(x, CHANNELS_LAST).result), _CHANNELS_FIRST).result


# Padding


def _padded(x: SSAValue, windows: Windows, number: float, constants: ModuleConstants) -> tuple[SSAValue, str]:
    """Returns images with so much padding that the returned word says the rest."""
    word = padding_word(shape_of(x)[1:3], windows.kernel, windows.stride, windows.dilation, windows.padding)
    if word is not None:
        return x, word
    tall, wide = windows.padding
    return _with_margin(x, (0, tall, wide, 0), (0, tall, wide, 0), number, constants), "VALID"


def _with_margin(x: SSAValue, before: Sequence[int], behind: Sequence[int], number: float, constants: ModuleConstants) -> SSAValue:
    """Returns a tensor with a number around it, and without what negative padding takes away."""
    begin = tuple(max(-low, 0) for low in before)
    size = tuple(extent + min(low, 0) + min(high, 0) for extent, low, high in zip(shape_of(x), before, behind, strict=True))
    x = x if size == shape_of(x) else SliceOp(x, begin, size).result
    pads = tuple(max(item, 0) for pair in zip(before, behind, strict=True) for item in pair)
    return PadV2Op(x, pads, constant(constants, "padding", np.array([number]), x)).result if any(pads) else x


# Quantized types


def same(x: Quantized, to: QuantizedType) -> SSAValue:
    """Returns integers as integers of another type."""
    if (x.type.scale, x.type.zero_point) == (to.scale, to.zero_point):
        return x.value
    return e.QuantizeOp(x.value, scales=(x.type.scale, to.scale), zero_points=(x.type.zero_point, to.zero_point)).result


def _ended(found: IntegerOperator, build: Callable[[str], SSAValue], constants: ModuleConstants) -> SSAValue:
    """Returns an operator between integers within the limits of its clamps: those of an activation, or of two more operators."""
    limits = (found.low, found.high)
    for activation in ACTIVATIONS:
        if limits_of(activation, found.to.scale, found.to.zero_point) == limits:
            return build(activation)
    return limited(build("NONE"), found, constants)


def limited(value: SSAValue, found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Returns integers within the limits of the clamps behind an operator."""
    return _clamped(value, found.low, found.high, constants)


def _clamped(value: SSAValue, low: int, high: int, constants: ModuleConstants) -> SSAValue:
    """Returns integers within limits, by no operator where these are those of int8."""
    for name, limit, default in (("maximum", low, LOW), ("minimum", high, HIGH)):
        if limit != default:
            value = e.BINARY[name](value, constant(constants, name, np.array([limit]), value)).result
    return value


def _types(*kinds: QuantizedType) -> dict[str, Any]:
    return {"scales": tuple(kind.scale for kind in kinds), "zero_points": tuple(kind.zero_point for kind in kinds)}


def _inputs(found: IntegerOperator) -> list[Quantized]:
    return [item for item in found.inputs if item is not None]


def _of(found: IntegerOperator) -> SchemaOp:
    assert found.operator is not None
    return found.operator


def _floats(value: SSAValue, constants: ModuleConstants) -> Array:
    """Returns a constant of floats, perhaps a dequantized one."""
    found, op = constants.array(value), value.owner
    if found is None:
        assert isinstance(op, SchemaOp)
        found = op.call("numpy", op.bind([constants.elements(operand) for operand in op.operands], op.properties))
    return found


@CONVERTERS("quantized_decomposed.quantize_per_tensor")
def _quantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    assert isinstance(op, QuantizePerTensorOp)
    kind = quantized_type(op)
    return _clamped(e.QuantizeOp(op.operands[0], **_types(kind)).result, kind.low, kind.high, constants)


@CONVERTERS("quantized_decomposed.dequantize_per_tensor", "quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    if constants.is_constant(op.operands[0]):
        return constant(constants, constants.name(op.operands[0]), _floats(op.results[0], constants), op.results[0])
    return e.DequantizeOp(op.operands[0], scales=(op.argument("scale"),), zero_points=(op.argument("zero_point"),)).result


# Layers


def _layer(
    op: SchemaOp, x: SSAValue, weight: Array, bias: Array | None, zero_point: int, constants: ModuleConstants, **numbers: Any
) -> SSAValue:
    """Returns the results of a layer: its weight is [outputs, inputs of a group, *kernel], its bias in the type of sums."""
    source = op.operands[1].owner
    name = constants.name(source.operands[0] if isinstance(source, DEQUANTIZATIONS) else op.operands[1])

    def called(kind: Any, image: SSAValue, kernel: Array, **more: Any) -> SSAValue:
        element = WIDE[element_of(image)]
        sums = None if bias is None else constants.add(f"{name}.bias", bias, tensor(element, bias.shape)).result
        return kind(image, constant(constants, name, kernel, image), sums, **more, **numbers).result

    if op.schema.base == "linear":
        return called(FullyConnectedOp, x, weight)
    windows, groups = windows_of(op), op.argument("groups")
    is_of_each = groups > 1 and weight.shape[1] == 1
    steps = {"stride_h": windows.stride[0], "stride_w": windows.stride[1]}
    gaps = {"dilation_h_factor": windows.dilation[0], "dilation_w_factor": windows.dilation[1]}

    def convolved(image: SSAValue) -> SSAValue:
        image, padding = _padded(image, windows, zero_point, constants)
        if is_of_each:
            return called(DepthwiseConv2dOp, image, weight.transpose(1, 2, 3, 0), padding=padding, **steps, **gaps)
        return called(Conv2dOp, image, weight.transpose(0, 2, 3, 1), padding=padding, **steps, **gaps)

    return on_images(x, convolved)


@CONVERTERS("convolution", "linear")
def _float_layer(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, value, bias = op.arguments()[:3]
    weight = _floats(value, constants)
    numbers = np.zeros(len(weight), weight.dtype) if bias is None else constants.array(bias)  # a convolution always has a bias
    return _layer(op, x, weight, numbers, 0, constants)


@CONVERTERS.integers("convolution", "linear")
def _integer_layer(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x, kernel = _of(found), found.x, found.inputs[1]
    assert kernel is not None
    weight, bias = constants.array(kernel.value), op.argument("bias")
    assert weight is not None
    whole, _ = integer_bias(x.type, kernel.type, None if bias is None else constants.array(bias), len(weight))
    if (np.abs(whole) + 2**8 * np.abs(weight.reshape(len(weight), -1).astype(np.int64)).sum(1) > 2**31 - 1).any():
        raise RefusedError({op: "its sums of products and bias may not fit int32"})
    numbers = whole.astype(np.int32)  # the kernels of integers ask for a bias
    types = {**_types(x.type, found.to), "filter_scales": kernel.type.scales}

    def build(activation: str) -> SSAValue:
        return _layer(op, x.value, weight, numbers, x.type.zero_point, constants, fused_activation_function=activation, **types)

    return _ended(found, build, constants)


# Functions of elements


for _name, _node in (("add.Tensor", e.AddOp), ("sub.Tensor", e.SubOp), ("mul.Tensor", e.MulOp)):
    CONVERTERS(_name)(lambda op, constants, node=_node: node(*op.operands).result)

    @CONVERTERS.integers(_name)
    def _of_two(found: IntegerOperator, constants: ModuleConstants, node: Any = _node) -> SSAValue:
        a, b = _inputs(found)
        types = _types(a.type, b.type, found.to)
        return _ended(found, lambda activation: node(a.value, b.value, fused_activation_function=activation, **types).result, constants)


for _name, _node in e.BINARY.items():
    CONVERTERS(_name)(lambda op, constants, node=_node: node(*op.operands).result)

_FUNCTIONS: dict[str, Any] = {"sigmoid": e.LogisticOp, "tanh": e.TanhRow, "_softmax": e.SoftmaxOp}
for _name, _node in _FUNCTIONS.items():
    CONVERTERS(_name)(lambda op, constants, node=_node: node(op.operands[0]).result)

    @CONVERTERS.integers(_name)
    def _function(found: IntegerOperator, constants: ModuleConstants, node: Any = _node) -> SSAValue:
        scale, zero_point = node.fixed
        fixed = QuantizedType(i8, LOW, HIGH, (scale,), (zero_point,))
        result = node(found.x.value, **_types(found.x.type, fixed)).result
        return limited(same(Quantized(result, fixed), found.to), found, constants)


@CONVERTERS("relu", "clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, bounds = op.operands[0], bounds_of_clamp(op)
    assert bounds is not None
    known = {(0.0, np.inf): "RELU", (-1.0, 1.0): "RELU_N1_TO_1", (0.0, 6.0): "RELU6"}.get(bounds)
    if known is not None:
        return e.LIMITED[known](x).result
    for name, limit in zip(("maximum", "minimum"), bounds, strict=True):
        if np.isfinite(limit):
            x = e.BINARY[name](x, constant(constants, name, np.array([limit]), x)).result
    return x


@CONVERTERS.integers("quantized_decomposed.quantize_per_tensor", "relu", "clamp", "hardtanh")
def _requantize(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(same(found.x, found.to), found, constants)


# Pools and moves


def _moved(op: SchemaOp, x: SSAValue, kind: QuantizedType | None, constants: ModuleConstants) -> SSAValue:
    """Returns the result of a pool or of an operator that moves elements, of floats or of integers of one type."""
    match op.schema.base:
        case "view_copy":
            return reshaped(x, shape_of(op.result))
        case "permute_copy":
            return TransposeOp(x, permutation(op)).result
        case "slice_copy":
            begin, size = [0] * len(shape_of(x)), list(shape_of(op.result))
            begin[dim_of(op)] = start_of(op)
            return SliceOp(x, tuple(begin), tuple(size)).result
        case "constant_pad_nd":
            number = op.argument("value") if kind is None else kind.quantize(op.argument("value"))
            return _with_margin(x, *pads_of(op), number, constants)
        case "mean":
            windows = Windows(shape_of(x)[2:], (1, 1), (0, 0), (1, 1), (0, 0))
        case _:
            windows = windows_of(op)
    is_max = op.schema.base == "max_pool2d_with_indices"
    types = {} if kind is None else _types(kind)
    sides = {"filter_height": windows.kernel[0], "filter_width": windows.kernel[1]}
    steps = {"stride_h": windows.stride[0], "stride_w": windows.stride[1]}

    def pooled(image: SSAValue) -> SSAValue:
        lowest = float(LOW) if kind is not None else float(-np.inf)
        image, padding = _padded(image, windows, lowest, constants)
        node: Any = MaxPool2dOp if is_max else AveragePool2dOp
        return node(image, padding=padding, **steps, **sides, **types).result

    return reshaped(on_images(x, pooled), shape_of(op.results[0]))


_MOVES = ("view_copy", "permute_copy", "slice_copy.Tensor", "constant_pad_nd", "mean.dim", "avg_pool2d", "max_pool2d_with_indices")


@CONVERTERS(*_MOVES)
def _float_move(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _moved(op, op.operands[0], None, constants)


@CONVERTERS.integers(*_MOVES)
def _integer_move(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op = _of(found)
    if op.schema.base == "constant_pad_nd":  # the number around it may be beyond those of the operand's type
        return limited(_moved(op, same(found.x, found.to), found.to, constants), found, constants)
    moved = _moved(op, found.x.value, found.x.type, constants)
    return limited(same(Quantized(moved, found.x.type), found.to), found, constants)


@CONVERTERS("cat")
def _concatenation(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return ConcatenationOp(list(op.operands), axis=dim_of(op)).result


@CONVERTERS.integers("cat")
def _integer_concatenation(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    parts = [same(x, found.to) for x in _inputs(found)]
    return limited(ConcatenationOp(parts, axis=dim_of(_of(found))).result, found, constants)
