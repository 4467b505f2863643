"""Converts `edge` operators to `mps` ones, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.ir import SSAValue

from flambeau.backends.mps.dialect import functions as f
from flambeau.backends.mps.dialect import layers, moves
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import f32, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.converters import Converter, Converters
from flambeau.passes.delegation.normalized import dim_of, permutation, reduced_dims, sizes_before, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("mps")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `mps` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)


def _known(constants: ModuleConstants, name: str, array: Array | float) -> SSAValue:
    """Returns a constant. A number is a line of one element."""
    elements = np.atleast_1d(np.asarray(array, np.float32, order="C"))
    return constants.add(name, elements, tensor(f32, elements.shape)).result


def _viewed(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if tuple(shape) == shape_of(value) else moves.ViewNodeOp(value, shape=tuple(shape)).result


def _as_line(value: SSAValue, constants: ModuleConstants) -> SSAValue:
    """Returns an operand, a constant without dimensions as a line of one element."""
    return value if shape_of(value) else _known(constants, constants.name(value), constants.elements(value))


# Functions


def _each(kind: type[SchemaOp]) -> Converter:
    def convert_each(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
        return kind(*(_as_line(value, constants) for value in op.operands)).result

    return convert_each


CONVERTERS.update({name: _each(kind) for name, kind in (*f.UNARY.items(), *f.BINARY.items())})
CONVERTERS.update({f"{name}.Tensor": _each(kind) for name, kind in f.ARITHMETIC.items()})
CONVERTERS.update(
    {
        f"{name}.Scalar": lambda op, constants, kind=kind: kind(op.operands[0], _known(constants, "number", op.argument("other"))).result
        for name, kind in f.ARITHMETIC.items()
    }
)


@CONVERTERS("add.Tensor", "sub.Tensor", "add.Scalar", "sub.Scalar")
def _sum(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    kind = f.AddNodeOp if op.schema.base == "add" else f.SubNodeOp
    right = op.operands[1] if len(op.operands) > 1 else _known(constants, "number", op.argument("other"))
    return kind(_as_line(op.operands[0], constants), _as_line(right, constants), alpha=float(op.argument("alpha"))).result


@CONVERTERS("where.self")
def _where(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    condition, a, b = op.operands
    return f.WhereNodeOp(condition, _as_line(a, constants), _as_line(b, constants)).result


@CONVERTERS("clamp")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, low, high = op.arguments()
    return f.ClampNodeOp(x, min_value=-inf if low is None else float(low), max_value=inf if high is None else float(high)).result


@CONVERTERS("hardtanh")
def _hardtanh(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, low, high = op.arguments()
    return f.HardTanhNodeOp(x, min_value=float(low), max_value=float(high)).result


@CONVERTERS("silu")
def _silu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    (x,) = op.operands
    return f.ARITHMETIC["mul"](x, f.UNARY["sigmoid"](x).result).result


@CONVERTERS("hardsigmoid", "hardswish")
def _hardsigmoid(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a gate, (x + 3) / 6 within 0 and 1, and what it is of."""
    (x,) = op.operands
    limited = f.HardTanhNodeOp(f.AddNodeOp(x, _known(constants, "number", 3.0)).result, min_value=0.0, max_value=6.0).result
    gated = limited if op.schema.base == "hardsigmoid" else f.ARITHMETIC["mul"](x, limited).result
    return f.ARITHMETIC["div"](gated, _known(constants, "number", 6.0)).result


CONVERTERS.update(
    {
        "gelu": lambda op, constants: f.GeluNodeOp(op.operands[0]).result,
        "leaky_relu": lambda op, constants: f.LeakyReluNodeOp(op.operands[0], negative_slope=float(op.argument("negative_slope"))).result,
    }
)


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a power. A square is a product, which is sure of a negative base."""
    x, exponent = op.operands[0], op.argument("exponent")
    return f.ARITHMETIC["mul"](x, x).result if exponent == 2 else f.PowNodeOp(x, _known(constants, "number", exponent)).result


# Rows


@CONVERTERS("_softmax", "_log_softmax")
def _softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return (f.SoftmaxNodeOp if op.schema.base == "_softmax" else f.LogSoftmaxNodeOp)(op.operands[0], dim=dim_of(op)).result


@CONVERTERS("mean.dim", "sum.dim_IntList")
def _mean(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a mean. A sum is a mean times the number of elements."""
    x, dims = op.operands[0], tuple(reduced_dims(op))
    mean = f.MeanNodeOp(x, dims=dims, keep_dims=op.argument("keepdim")).result
    count = prod(shape_of(x)[dim] for dim in dims)
    return mean if op.schema.base == "mean" else f.ARITHMETIC["mul"](mean, _known(constants, "number", float(count))).result


def _norm(x: SSAValue, sizes: Sequence[int], given: Sequence[SSAValue | None], eps: float, constants: ModuleConstants) -> SSAValue:
    """Returns a norm of the last dimensions. The runtime needs a weight and a bias."""
    weight, bias = (
        _known(constants, "number", np.full(tuple(sizes), number)) if value is None else value
        for value, number in zip(given, (1, 0), strict=True)
    )
    return f.LayerNormNodeOp(x, weight, bias, normalized_shape=tuple(sizes), eps=float(eps)).result


