"""Converts `edge` operators to `openvino` ones, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

from xdsl.ir import SSAValue

from flambeau.backends.openvino.dialect import elementwise as e
from flambeau.backends.openvino.dialect import movement, pooling, products, reductions
from flambeau.backends.openvino.dialect import quantization as q
from flambeau.backends.openvino.dialect.layers import LayerOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import element_of, f32, normalize_dim, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import Quantized, dequantized, quantized_type
from flambeau.passes.delegation.interface import BackendError, BackendOptions
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.lowering.reshapes import reshape_pattern
from flambeau.passes.delegation.normalized import Windows, dim_of, pads_of, permutation, reduced_dims, sizes_before, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

_PRODUCTS = (
    products.ConvolutionLayerOp,
    products.GroupConvolutionLayerOp,
    products.ConvolutionBackpropDataLayerOp,
    products.GroupConvolutionBackpropDataLayerOp,
    products.MatMulLayerOp,
)
_INTEGERS = (q.ConvertLayerOp, q.FakeQuantizeLayerOp)
DESTINATIONS = {element: name for name, element in q.DESTINATIONS.items()}
CONVERTERS = Converters("openvino")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `openvino` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)


def _constant(constants: ModuleConstants, name: str, array: Array) -> SSAValue:
    array = np.asarray(array, np.float32, order="C")
    return constants.add(name, array, tensor(f32, array.shape)).result


def _number(constants: ModuleConstants, number: float) -> SSAValue:
    return _constant(constants, "number", np.full((), number))


def _reshaped(value: SSAValue, constants: ModuleConstants, shape: Sequence[int]) -> SSAValue:
    """Returns a constant reshaped to `shape`."""
    return _constant(constants, f"{constants.name(value)}.openvino", constants.elements(value).reshape(tuple(shape)))


# Elementwise

CONVERTERS.of_operands({**e.UNARY, **e.BINARY, "where.self": e.SelectLayerOp, **dict.fromkeys(("mm", "bmm"), products.MatMulLayerOp)})
CONVERTERS.arithmetic(e.ARITHMETIC, lambda op, constants: _number(constants, op.argument("other")))
CONVERTERS.update(
    {
        "pow.Tensor_Scalar": lambda op, constants: e.PowerLayerOp(op.operands[0], _number(constants, op.argument("exponent"))).result,
        "reciprocal": lambda op, constants: e.PowerLayerOp(op.operands[0], _number(constants, -1)).result,
        # The form that OpenVINO recognizes in norms.
        "rsqrt": lambda op, constants: e.PowerLayerOp(e.UNARY["sqrt"](op.operands[0]).result, _number(constants, -1)).result,
        "elu": lambda op, constants: e.EluLayerOp(op.operands[0], alpha=float(op.argument("alpha"))).result,
        "_softmax": lambda op, constants: e.SoftMaxLayerOp(op.operands[0], axis=dim_of(op)).result,
    }
)


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts limits. OpenVINO would limit integers before it dequantizes them, with limits that are rounded for the operand's scale."""
    least, most = op.arguments()[1:]
    x = op.operands[0] if _keeps_its_scale(op, constants) else _in_floats(op.operands[0], constants)
    return e.ClampLayerOp(x, min=-inf if least is None else float(least), max=inf if most is None else float(most)).result


@CONVERTERS("leaky_relu")
def _leaky_relu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return e.PReLULayerOp(op.operands[0], _constant(constants, "slope", np.full((1,), op.argument("negative_slope")))).result


@CONVERTERS("gelu")
def _gelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return e.GeluLayerOp(op.operands[0], approximation_mode="TANH" if op.argument("approximate") == "tanh" else "ERF").result


# Quantized numbers


