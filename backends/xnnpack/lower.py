"""Converts `edge` operators to `xnnpack` ones, operator by operator, with transposes around nodes that take images as [N, H, W, C]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import SSAValue

from flambeau.backends.xnnpack.dialect import elementwise as e
from flambeau.backends.xnnpack.dialect import movement, pooling, products
from flambeau.backends.xnnpack.dynamic import DYNAMIC
from flambeau.backends.xnnpack.layouts import move_layouts, reshaped
from flambeau.backends.xnnpack.quantized import (
    by_outputs,
    constant,
    dequantize,
    elements,
    layer_operands,
    move_in_integers,
    quantize,
    round_rows,
    with_elements,
)
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.extents import largest, provably_equal
from flambeau.dialects.ir.tensor_types import element_of, f32, shape_of
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.normalized import Windows, dim_of, pads_of, permutation, reduced_dims, sizes_before, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

CHANNELS_FIRST = (0, 3, 1, 2)
"""The order of the transpose from [N, H, W, C] to [N, C, H, W]."""

CONVERTERS = Converters("xnnpack")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `xnnpack` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)
    move_layouts(partition, constants)
    move_in_integers(partition)


def _transposed(value: SSAValue, order: Sequence[int]) -> SSAValue:
    return movement.StaticTransposeNodeOp(tuple(order), value).result


def _on_images(value: SSAValue, node: Callable[[SSAValue], SchemaOp]) -> SSAValue:
    """Returns images [N, C, H, W] after a node for images [N, H, W, C]: transposes `value`, applies `node`, transposes the result back."""
    return _transposed(node(_transposed(value, CHANNELS_LAST)).result, CHANNELS_FIRST)


def _number(constants: ModuleConstants, number: float, like: SSAValue) -> SSAValue:
    return constant(constants, "number", np.full((1,), number), like)


# Elementwise

CONVERTERS.of_operands({**e.UNARY, **e.BINARY, "_softmax": e.SoftmaxNodeOp, "bmm": products.BatchMatrixMultiplyNodeOp})
CONVERTERS.arithmetic(e.ARITHMETIC, lambda op, constants: _number(constants, op.argument("other"), op.result))
CONVERTERS.update(
    {
        "reciprocal": lambda op, constants: e.ARITHMETIC["div"](_number(constants, 1, op.result), op.operands[0]).result,
        "elu": lambda op, constants: e.EluNodeOp(op.argument("alpha"), op.operands[0]).result,
        "leaky_relu": lambda op, constants: e.LeakyReluNodeOp(op.argument("negative_slope"), op.operands[0]).result,
    }
)


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    square = e.SquareNodeOp(op.operands[0]).result
    return square if op.argument("exponent") == 2 else e.ARITHMETIC["mul"](square, op.operands[0]).result


@CONVERTERS("where.self")
def _where(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a choice between x and constant numbers to limits of x, both of which are the number where the number is chosen."""
    chosen, x, other = (constants.array(value) for value in op.operands)
    assert chosen is not None
    value = op.operands[1] if other is not None else op.operands[2]
    chosen, number = (chosen, other) if other is not None else (~chosen, x)
    assert number is not None
    least, most = (np.where(chosen, limit, number) for limit in (-np.inf, np.inf))
    least, most = (limit.reshape(limit.shape or (1,)) for limit in (least, most))
    if (least > -np.inf).any():
        value = e.BINARY["maximum"](value, constant(constants, "limit", least, value)).result
    return e.BINARY["minimum"](value, constant(constants, "limit", most, value)).result