@CONVERTERS("native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, sizes, weight, bias, eps = op.arguments()
    return _norm(x, sizes, (weight, bias), eps, constants)


@CONVERTERS("native_group_norm")
def _group_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias, count, channels, area, groups, eps = op.arguments()
    line = channels // groups * area
    result = _viewed(_norm(_viewed(x, (count * groups, line)), (line,), (None, None), eps, constants), (count, channels, area))
    if weight is not None:
        result = f.ARITHMETIC["mul"](result, _viewed(weight, (channels, 1))).result
    if bias is not None:
        result = f.AddNodeOp(result, _viewed(bias, (channels, 1))).result
    return _viewed(result, shape_of(x))


# Layers


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a layer. A constant weight is transposed now."""
    x, weight, bias = op.arguments()
    if constants.is_constant(weight):
        weight = _known(constants, f"{constants.name(weight)}.mps", constants.elements(weight).T)
    else:
        weight = moves.PermuteNodeOp(weight, perm=(1, 0)).result
    rows = _viewed(x, (prod(shape_of(x)[:-1]), shape_of(x)[-1]))
    product = layers.MatMulNodeOp(rows, weight).result if bias is None else layers.AddmmNodeOp(bias, rows, weight).result
    return _viewed(product, shape_of(op.result))


@CONVERTERS("addmm")
def _addmm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    addend, x, y, beta, alpha = op.arguments()
    return layers.AddmmNodeOp(_as_line(addend, constants), x, y, beta=float(beta), alpha=float(alpha)).result


CONVERTERS.update({name: lambda op, constants: layers.MatMulNodeOp(*op.operands).result for name in ("mm", "bmm")})


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a convolution. A line is an image of height 1."""
    x, weight, bias = (op.argument(name) for name in ("input", "weight", "bias"))
    windows = windows_of(op)
    if len(windows.kernel) == 1:
        windows = windows.of_images()
        x, weight = (moves.UnsqueezeNodeOp(value, dim=2).result for value in (x, weight))
    is_depthwise = op.argument("groups") > 1 and shape_of(weight)[1] == 1
    (above, beside), (high, wide), (tall, broad) = windows.padding, windows.stride, windows.dilation
    result = (layers.DepthwiseConv2DNodeOp if is_depthwise else layers.Conv2DNodeOp)(
        x,
        weight,
        bias,
        stride_x=wide,
        stride_y=high,
        dilation_x=broad,
        dilation_y=tall,
        groups=op.argument("groups"),
        padding_left=beside,
        padding_right=beside,
        padding_top=above,
        padding_bottom=above,
    ).result
    return _viewed(result, shape_of(op.result))


def _pooled(
    x: SSAValue,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    counts: bool | None = None,
) -> SSAValue:
    """Returns a mean of windows, in which the padding counts or not; for None, the largest elements."""
    return (layers.MaxPool2DNodeOp if counts is None else layers.AvgPool2DNodeOp)(
        x,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        padding_left=padding[1],
        padding_right=padding[1],
        padding_top=padding[0],
        padding_bottom=padding[0],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        count_include_pad=True if counts is None else counts,
    ).result


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d")
def _pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    windows = windows_of(op)
    counts = op.argument("count_include_pad") if op.schema.base == "avg_pool2d" else None
    return _pooled(op.operands[0], windows.kernel, windows.stride, windows.padding, windows.dilation, counts)


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    sizes = [old // new for old, new in zip(shape_of(op.operands[0])[2:], shape_of(op.result)[2:], strict=True)]
    return _pooled(op.operands[0], sizes, sizes, counts=True)


# Moves


@CONVERTERS("view_copy", "squeeze_copy.dim", "squeeze_copy.dims", "unsqueeze_copy")
def _view(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _viewed(op.operands[0], shape_of(op.result))


@CONVERTERS("permute_copy")
def _permute(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return moves.PermuteNodeOp(op.operands[0], perm=permutation(op)).result


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = _viewed(_as_line(op.operands[0], constants), sizes_before(op))
    return x if shape_of(x) == shape_of(op.result) else moves.ExpandNodeOp(x, shape=shape_of(op.result)).result


@CONVERTERS("cat")
def _cat(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return moves.CatNodeOp([*op.operands], dim=dim_of(op)).result


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim = normalize_dim(op.argument("dim"), len(shape_of(op.result)))
    return moves.CatNodeOp([moves.UnsqueezeNodeOp(_as_line(value, constants), dim=dim).result for value in op.operands], dim=dim).result


@CONVERTERS("select_copy.int")
def _select(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return moves.SelectNodeOp(op.operands[0], dim=dim_of(op), index=start_of(op)).result


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim, start, step = dim_of(op), start_of(op), op.argument("step")
    end = start + (shape_of(op.result)[dim] - 1) * step + 1
    return moves.SliceNodeOp(op.operands[0], dim=dim, start=start, end=end, step=step).result


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    return [*moves.SplitWithSizesNodeOp(op.operands[0], split_sizes=op.argument("split_sizes"), dim=dim_of(op)).results]


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return moves.ConstantPadNodeOp(op.operands[0], pad=op.argument("pad"), value=float(op.argument("value"))).result


@CONVERTERS("pixel_shuffle")
def _pixel_shuffle(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return moves.PixelShuffleNodeOp(op.operands[0], upscale_factor=op.argument("upscale_factor")).result
