"""Converts `edge` operators to `tosa` ones, in floats or between integers, with transposes around operators of images."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.converters import (
    arithmetic,
    functions,
    layers,
    movement,
    norms,
    products,
    reductions,
    resizing,
    softmax,
    tables,
)
from flambeau.backends.tosa.converters.building import CONVERTERS, check_sums, constant, largest, limited, quantized, ranked, reshaped, same
from flambeau.backends.tosa.converters.halves import IN_FLOAT32, in_float32
from flambeau.backends.tosa.converters.images import on_images, without_rest
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.choices import SelectOp
from flambeau.backends.tosa.dialect.images import AvgPool2dOp, DepthwiseConv2dOp, MaxPool2dOp
from flambeau.backends.tosa.dialect.movement import ConcatOp, PadOp, ReshapeOp, ReverseOp, SliceOp, TileOp, TransposeOp
from flambeau.backends.tosa.dialect.operators import OfTwoOp, TosaOp, wide
from flambeau.backends.tosa.legality import is_of_pixels, windows_inside
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.delegation.normalized import Windows, dim_of, permutation, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.support.lazy import np

FAMILIES = (arithmetic, functions, layers, movement, norms, products, reductions, resizing, softmax, tables)
"""The converters that are not in this file."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: TosaOptions) -> None:
    """Rewrites a partition in `tosa` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)
    moves = Transposes(TransposeOp, "perms", reshaped, _is_elementwise, constants)
    moving = [moves.join(), moves.past_elements(TosaOp), moves.join_reshapes(ReshapeOp), moves.past(PadOp, "padding")]
    moving += [moves.past_axis(kind) for kind in (ConcatOp, ReverseOp)]
    moving += [moves.past(SliceOp, "start", "size"), moves.past(TileOp, "multiples")]
    apply_patterns(partition, moving)
    apply_patterns(partition, [moves.as_reshape(), *moving])


def _is_elementwise(op: SchemaOp) -> bool:
    return op.elementwise or isinstance(op, (OfTwoOp, SelectOp)) or (isinstance(op, e.RescaleOp) and len(op.argument("shift")) == 1)


# Integers


@CONVERTERS.integers("avg_pool2d", "mean.dim")
def _average(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Converts means. To another scale they are sums of products with 1, which are rounded once."""
    op, x, to = found.operator, found.x, found.to
    assert op is not None
    if op.schema.base == "mean" and not is_of_pixels(op):
        return reductions.integer_mean(found)
    check_sums(op, i32, largest(x.type) * prod(_averaged(op).kernel), x.type.scale / to.scale / prod(_averaged(op).kernel))
    if x.type.stands_for_same(to):
        return limited(_moved(op, x.value, to.zero_point), found)
    windows, channels, sums = _averaged(op), shape_of(x.value)[1], wide(element_of(x.value))
    ones = constant(constants, "ones", np.ones((*windows.kernel, channels, 1), np.int8), i8)
    bias = constant(constants, "no_bias", np.zeros(1, numpy_dtype(sums)), sums)
    pad, cut = windows_inside(shape_of(x.value), windows)
    numbers: dict[str, Any] = {"pad": pad, "stride": windows.stride, "dilation": (1, 1)}

    def means(image: SSAValue) -> SSAValue:
        found = DepthwiseConv2dOp(without_rest(image, cut), ones, bias, x.type.zero_point, **numbers).result
        return quantized(found, x.type.scale / to.scale / prod(windows.kernel), to)

    return limited(reshaped(on_images(x.value, means), shape_of(op.result)), found)


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
    largest = float(np.finfo(numpy_dtype(element_of(op.result)).name).max)
    low, high = (-largest if least is None else least), (largest if most is None else most)
    return e.ClampOp(op.operands[0], min_val=float(low), max_val=float(high)).result


for _name, _node in (*((f"{name}.Tensor", e.BINARY[name]) for name in ("add", "sub")), ("mul.Tensor", e.MulOp)):
    CONVERTERS(_name)(lambda op, constants, node=_node: node(*(ranked(value, op.result) for value in op.operands)).result)


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


for _name in IN_FLOAT32:
    CONVERTERS(_name)(in_float32(CONVERTERS[_name]))


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
    pad, cut = windows_inside(shape_of(x), windows)
    numbers: dict[str, Any] = {"kernel": windows.kernel, "stride": windows.stride, "pad": pad}

    def pooled(image: SSAValue) -> SSAValue:
        image = without_rest(image, cut)
        if zero_point is None:
            return MaxPool2dOp(image, **numbers).result
        return AvgPool2dOp(image, zero_point, zero_point, **numbers).result

    return on_images(x, pooled)
