"""Converts `edge` operators to `coreml` ones, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from xdsl.ir import Attribute, SSAValue

from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml.borders import enter, leave
from flambeau.backends.coreml.dialect import compressed, logic, movement, products, reductions
from flambeau.backends.coreml.dialect import elementwise as e
from flambeau.backends.coreml.narrow import narrow
from flambeau.backends.coreml.palettes import palettize
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import broadcast, element_of, f32, i1, i32, i64, normalize_dim, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.normalized import Numbers, dim_of, pads_of, permutation, reduced_dims, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("coreml")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: CoreMlOptions) -> None:
    """Rewrites a partition in `coreml` operators. Raises ConversionError, which lists the operators that have no converter."""
    enter(partition, constants)
    CONVERTERS.apply(partition, constants)
    leave(partition)
    if options.weights == "palettized4":
        palettize(partition, constants)
    if options.precision == "f16":
        narrow(partition, constants)


def _constant(constants: ModuleConstants, name: str, array: Array) -> SSAValue:
    array = np.asarray(array, np.float32, order="C")
    return constants.add(name, array, tensor(f32, array.shape)).result


def _number(constants: ModuleConstants, number: float) -> SSAValue:
    return _constant(constants, "number", np.full((), number))


def _reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(shape) else movement.ReshapeMilOp(value, shape=tuple(shape)).result


def _repeated(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns a value broadcast to a shape."""
    before = (*(1,) * (len(shape) - len(shape_of(value))), *shape_of(value))
    reps = tuple(new if old != new else 1 for old, new in zip(before, shape, strict=True))
    x = _reshaped(value, before)
    return x if set(reps) <= {1} else movement.TileMilOp(x, reps=reps).result


# Elementwise

CONVERTERS.of_operands({**e.UNARY, **e.BINARY})
CONVERTERS.arithmetic(e.ARITHMETIC, lambda op, constants: _number(constants, op.argument("other")))
CONVERTERS.update(
    {
        "elu": lambda op, constants: e.EluMilOp(op.operands[0], alpha=float(op.argument("alpha"))).result,
        "hardsigmoid": lambda op, constants: _hardsigmoid(op.operands[0]),
        "hardswish": lambda op, constants: e.ARITHMETIC["mul"](op.operands[0], _hardsigmoid(op.operands[0])).result,
        "leaky_relu": lambda op, constants: e.LeakyReluMilOp(op.operands[0], alpha=float(op.argument("negative_slope"))).result,
        "log": lambda op, constants: e.LogMilOp(op.operands[0], epsilon=0.0).result,
        "neg": lambda op, constants: e.ARITHMETIC["mul"](op.operands[0], _number(constants, -1)).result,
        "reciprocal": lambda op, constants: e.ARITHMETIC["div"](_number(constants, 1), op.operands[0]).result,
        "rsqrt": lambda op, constants: e.RsqrtMilOp(op.operands[0], epsilon=0.0).result,
        "where.self": lambda op, constants: _choice(op),
    }
)


def _choice(op: SchemaOp) -> SSAValue:
    """Converts a choice. coremltools takes the shape of what is chosen from for that of the result."""
    condition, x, other = op.operands
    shape = shape_of(op.result)
    whole = x if broadcast(shape_of(x), shape_of(other)) == shape else _repeated(x, shape)
    return e.SelectMilOp(condition, whole, other).result


def _hardsigmoid(x: SSAValue) -> SSAValue:
    return e.SigmoidHardMilOp(x, alpha=1 / 6, beta=0.5).result


@CONVERTERS("gelu")
def _gelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return e.GeluMilOp(op.operands[0], mode="TANH_APPROXIMATION" if op.argument("approximate") == "tanh" else "EXACT").result


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts limits. One alone is a maximum or a minimum: the operator of MIL has both."""
    x, (least, most) = op.operands[0], op.arguments()[1:]
    if least is None:
        return x if most is None else e.BINARY["minimum"](x, _number(constants, most)).result
    if most is None:
        return e.BINARY["maximum"](x, _number(constants, least)).result
    return e.ClipMilOp(x, alpha=float(least), beta=float(most)).result


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a power. Products have the sign of a negative base, of which only they are sure."""
    x, exponent = op.operands[0], op.argument("exponent")
    if exponent not in (1, 2, 3, 4):
        return e.PowMilOp(x, _number(constants, exponent)).result
    result = x
    for _ in range(int(exponent) - 1):
        result = e.ARITHMETIC["mul"](result, x).result
    return result


