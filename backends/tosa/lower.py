"""Converts `edge` operators to `tosa` ones, in floats or between integers, with transposes around operators of images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.converters import norms, products, reductions, softmax
from flambeau.backends.tosa.converters.building import CONVERTERS, constant, limited, operands_of, ranked, rescale, reshaped, same
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.images import AvgPool2dOp, Conv2dOp, DepthwiseConv2dOp, MaxPool2dOp
from flambeau.backends.tosa.dialect.movement import ConcatOp, ReshapeOp, TransposeOp
from flambeau.backends.tosa.dialect.operators import OfTwoOp, TosaOp
from flambeau.backends.tosa.legality import FUNCTIONS, is_of_pixels, whole_windows
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.tensor_types import element_of, f32, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, integer_bias
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.delegation.normalized import Windows, dim_of, permutation, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.support.lazy import Array, np

FAMILIES = (norms, products, reductions, softmax)
"""The converters that are not in this file."""
_CHANNELS_FIRST = (0, 3, 1, 2)
_SUM_BITS = 20
"""The bits to which the larger operand of a sum is shifted, as in TOSA's own lowering of quantized additions."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: TosaOptions) -> None:
    """Rewrites a partition in `tosa` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)
    moves = Transposes(TransposeOp, "perms", reshaped, _is_elementwise, constants)
    moving = [moves.join(), moves.past_elements(TosaOp), moves.past_concatenation(ConcatOp), moves.join_reshapes(ReshapeOp)]
    apply_patterns(partition, moving)
    apply_patterns(partition, [moves.as_reshape(), *moving])


def _is_elementwise(op: SchemaOp) -> bool:
    return op.elementwise or isinstance(op, OfTwoOp) or (isinstance(op, e.RescaleOp) and len(op.argument("shift")) == 1)


def _on_images(x: SSAValue, function: Callable[[SSAValue], SSAValue]) -> SSAValue:
    return TransposeOp(function(TransposeOp(x, CHANNELS_LAST).result), _CHANNELS_FIRST).result


# Layers. In floats and between integers they differ in the zero point, the bias, and what becomes of the sums.


def _layer(
    op: SchemaOp,
    x: SSAValue,
    weight: Array,
    name: str,
    bias: SSAValue,
    constants: ModuleConstants,
    zero_point: int = 0,
    finish: Callable[[SSAValue], SSAValue] = lambda sums: sums,
) -> SSAValue:
    element = element_of(x)
    if op.schema.base == "linear":
        outputs, inputs = weight.shape
        rows = reshaped(x, (prod(shape_of(x)[:-1]), 1, 1, inputs))
        loaded = constant(constants, name, weight.reshape(outputs, 1, 1, inputs), element)
        sums = Conv2dOp(rows, loaded, bias, zero_point, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1)).result
        return reshaped(finish(sums), shape_of(op.result))
    windows = windows_of(op)
    numbers: dict[str, Any] = {"pad": whole_windows(shape_of(x), windows), "stride": windows.stride, "dilation": windows.dilation}
    groups = op.argument("groups")
    if groups > 1:
        kind, kernel = DepthwiseConv2dOp, weight.reshape(groups, -1, *weight.shape[2:]).transpose(2, 3, 0, 1)
    else:
        kind, kernel = Conv2dOp, weight.transpose(0, 2, 3, 1)
    loaded = constant(constants, name, kernel, element)
    return _on_images(x, lambda image: finish(kind(image, loaded, bias, zero_point, **numbers).result))


@CONVERTERS("convolution", "linear")
def _float_layer(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.arguments()[:3]
    array, name = constants.array(weight), constants.name(weight)
    assert array is not None
    numbers = constant(constants, f"{name}.bias", np.zeros(len(array), np.float32), f32) if bias is None else bias
    return _layer(op, x, array, name, numbers, constants)


@CONVERTERS.integers("convolution", "linear")
def _integer_layer(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x, kernel = found.operator, found.x, found.inputs[1]
    assert op is not None and kernel is not None
    weight, bias = constants.array(kernel.value), op.argument("bias")
    assert weight is not None
    whole, scales = integer_bias(x.type, kernel.type, None if bias is None else constants.array(bias), len(weight))
    name = constants.name(kernel.value)
    if (np.abs(whole) + 2**8 * np.abs(weight.reshape(len(weight), -1).astype(np.int64)).sum(1) > 2**31 - 1).any():
        raise RefusedError({op: "its sums of products and bias may not fit int32"})
    numbers = constant(constants, f"{name}.bias", whole.astype(np.int32), i32)
    finish = partial(rescale, ratios=scales / found.to.scale, input_zp=0, output_zp=found.to.zero_point)
    return limited(_layer(op, x.value, weight, name, numbers, constants, x.type.zero_point, finish), found)


# Integers


@CONVERTERS.integers("add.Tensor", "sub.Tensor")
def _sum(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, operands = operands_of(found, 2)
    most = 2 * max(x.type.scale for x in operands)
    wide = [rescale(x.value, x.type.scale / most * 2**_SUM_BITS, x.type.zero_point, 0, i32) for x in operands]
    total = e.BINARY[op.schema.base](*(ranked(value, op.result) for value in wide)).result
    return limited(rescale(total, most / (found.to.scale * 2**_SUM_BITS), 0, found.to.zero_point), found)


@CONVERTERS.integers("mul.Tensor")
def _product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, operands = operands_of(found, 2)
    wide = [ranked(rescale(x.value, 1.0, x.type.zero_point, 0, i32), op.result) for x in operands]
    ratio = operands[0].type.scale * operands[1].type.scale / found.to.scale
    return limited(rescale(e.MulOp(*wide).result, ratio, 0, found.to.zero_point), found)


@CONVERTERS.integers(*FUNCTIONS)
def _function(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return e.TableOp(found.x.value, found.table()).result


@CONVERTERS.integers("avg_pool2d", "mean.dim")
def _average(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Converts means. To another scale they are sums of products with 1, which are rounded once."""
    op, x, to = found.operator, found.x, found.to
    assert op is not None
    if op.schema.base == "mean" and not is_of_pixels(op):
        return reductions.integer_mean(found)
    if x.type.stands_for_same(to):
        return limited(_moved(op, x.value, to.zero_point), found)
    windows, channels = _averaged(op), shape_of(x.value)[1]
    ones = constant(constants, "ones", np.ones((*windows.kernel, channels, 1), np.int8), i8)
    bias = constant(constants, "no_bias", np.zeros(1, np.int32), i32)
    numbers: dict[str, Any] = {"pad": whole_windows(shape_of(x.value), windows), "stride": windows.stride, "dilation": (1, 1)}

    def means(image: SSAValue) -> SSAValue:
        sums = DepthwiseConv2dOp(image, ones, bias, x.type.zero_point, **numbers).result
        return rescale(sums, x.type.scale / to.scale / prod(windows.kernel), 0, to.zero_point)

    return limited(reshaped(_on_images(x.value, means), shape_of(op.result)), found)