@CONVERTERS("quantized_decomposed.quantize_per_tensor")
def _quantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a quantization to `FakeQuantize`, which maps floats to numbers without fraction, and a `Convert` to integers."""
    assert isinstance(op, QuantizePerTensorOp)
    kind = quantized_type(op)
    limits = [(item - kind.zero_point) * kind.scale for item in (kind.low, kind.high)]
    rounded = q.FakeQuantizeLayerOp(op.operands[0], *limits, float(kind.low), float(kind.high), levels=kind.high - kind.low + 1)
    return q.ConvertLayerOp(rounded.result, destination_type=DESTINATIONS[kind.storage]).result


def _is_of(value: SSAValue, kinds: tuple[type[LayerOp], ...]) -> bool:
    """Returns whether a value is computed by a layer of these kinds, or from its result without a product between."""
    waiting, seen = [value], {value}
    while waiting:
        layer = waiting.pop().owner
        if isinstance(layer, kinds):
            return True
        if isinstance(layer, LayerOp) and not isinstance(layer, _PRODUCTS):
            new = set(layer.operands) - seen
            seen |= new
            waiting += new
    return False


def _in_floats(value: SSAValue, constants: ModuleConstants) -> SSAValue:
    """Returns the first power of a value that is computed from integers: OpenVINO computes nothing behind it in integers."""
    return e.PowerLayerOp(value, _number(constants, 1)).result if _is_of(value, _INTEGERS) else value


def _keeps_its_scale(op: SchemaOp, constants: ModuleConstants) -> bool:
    """Returns whether the one reader of an operator quantizes its result to the scale and zero point of its dequantized operand."""
    readers = [use.operation for use in op.result.uses]
    product = op.operands[0].owner
    if len(readers) != 1 or not isinstance(readers[0], QuantizePerTensorOp) or not isinstance(product, e.ARITHMETIC["mul"]):
        return False
    difference, scale = product.operands[0].owner, constants.array(product.operands[1])
    if isinstance(difference, e.ARITHMETIC["sub"]):
        integers, zero_point = difference.operands[0].owner, constants.array(difference.operands[1])
    else:
        integers, zero_point = difference, np.zeros(())
    if scale is None or zero_point is None or scale.size * zero_point.size != 1 or not isinstance(integers, q.ConvertLayerOp):
        return False
    kind = quantized_type(readers[0])
    return (float(scale.item()), int(zero_point.item())) == (kind.scale, kind.zero_point)


def _rounded(integers: Quantized) -> SSAValue | None:
    """Returns the floats of integers that are quantized from joined floats, by one layer; None for other integers.

    After `Concat`, OpenVINO 2026.4 computes other numbers with two layers and integers between; elsewhere, two are nearer to PyTorch.
    """
    convert = integers.value.owner
    rounding = convert.operands[0].owner if isinstance(convert, q.ConvertLayerOp) else None
    if not isinstance(rounding, q.FakeQuantizeLayerOp) or integers.type.axis is not None:
        return None
    x, *limits = rounding.arguments()[:5]
    if not _is_of(x, (movement.ConcatLayerOp,)):
        return None
    ends = [(item - integers.type.zero_point) * integers.type.scale for item in limits[2:]]
    return q.FakeQuantizeLayerOp(x, *limits[:2], *ends, levels=rounding.argument("levels")).result


@CONVERTERS("quantized_decomposed.dequantize_per_tensor", "quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    found = dequantized(op.result, constants)
    if found is None:
        raise BackendError("openvino: a scale or a zero point has no value")
    kind = found.type
    if (rounded := _rounded(found)) is not None:
        return rounded
    result = q.ConvertLayerOp(found.value, destination_type="f32").result
    shape = () if kind.axis is None else [-1 if dim == kind.axis else 1 for dim in range(len(shape_of(found.value)))]
    if any(kind.zero_points):
        result = e.ARITHMETIC["sub"](result, _constant(constants, "zero_point", np.reshape(kind.zero_points, shape))).result
    return e.ARITHMETIC["mul"](result, _constant(constants, "scale", np.reshape(kind.scales, shape))).result


@CONVERTERS("quantized_decomposed.dequantize_per_channel_group")
def _dequantize_groups(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, *parameters = op.arguments()[:3]
    rows, columns = shape_of(x)
    integers, scales, zeros = (None if value is None else constants.elements(value) for value in (x, *parameters))
    assert integers is not None and scales is not None
    groups = (rows, scales.size // rows, 1)
    parted = integers.reshape(*groups[:2], -1)
    load = constants.add(f"{constants.name(x)}.groups", parted, tensor(element_of(x), parted.shape))
    result = q.ConvertLayerOp(load.result, destination_type="f32").result
    if zeros is not None and zeros.any():
        result = e.ARITHMETIC["sub"](result, _constant(constants, "zero_point", zeros.reshape(groups))).result
    result = e.ARITHMETIC["mul"](result, _constant(constants, "scale", scales.reshape(groups))).result
    return movement.ReshapeLayerOp(result, (rows, columns)).result


# Products


def _numbers(windows: Windows) -> dict[str, Any]:
    return {"strides": windows.stride, "pads_begin": windows.padding, "pads_end": windows.padding}


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.operands[0], op.argument("weight"), op.argument("bias")
    transposed, groups = op.argument("transposed"), op.argument("groups")
    shape, windows = shape_of(weight), windows_of(op)
    numbers: dict[str, Any] = _numbers(windows) | {"dilations": windows.dilation}
    if transposed:
        numbers["output_padding"] = windows.output_padding
    if groups > 1:
        weight = _grouped(weight, (groups, shape[0] // groups, *shape[1:]), constants)
        kind = products.GroupConvolutionBackpropDataLayerOp if transposed else products.GroupConvolutionLayerOp
    else:
        kind = products.ConvolutionBackpropDataLayerOp if transposed else products.ConvolutionLayerOp
    result = kind(x, weight, **numbers).result
    return result if bias is None else e.ARITHMETIC["add"](result, _reshaped(bias, constants, (1, -1, *(1,) * len(windows.kernel)))).result


def _grouped(weight: SSAValue, shape: Sequence[int], constants: ModuleConstants) -> SSAValue:
    """Returns a weight, a constant or dequantized integers, in the shape `shape`, which has a dimension of groups."""
    if constants.is_constant(weight):
        return _reshaped(weight, constants, shape)
    return movement.ReshapeLayerOp(weight, tuple(shape)).result


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.arguments()
    result = products.MatMulLayerOp(x, weight, transpose_b=True).result
    return result if bias is None else e.ARITHMETIC["add"](result, bias).result


@CONVERTERS("addmm")
def _addmm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    addend, left, right = op.operands
    return e.ARITHMETIC["add"](products.MatMulLayerOp(left, right).result, addend).result


@CONVERTERS("scaled_dot_product_attention")
def _attention(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    scale = op.argument("scale")
    numbers = _number(constants, 0), _number(constants, 1 / sqrt(shape_of(op.operands[0])[-1]) if scale is None else scale)
    return products.ScaledDotProductAttentionLayerOp(*op.operands, *numbers, causal=op.argument("is_causal")).result


# Pools


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d")
def _pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, windows = op.operands[0], windows_of(op)
    numbers: dict[str, Any] = _numbers(windows) | {"kernel": windows.kernel}
    if len(op.results) > 1:
        return pooling.MaxPoolLayerOp(x, **numbers).result
    return pooling.AvgPoolLayerOp(x, **numbers, exclude_pad=not op.argument("count_include_pad")).result


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    sizes = shape_of(op.result)[2:]
    if sizes == (1, 1):
        return reductions.ReduceMeanLayerOp(op.operands[0], (2, 3), keep_dims=True).result
    return pooling.AdaptiveAvgPoolLayerOp(op.operands[0], sizes).result


# Reductions

_REDUCTIONS = {
    "amax": reductions.ReduceMaxLayerOp,
    "amin": reductions.ReduceMinLayerOp,
    "mean": reductions.ReduceMeanLayerOp,
    "sum": reductions.ReduceSumLayerOp,
}


@CONVERTERS("amax", "amin", "mean.dim", "sum.dim_IntList")
def _reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a reduction. OpenVINO 2026.4 computes some others of integers."""
    x = _in_floats(op.operands[0], constants)
    return _REDUCTIONS[op.schema.base](x, tuple(reduced_dims(op)), keep_dims=op.argument("keepdim")).result