# Comparisons, and conversions

CONVERTERS.of_operands({f"{name}.Tensor": kind for name, kind in logic.COMPARISONS.items()})
CONVERTERS.of_operands({f"logical_{name}": kind for name, kind in logic.LOGICAL.items()})
CONVERTERS.of_operands({f"bitwise_{name}.Tensor": kind for name, kind in logic.LOGICAL.items()})
CONVERTERS.of_operands(dict.fromkeys(("logical_not", "bitwise_not"), logic.LogicalNotMilOp))


@CONVERTERS(*(f"{name}.Scalar" for name in logic.COMPARISONS))
def _compare(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, other = op.operands[0], op.argument("other")
    number = _number(constants, other) if element_of(x) == f32 else _whole_number(constants, other)
    return logic.COMPARISONS[op.schema.base](x, number).result


def _whole_number(constants: ModuleConstants, number: int) -> SSAValue:
    return constants.add("number", np.full((), number, np.int32), tensor(i32, ())).result


def _cast(x: SSAValue, element: Attribute) -> SSAValue:
    """Returns x in other elements; integers of 64 bits are of 32."""
    wanted = i32 if element == i64 else element
    return x if element_of(x) == wanted else e.CastMilOp(x, dtype=next(name for name, kind in e.ELEMENTS.items() if kind == wanted)).result


CONVERTERS.update({"_to_copy": lambda op, constants: _cast(op.operands[0], element_of(op.result))})


@CONVERTERS("any.dim", "any.dims")
def _any(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts whether an element is true: the largest of 0 and 1."""
    dims = reduced_dims(op) if op.schema.name == "any.dims" else (dim_of(op),)
    found = reductions.ReduceMaxMilOp(_cast(op.operands[0], i32), axes=tuple(dims), keep_dims=op.argument("keepdim"))
    return _cast(found.result, i1)


# Weights of integers


def _integers(constants: ModuleConstants, of: SSAValue, array: Array) -> SSAValue:
    """Returns a constant of the integers that another one has."""
    kind = element_of(of)
    array = np.asarray(array, numpy_dtype(kind), order="C")
    return constants.add(f"{constants.name(of)}.zero_points", array, tensor(kind, array.shape)).result


@CONVERTERS("quantized_decomposed.dequantize_per_tensor", "quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    data = op.operands[0]
    if op.schema.base == "dequantize_per_tensor":
        axis, scale, zero = 0, np.asarray(op.argument("scale")), np.asarray(op.argument("zero_point"))
    else:
        axis = normalize_dim(op.argument("axis"), len(shape_of(data)))
        scale, zeros = (None if value is None else constants.elements(value) for value in op.arguments()[1:3])
        assert scale is not None
        zero = np.zeros(scale.shape) if zeros is None else zeros
    factors = _constant(constants, f"{constants.name(data)}.scales", scale)
    return compressed.AffineDequantizeMilOp(data, _integers(constants, data, zero), factors, axis=axis).result


@CONVERTERS("quantized_decomposed.dequantize_per_channel_group")
def _dequantize_groups(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    data, scales, zeros = op.arguments()[:3]
    blocks = (shape_of(data)[0], shape_of(data)[1] // op.argument("group_size"))
    factors = _constant(constants, f"{constants.name(scales)}.blocks", constants.elements(scales).reshape(blocks))
    offsets = None if zeros is None else constants.elements(zeros).reshape(blocks)
    offset = None if offsets is None or not offsets.any() else _integers(constants, data, offsets)
    return compressed.BlockwiseShiftScaleMilOp(data, factors, offset).result


def _is_stored(value: SSAValue | None, constants: ModuleConstants) -> bool:
    """Returns whether a value is known when a model is loaded."""
    return value is None or constants.is_constant(value) or isinstance(value.owner, (*DEQUANTIZATIONS, compressed.ConstexprMilOp))


# Products


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a layer. What computes its weight, and more dimensions than a layer of MIL has, make it a product."""
    x, weight, bias = op.arguments()
    if _is_stored(weight, constants) and _is_stored(bias, constants) and len(shape_of(x)) <= 3:
        return products.LinearMilOp(x, weight, bias).result
    rows = _reshaped(x, (1, *shape_of(x))) if len(shape_of(x)) == 1 else x
    result = _reshaped(products.MatmulMilOp(rows, weight, transpose_y=True).result, shape_of(op.result))
    return result if bias is None else e.ARITHMETIC["add"](result, bias).result


CONVERTERS.update(dict.fromkeys(("mm", "bmm"), lambda op, constants: products.MatmulMilOp(*op.operands).result))


@CONVERTERS("addmm")
def _addmm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    addend, left, right = op.operands
    return e.ARITHMETIC["add"](products.MatmulMilOp(left, right).result, addend).result


@CONVERTERS("scaled_dot_product_attention")
def _attention(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    query, key, value = op.operands[:3]
    mask = None
    if op.argument("is_causal"):
        array = np.tril(np.ones((shape_of(query)[-2], shape_of(key)[-2]), np.bool_))
        mask = constants.add("causal", array, tensor(i1, array.shape)).result
    return products.ScaledDotProductAttentionMilOp(query, key, value, mask).result


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    windows = windows_of(op)
    kind = products.ConvTransposeMilOp if op.argument("transposed") else products.ConvMilOp
    pairs = ((pad, pad - more) for pad, more in zip(windows.padding, windows.output_padding, strict=True))
    return kind(
        *(op.argument(name) for name in ("input", "weight", "bias")),
        strides=windows.stride,
        pad=tuple(chain(*pairs)),
        dilations=windows.dilation,
        groups=op.argument("groups"),
    ).result


# Pools


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d")
def _pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, windows = op.operands[0], windows_of(op)
    pad = tuple(chain(*((size, size) for size in windows.padding)))
    if len(op.results) > 1:
        return reductions.MaxPoolMilOp(x, kernel_sizes=windows.kernel, strides=windows.stride, pad=pad).result
    excluded = not op.argument("count_include_pad")
    return _mean(x, windows.kernel, windows.stride, pad, excluded)


def _mean(x: SSAValue, kernel: Numbers, stride: Numbers, pad: Numbers, excluded: bool = False) -> SSAValue:
    return reductions.AvgPoolMilOp(x, kernel_sizes=kernel, strides=stride, pad=pad, exclude_padding_from_average=excluded).result


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, (old, new) = op.operands[0], (shape_of(op.operands[0])[2:], shape_of(op.result)[2:])
    if new == (1, 1):
        return reductions.ReduceMeanMilOp(x, axes=(2, 3), keep_dims=True).result
    kernel = tuple(size // count for size, count in zip(old, new, strict=True))
    return _mean(x, kernel, kernel, (0, 0, 0, 0))


# Reductions and norms

_REDUCTIONS = {
    "amax": reductions.ReduceMaxMilOp,
    "amin": reductions.ReduceMinMilOp,
    "mean": reductions.ReduceMeanMilOp,
    "sum": reductions.ReduceSumMilOp,
}


@CONVERTERS("amax", "amin", "mean.dim", "sum.dim_IntList")
def _reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _REDUCTIONS[op.schema.base](op.operands[0], axes=tuple(reduced_dims(op)), keep_dims=op.argument("keepdim")).result


@CONVERTERS("_softmax")
def _softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return reductions.SoftmaxMilOp(op.operands[0], axis=dim_of(op)).result


@CONVERTERS("_log_softmax")
def _log_softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = op.operands[0]
    return e.ARITHMETIC["sub"](x, reductions.ReduceLogSumExpMilOp(x, axes=(dim_of(op),), keep_dims=True).result).result


@CONVERTERS("native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a norm. An addend alone gets factors of 1: coremltools 9.0 fails on a `beta` without `gamma`."""
    x, sizes, weight, bias, eps = op.arguments()
    rank = len(shape_of(x))
    if weight is None and bias is not None:
        weight = _constant(constants, "ones", np.ones(shape_of(bias)))
    return reductions.LayerNormMilOp(x, weight, bias, axes=tuple(range(rank - len(sizes), rank)), epsilon=float(eps)).result


@CONVERTERS("native_group_norm")
def _group_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a norm of groups of channels: that of rows, and a factor and an addend for each channel."""
    x, weight, bias, count, channels, area, groups, eps = op.arguments()
    rows = _reshaped(x, (count * groups, channels // groups * area))
    result = _reshaped(reductions.LayerNormMilOp(rows, axes=(1,), epsilon=float(eps)).result, (count, channels, area))
    for kind, given in (("mul", weight), ("add", bias)):
        if given is not None:
            each = _constant(constants, f"{constants.name(given)}.coreml", constants.elements(given).reshape(channels, 1))
            result = e.ARITHMETIC[kind](result, each).result
    return _reshaped(result, shape_of(x))


# Movement

CONVERTERS.update(
    {
        "view_copy": lambda op, constants: _reshaped(op.operands[0], shape_of(op.result)),
        "unsqueeze_copy": lambda op, constants: movement.ExpandDimsMilOp(op.operands[0], axes=(dim_of(op, op.result),)).result,
        "permute_copy": lambda op, constants: movement.TransposeMilOp(op.operands[0], perm=permutation(op)).result,
        "cat": lambda op, constants: movement.ConcatMilOp(list(op.operands), axis=dim_of(op)).result,
        "stack": lambda op, constants: movement.StackMilOp(list(op.operands), axis=dim_of(op, op.result)).result,
        "pixel_shuffle": lambda op, constants: (
            movement.PixelShuffleMilOp(op.operands[0], upscale_factor=op.argument("upscale_factor")).result
        ),
    }
)


@CONVERTERS("squeeze_copy.dim", "squeeze_copy.dims")
def _squeeze(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    given, shape = op.argument("dim"), shape_of(op.operands[0])
    named: tuple[int, ...] = (given,) if isinstance(given, int) else given
    gone = tuple(dim for dim in (normalize_dim(dim, len(shape)) for dim in named) if shape[dim] == 1)
    return movement.SqueezeMilOp(op.operands[0], axes=gone).result if gone else op.operands[0]


@CONVERTERS("embedding")
def _embedding(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return movement.GatherMilOp(op.argument("weight"), op.argument("indices"), axis=0).result


@CONVERTERS("index.Tensor")
def _index(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts constant indices of the first dimensions to those of elements. Booleans are integers meanwhile: MIL gathers no others."""
    x, given = op.operands[0], [constants.elements(value) for value in op.argument("indices")]
    sizes = shape_of(x)[: len(given)]
    places = [np.where(array < 0, array + size, array) for array, size in zip(given, sizes, strict=True)]
    array = np.stack(np.broadcast_arrays(*places), -1).astype(np.int32)
    indices = constants.add("indices", array, tensor(i32, array.shape)).result
    numbers = _cast(x, i32) if element_of(x) == i1 else x
    return _cast(movement.GatherNdMilOp(numbers, indices).result, element_of(x))


@CONVERTERS("index_put")
def _index_put(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    ((dim, indices),) = ((dim, value) for dim, value in enumerate(op.argument("indices")) if value is not None)
    return movement.ScatterMilOp(op.operands[0], indices, op.argument("values"), axis=dim).result


def _part(x: SSAValue, dim: int, start: int, end: int, step: int = 1) -> SSAValue:
    """Returns every `step`th entry of a dimension, from `start` on, before `end`."""
    shape = shape_of(x)
    begin, ends, strides = [0] * len(shape), list(shape), [1] * len(shape)
    begin[dim], ends[dim], strides[dim] = start, end, step
    return movement.SliceByIndexMilOp(x, begin=tuple(begin), end=tuple(ends), stride=tuple(strides)).result


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim, first, step = dim_of(op), start_of(op), op.argument("step")
    return _part(op.operands[0], dim, first, first + (shape_of(op.result)[dim] - 1) * step + 1, step)


@CONVERTERS("select_copy.int")
def _select(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim, first = dim_of(op), start_of(op)
    return movement.SqueezeMilOp(_part(op.operands[0], dim, first, first + 1), axes=(dim,)).result


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    if len(op.results) == 1:
        return [op.operands[0]]
    return list(movement.SplitMilOp(op.operands[0], split_sizes=op.argument("split_sizes"), axis=dim_of(op)).results)


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _repeated(op.operands[0], shape_of(op.result))


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pairs = zip(*pads_of(op), strict=True)
    return movement.PadMilOp(op.operands[0], pad=tuple(chain(*pairs)), constant_val=float(op.argument("value"))).result


@CONVERTERS("upsample_nearest2d.vec", "upsample_bilinear2d.vec")
def _resize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, old, new = op.operands[0], shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    height, width = (float(after // before) for before, after in zip(old, new, strict=True))
    if op.schema.base == "upsample_nearest2d":
        return movement.UpsampleNearestNeighborMilOp(x, scale_factor_height=height, scale_factor_width=width).result
    aligned = op.argument("align_corners")
    return movement.UpsampleBilinearMilOp(x, scale_factor_height=height, scale_factor_width=width, align_corners=aligned).result