@CONVERTERS.integers("max_pool2d_with_indices", "view_copy", "permute_copy")
def _pool_or_move(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    assert found.operator is not None
    moved = _moved(found.operator, found.x.value, found.x.type.zero_point)
    return limited(same(Quantized(moved, found.x.type), found.to), found)


@CONVERTERS.integers("cat")
def _integer_concatenation(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    assert found.operator is not None
    return limited(ConcatOp([same(x, found.to) for x in found.inputs if x is not None], axis=dim_of(found.operator)).result, found)


@CONVERTERS.integers("quantized_decomposed.quantize_per_tensor")
def _requantize(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(same(found.x, found.to), found)


# Floats


@CONVERTERS("relu", "clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = (0, None) if len(op.arguments()) == 1 else op.arguments()[1:]
    largest = float(np.finfo(np.float32).max)
    low, high = (-largest if least is None else least), (largest if most is None else most)
    return e.ClampOp(op.operands[0], min_val=float(low), max_val=float(high)).result


for _name, _node in (*((f"{name}.Tensor", e.BINARY[name]) for name in ("add", "sub")), ("mul.Tensor", e.MulOp)):
    CONVERTERS(_name)(lambda op, constants, node=_node: node(*(ranked(value, op.result) for value in op.operands)).result)


@CONVERTERS("add.Scalar", "mul.Scalar")
def _with_number(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, number = op.arguments()[:2]
    loaded = constant(constants, "number", np.full((1,) * len(shape_of(x)), number, np.float32), f32)
    return (e.MulOp if op.schema.base == "mul" else e.BINARY["add"])(x, loaded).result


for _name in ("maximum", "minimum"):
    CONVERTERS(_name)(lambda op, constants, node=e.BINARY[_name]: node(*(ranked(value, op.result) for value in op.operands)).result)

for _name, _node in e.UNARY.items():
    CONVERTERS(_name)(lambda op, constants, node=_node: node(op.operands[0]).result)


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d", "mean.dim", "view_copy", "permute_copy")
def _float_pool_or_move(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    if op.schema.base == "mean" and not is_of_pixels(op):
        return reductions.float_mean(op, constants)
    return _moved(op, op.operands[0], 0)


@CONVERTERS("cat")
def _concatenation(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return ConcatOp(list(op.operands), axis=dim_of(op)).result


def _moved(op: SchemaOp, x: SSAValue, zero_point: int) -> SSAValue:
    """Returns the result of a pool or of an operator that moves elements, of floats or of integers."""
    match op.schema.base:
        case "view_copy":
            return reshaped(x, shape_of(op.result))
        case "permute_copy":
            return TransposeOp(x, permutation(op)).result
        case "mean" | "avg_pool2d":
            return reshaped(_pooled(x, _averaged(op), zero_point), shape_of(op.result))
        case _:
            return _pooled(x, windows_of(op), None)


def _averaged(op: SchemaOp) -> Windows:
    """Returns the windows of an average pool, or the one of a mean of images."""
    return Windows(shape_of(op.operands[0])[2:], (1, 1), (0, 0), (1, 1), (0, 0)) if op.schema.base == "mean" else windows_of(op)


def _pooled(x: SSAValue, windows: Windows, zero_point: int | None) -> SSAValue:
    """Returns the means of windows, or their largest elements where there is no zero point."""
    numbers: dict[str, Any] = {"kernel": windows.kernel, "stride": windows.stride, "pad": whole_windows(shape_of(x), windows)}
    if zero_point is None:
        return _on_images(x, lambda image: MaxPool2dOp(image, **numbers).result)
    return _on_images(x, lambda image: AvgPool2dOp(image, zero_point, zero_point, **numbers).result)