@CONVERTERS("relu", "clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = (0, None) if len(op.arguments()) == 1 else op.arguments()[1:]
    return e.ClampNodeOp(op.operands[0], output_min=least, output_max=most).result


@CONVERTERS("_to_copy")
def _conversion(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a change of type. Without a change there is no node: XNNPACK crashes on some graphs with copies of inputs."""
    x, element = op.operands[0], element_of(op.result)
    return x if element == element_of(x) else e.ConvertNodeOp(element, x).result


@CONVERTERS("prelu")
def _prelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, slope = op.operands[0], reshaped(op.operands[1], (prod(shape_of(op.operands[1])),))
    *batch, channels, length = shape_of(x) if len(shape_of(x)) == 3 else (0, 0, 0)
    if len(shape_of(x)) < 3 or shape_of(slope) == (1,):
        return e.PreluNodeOp(x, slope).result
    # A line becomes an image of height 1.
    image = reshaped(x, (*batch, channels, 1, length)) if batch[0] else x
    return reshaped(_on_images(image, lambda image: e.PreluNodeOp(image, slope)), shape_of(op.result))


# Quantized numbers

CONVERTERS("quantized_decomposed.quantize_per_tensor")(quantize)
CONVERTERS(*(f"quantized_decomposed.dequantize_per_{part}" for part in ("tensor", "channel", "channel_group")))(dequantize)

for _kind, (_, _results) in DYNAMIC.items():
    CONVERTERS(_kind.name)(round_rows if _results == (f32,) else lambda op, constants: None)


# Products


def _numbers(windows: Windows) -> tuple[int, ...]:
    return (*windows.padding, *windows.padding, *windows.kernel, *windows.stride, *windows.dilation)


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias, windows = op.operands[0], op.argument("weight"), op.argument("bias"), windows_of(op)
    transposed, groups = op.argument("transposed"), op.argument("groups")
    weight = by_outputs(weight, 0 if not transposed else 1 if groups == 1 else None, constants)
    array = elements(weight, constants)
    if array.ndim == 3:
        # A line is an image of height 1.
        shape = shape_of(x)
        x, array = reshaped(x, (*shape[:2], 1, shape[2])), array[:, :, None]
        windows = windows.of_images()
    channel_dim = 0
    if transposed:
        # [groups, inputs, outputs, height, width] to [groups * outputs, height, width, inputs]
        kind, outputs = products.ConvTranspose2dNodeOp, array.shape[1]
        grouped = array.reshape(groups, -1, *array.shape[1:]).transpose(0, 2, 3, 4, 1)
        weights = grouped.reshape(groups * outputs, *grouped.shape[2:])
        inputs = weights.shape[3]
    else:
        inputs, outputs = array.shape[1], array.shape[0] // groups
        is_depthwise = inputs == 1 and groups > 1
        kind = products.DepthwiseConv2dNodeOp if is_depthwise else products.Conv2dNodeOp
        weights, channel_dim = array.transpose((1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)), 3 if is_depthwise else 0
    numbers = (*_numbers(windows), inputs, outputs, groups, *windows.output_padding)
    loaded = with_elements(weight, weights, channel_dim, constants)
    image = _on_images(x, lambda image: kind(*numbers, image, loaded, bias))
    return reshaped(image, shape_of(op.result))


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.arguments()
    return products.FullyConnectedNodeOp(*layer_operands(x, weight, constants), bias).result


@CONVERTERS("mm", "addmm")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight = (op.operands[-2], op.operands[-1])
    loaded = constant(constants, f"{constants.name(weight)}.xnnpack", constants.elements(weight).T, weight)
    return products.FullyConnectedNodeOp(x, loaded, op.operands[0] if len(op.operands) == 3 else None).result


# Pools


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d")
def _pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    kind = pooling.MaxPooling2dNodeOp if len(op.results) > 1 else pooling.AvgPooling2dNodeOp
    numbers = _numbers(windows_of(op))
    return _on_images(op.operands[0], lambda image: kind(*numbers, image))


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    if shape_of(op.result)[2:] == (1, 1):
        return _on_images(op.operands[0], _mean_of_image)
    kernel = [old // new for old, new in zip(shape_of(op.operands[0])[2:], shape_of(op.result)[2:], strict=True)]
    return _on_images(op.operands[0], lambda image: pooling.AvgPooling2dNodeOp(0, 0, 0, 0, *kernel, *kernel, 1, 1, image))


# Reductions


def _product_of_rows(x: SSAValue, factor: float, bias: float | None, constants: ModuleConstants) -> SSAValue:
    """Returns the sums over the last dimension (kept as 1) times `factor`, plus `bias`, as a product, because XNNPACK has no sums."""
    weight = constant(constants, "ones", np.full((1, shape_of(x)[-1]), factor), x)
    return products.FullyConnectedNodeOp(x, weight, None if bias is None else _number(constants, bias, x)).result


@CONVERTERS("mean.dim", "sum.dim_IntList")
def _reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a sum or mean, which is computed in float32: in float16, additions would lose most of what they add to a large sum."""
    element = element_of(op.result)
    x = op.operands[0] if element == f32 else e.ConvertNodeOp(f32, op.operands[0]).result
    dims, is_mean = reduced_dims(op), op.schema.base == "mean"
    shape, count = shape_of(x), prod(shape_of(x)[dim] for dim in dims)
    before, behind = shape[: dims[0]], shape[dims[-1] + 1 :]
    if dims == [2, 3] and len(shape) == 4:
        result = _on_images(x, _mean_of_image)
    elif behind:
        image = reshaped(x, (prod(before), count, 1, prod(behind)))
        result = _mean_of_image(image).result
    else:
        result = _product_of_rows(reshaped(x, (*(before or (1,)), count)), 1 / count if is_mean else 1, None, constants)
        is_mean = True
    result = result if is_mean else e.ARITHMETIC["mul"](result, _number(constants, count, x)).result
    return reshaped(result if element == f32 else e.ConvertNodeOp(element, result).result, shape_of(op.result))


def _mean_of_image(image: SSAValue) -> SchemaOp:
    """Returns the mean over height and width. Of float16 with a dynamic result, it is computed in float32: see `has_dynamic_means`."""
    element = element_of(image)
    if element == f32 or not pooling.has_dynamic_means(image):
        return pooling.GlobalAvgPooling2dNodeOp(image, pooling.KEEP_DIMS)
    return e.ConvertNodeOp(element, pooling.GlobalAvgPooling2dNodeOp(e.ConvertNodeOp(f32, image).result, pooling.KEEP_DIMS).result)


@CONVERTERS("native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, sizes, weight, bias, eps = op.arguments()
    shape, count = shape_of(x), prod(sizes)
    x = reshaped(x, (*(shape[: -len(sizes)] or (1,)), count))
    centred = e.ARITHMETIC["sub"](x, _product_of_rows(x, 1 / count, None, constants)).result
    variance = _product_of_rows(e.SquareNodeOp(centred).result, 1 / count, eps, constants)
    result = e.ARITHMETIC["mul"](centred, e.UNARY["rsqrt"](variance).result).result
    if weight is not None:
        result = e.ARITHMETIC["mul"](result, reshaped(weight, (count,))).result
    if bias is not None:
        result = e.ARITHMETIC["add"](result, reshaped(bias, (count,))).result
    return reshaped(result, shape)


# Movement


CONVERTERS("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims")(
    lambda op, constants: reshaped(op.operands[0], shape_of(op.result))
)
CONVERTERS("permute_copy")(lambda op, constants: _transposed(op.operands[0], permutation(op)))
CONVERTERS("cat")(lambda op, constants: _joined(list(op.operands), dim_of(op)))


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    before, behind = pads_of(op)
    return movement.StaticConstantPadNodeOp(before, behind, op.argument("value"), op.operands[0]).result


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    shape = list(shape_of(op.result))
    axis = dim_of(op, op.result)
    shape[axis] = 1
    return _joined([reshaped(value, tuple(shape)) for value in op.operands], axis)


def _joined(values: list[SSAValue], axis: int) -> SSAValue:
    while len(values) > 1:
        some, values = values[:5], values[5:]
        kind = find_op(f"xnnpack.concatenate{len(some)}")
        assert kind is not None
        values.insert(0, kind(axis, *some).result)
    return values[0]


def _part(x: SSAValue, offsets: list[int], sizes: Sequence[int]) -> SSAValue:
    """Returns a part of a tensor. A dimension of unknown extent stays whole: the slice has its upper bound, which is cut at run time."""
    return movement.StaticSliceNodeOp(tuple(offsets), tuple(largest(size) or 1 for size in sizes), x).result


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    offsets = [0] * len(shape_of(op.operands[0]))
    offsets[dim_of(op)] = start_of(op)
    return _part(op.operands[0], offsets, shape_of(op.result))


@CONVERTERS("select_copy.int")
def _select(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dim = op.operands[0], dim_of(op)
    offsets, sizes = [0] * len(shape_of(x)), list(shape_of(x))
    offsets[dim], sizes[dim] = start_of(op), 1
    return reshaped(_part(x, offsets, sizes), shape_of(op.result))


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    x, sizes, dim = op.operands[0], op.argument("split_sizes"), dim_of(op)
    offsets = [0] * len(shape_of(x))
    parts: list[SSAValue] = []
    for part, size in zip(op.results, sizes, strict=True):
        parts.append(_part(x, offsets, shape_of(part)))
        offsets[dim] += size
    return parts


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts an expansion to a product with ones of the new extents."""
    grown = tuple(1 if provably_equal(a, b) else b for a, b in zip(sizes_before(op), shape_of(op.result), strict=True))
    return e.ARITHMETIC["mul"](op.operands[0], constant(constants, "ones", np.ones(grown), op.result)).result


@CONVERTERS("pixel_shuffle")
def _pixel_shuffle(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, factor = op.arguments()
    *batch, channels, height, width = shape_of(x)
    image = reshaped(x, (prod(batch), channels // factor**2, factor, factor, height, width))
    return reshaped(_transposed(image, (0, 1, 4, 2, 5, 3)), shape_of(op.result))


@CONVERTERS("upsample_bilinear2d.vec")
def _resize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    height, width = shape_of(op.result)[2:]
    flags = movement.ALIGN_CORNERS if op.argument("align_corners") else 0
    return _on_images(op.operands[0], lambda image: movement.StaticResizeBilinear2dNodeOp(height, width, image, flags))