@CONVERTERS("native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, sizes, weight, bias, eps = op.arguments()
    rank = len(shape_of(x))
    result = reductions.MVNLayerOp(x, tuple(range(rank - len(sizes), rank)), eps=eps).result
    result = result if weight is None else e.ARITHMETIC["mul"](result, weight).result
    return result if bias is None else e.ARITHMETIC["add"](result, bias).result


# Movement

CONVERTERS.update(
    {
        "unsqueeze_copy": lambda op, constants: movement.UnsqueezeLayerOp(op.operands[0], (dim_of(op, op.result),)).result,
        "permute_copy": lambda op, constants: movement.TransposeLayerOp(op.operands[0], permutation(op)).result,
        "cat": lambda op, constants: _joined(op.operands, dim_of(op)),
        "split_with_sizes_copy": lambda op, constants: list(
            movement.VariadicSplitLayerOp(op.operands[0], dim_of(op), op.argument("split_sizes")).results
        ),
        "select_copy.int": lambda op, constants: movement.GatherLayerOp(op.operands[0], op.argument("index"), dim_of(op)).result,
        "pixel_shuffle": lambda op, constants: (
            movement.DepthToSpaceLayerOp(op.operands[0], block_size=op.argument("upscale_factor")).result
        ),
    }
)


@CONVERTERS("view_copy")
def _reshape(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pattern = reshape_pattern(shape_of(op.operands[0]), shape_of(op.result))
    return movement.ReshapeLayerOp(op.operands[0], pattern, special_zero=True, result_types=[op.result.type]).result


@CONVERTERS("squeeze_copy.dim", "squeeze_copy.dims")
def _squeeze(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    given, shape = op.argument("dim"), shape_of(op.operands[0])
    named: tuple[int, ...] = (given,) if isinstance(given, int) else given
    dims = [normalize_dim(dim, len(shape)) for dim in named]
    gone = tuple(dim for dim in dims if shape and provably_equal(shape[dim], 1))
    return movement.SqueezeLayerOp(op.operands[0], gone).result if gone else op.operands[0]


def _joined(values: Sequence[SSAValue], dim: int) -> SSAValue:
    """Returns tensors concatenated along dimension `dim`.

    Vectors are joined as rows of matrices: OpenVINO writes absolute values of a joined vector into its memory, even if others read it
    (findings/openvino_abs_of_concat.sh).
    """
    if len(shape_of(values[0])) > 1:
        return movement.ConcatLayerOp(list(values), axis=dim).result
    rows = [movement.UnsqueezeLayerOp(value, (0,)).result for value in values]
    return movement.SqueezeLayerOp(movement.ConcatLayerOp(rows, axis=1).result, (0,)).result


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim = dim_of(op, op.result)
    return _joined([movement.UnsqueezeLayerOp(value, (dim,)).result for value in op.operands], dim)


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dim, first, step = op.operands[0], dim_of(op), start_of(op), op.argument("step")
    end = first + (shape_of(op.result)[dim] - 1) * step + 1
    return movement.SliceLayerOp(x, (first,), (end,), (step,), (dim,)).result


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pairs = zip(sizes_before(op), shape_of(op.result), strict=True)
    target = tuple(1 if not is_known(size) or provably_equal(before, size) else size for before, size in pairs)
    return movement.BroadcastLayerOp(op.operands[0], target).result


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts padding. OpenVINO 2026.4 pads integers before it dequantizes them, which may not hold the number."""
    before, behind = pads_of(op)
    x = _in_floats(op.operands[0], constants)
    return movement.PadLayerOp(x, before, behind, float(op.argument("value"))).result


@CONVERTERS("upsample_bilinear2d.vec", "upsample_nearest2d.vec")
def _resize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if op.schema.base == "upsample_nearest2d":
        mode, coordinates = "nearest", "asymmetric"
    else:
        mode, coordinates = "linear_onnx", "align_corners" if op.argument("align_corners") else "pytorch_half_pixel"
    scales = tuple(after / before for before, after in zip(old, new, strict=True))
    return movement.InterpolateLayerOp(op.operands[0], new, scales, (2, 3), mode=mode, coordinate_transformation_mode=coordinates).result
