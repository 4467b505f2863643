"""Converts `edge` operators to `vulkan` ones, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, cast

from xdsl.ir import SSAValue

from flambeau.backends.vulkan import VulkanOptions
from flambeau.backends.vulkan.dialect import conversion, movement, products, reductions, resizing
from flambeau.backends.vulkan.dialect import elementwise as e
from flambeau.backends.vulkan.dialect.kernels import broadcast_strides, row_major
from flambeau.backends.vulkan.fuse import fuse_chains, fuse_functions
from flambeau.backends.vulkan.halves import erase_unread, store_halves
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, from_numpy_name, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.normalized import dim_of, pads_of, permutation, reduced_dims, start_of, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("vulkan")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `vulkan` operators. Raises ConversionError, which lists the operators that have no converter."""
    assert isinstance(options, VulkanOptions)
    CONVERTERS.apply(partition, constants)
    fuse_functions(partition)
    fuse_chains(partition)
    erase_unread(partition)
    if options.precision == "f16":
        store_halves(partition, constants)


def _reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(shape) else movement.ReshapeKernelOp(value, tuple(shape)).result


def _transposed(value: SSAValue, order: Sequence[int]) -> SSAValue:
    shape, steps = shape_of(value), row_major(shape_of(value))
    sizes, strides = tuple(shape[dim] for dim in order), tuple(steps[dim] for dim in order)
    return movement.StridedKernelOp(value, sizes=sizes, strides=strides).result


def _part(value: SSAValue, dim: int, start: int, shape: Sequence[int], step: int = 1) -> SSAValue:
    """Returns the part of a tensor of the sizes `shape` from `start` on along a dimension, each `step`th of its entries."""
    steps = row_major(shape_of(value))
    strides = tuple(stride * step if place == dim else stride for place, stride in enumerate(steps))
    return movement.StridedKernelOp(value, sizes=tuple(shape), strides=strides, offset=start * steps[dim]).result


def _constant(constants: ModuleConstants, name: str, array: Array) -> SSAValue:
    array = np.asarray(array, order="C")
    dtype = from_numpy_name(array.dtype.name)
    assert dtype is not None, f"{name} is of {array.dtype}"
    return constants.add(name, array, tensor(dtype.element, array.shape)).result


def _number(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Returns the number `other` of an operator, in the elements of its tensor."""
    return _constant(constants, "number", np.full((), op.argument("other"), numpy_dtype(element_of(op.operands[0]))))


# Elementwise

CONVERTERS.of_operands({**e.UNARY, **e.BINARY})
CONVERTERS.arithmetic(e.ARITHMETIC, _number)
CONVERTERS.update(
    {
        "leaky_relu": lambda op, constants: e.LeakyReluKernelOp(op.operands[0], slope=float(op.argument("negative_slope"))).result,
        "elu": lambda op, constants: e.EluKernelOp(op.operands[0], alpha=float(op.argument("alpha"))).result,
    }
)


@CONVERTERS("gelu")
def _gelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    kind = e.GeluTanhKernelOp if op.argument("approximate") == "tanh" else e.GeluKernelOp
    return kind(op.operands[0]).result


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = op.arguments()[1:]
    low, high = -inf if least is None else float(least), inf if most is None else float(most)
    return e.ClampKernelOp(op.operands[0], low=low, high=high).result


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, exponent = op.operands[0], op.argument("exponent")
    if exponent == 0.5:
        return e.UNARY["sqrt"](x).result
    result = x
    for _ in range(int(exponent) - 1):
        result = e.ARITHMETIC["mul"](result, x).result
    return result


# Products


@CONVERTERS("quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts integers of a weight. With zero points, the payload has the floats."""
    integers, scales, zero_points, axis = op.arguments()[:4]
    steps = _constant(constants, f"{constants.name(scales)}.vulkan", constants.elements(scales).astype(np.float32))
    if not np.any(constants.elements(zero_points)):
        return conversion.DequantizeKernelOp(integers, steps, axis=axis).result
    arguments = [constants.elements(cast(SSAValue, value)) if isinstance(value, SSAValue) else value for value in op.arguments()]
    return _constant(constants, f"{constants.name(integers)}.vulkan", op.call("numpy", arguments))


def _weight(value: SSAValue, axis: int) -> tuple[SSAValue, SSAValue | None]:
    """Returns a weight, and the scales of its outputs, which are in a dimension, if it is of int8."""
    found = value.owner
    if isinstance(found, conversion.DequantizeKernelOp) and found.argument("axis") == axis:
        return found.operands[0], found.operands[1]
    return value, None


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a layer. A constant weight is transposed, so that neighbours read neighbouring elements."""
    x, weight, bias = op.arguments()
    weight, scales = _weight(weight, 0)
    rows, is_constant = _reshaped(x, (prod(shape_of(x)[:-1]), shape_of(x)[-1])), constants.is_constant(weight)
    if is_constant:
        weight = _constant(constants, f"{constants.name(weight)}.vulkan", constants.elements(weight).T)
    return _reshaped(products.GemmKernelOp(rows, weight, bias, scales, transpose_b=not is_constant).result, shape_of(op.result))


@CONVERTERS("mm", "bmm")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return products.GemmKernelOp(*op.operands).result


@CONVERTERS("addmm")
def _addmm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    addend, left, right = op.operands
    return products.GemmKernelOp(left, right, addend).result


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a convolution. A line is an image of height 1; a window of one element is a product of matrices."""
    x, weight, bias, windows, groups = (
        op.argument("input"),
        op.argument("weight"),
        op.argument("bias"),
        windows_of(op),
        op.argument("groups"),
    )
    is_transposed = op.argument("transposed")
    # The scales of a transposed one are of the outputs of a group.
    weight, scales = (weight, None) if is_transposed and groups > 1 else _weight(weight, int(is_transposed))
    if len(windows.kernel) == 1:
        windows = windows.of_images()
        x, weight = (_reshaped(value, (*shape_of(value)[:2], 1, *shape_of(value)[2:])) for value in (x, weight))
    count, channels, *image = shape_of(x)
    is_product = not is_transposed and groups == 1 and windows.kernel == windows.stride == (1, 1) and windows.padding == (0, 0)
    if is_product:
        outputs = shape_of(weight)[0]
        added = None if bias is None else _reshaped(bias, (outputs, 1))
        planes = _reshaped(x, (count, channels, prod(image)))
        result = products.GemmKernelOp(_reshaped(weight, (outputs, channels)), planes, added, scales).result
    else:
        numbers: dict[str, Any] = {"stride": windows.stride, "padding": windows.padding, "dilation": windows.dilation, "groups": groups}
        if is_transposed:
            result = products.ConvTranspose2dKernelOp(x, weight, bias, scales, **numbers, output_padding=windows.output_padding).result
        else:
            result = products.Conv2dKernelOp(x, weight, bias, scales, **numbers).result
    return _reshaped(result, shape_of(op.result))


# Pools


@CONVERTERS("max_pool2d_with_indices", "avg_pool2d")
def _pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    windows = windows_of(op)
    if op.schema.base == "max_pool2d_with_indices":
        kind = reductions.MaxPool2dKernelOp
    else:
        kind = reductions.AvgPool2dKernelOp if op.argument("count_include_pad") else reductions.AvgPool2dInsideKernelOp
    numbers: dict[str, Any] = {"kernel": windows.kernel, "stride": windows.stride, "padding": windows.padding, "dilation": windows.dilation}
    return kind(op.operands[0], **numbers).result


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, (old, new) = op.operands[0], (shape_of(op.operands[0])[2:], shape_of(op.result)[2:])
    if new == (1, 1):
        return _reshaped(reductions.ReduceMeanKernelOp(x, axes=(2, 3)).result, shape_of(op.result))
    kernel = tuple(size // count for size, count in zip(old, new, strict=True))
    return reductions.AvgPool2dKernelOp(x, kernel=kernel, stride=kernel, padding=(0, 0), dilation=(1, 1)).result


# Rows

_REDUCTIONS = {
    "amax": reductions.ReduceMaxKernelOp,
    "amin": reductions.ReduceMinKernelOp,
    "mean": reductions.ReduceMeanKernelOp,
    "sum": reductions.ReduceSumKernelOp,
}


@CONVERTERS("amax", "amin", "mean.dim", "sum.dim_IntList")
def _reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a reduction. Dimensions that are no neighbours come last first."""
    x = op.operands[0]
    shape = shape_of(x)
    dims = [dim for dim in reduced_dims(op) if shape[dim] > 1]
    if not dims:
        return _reshaped(x, shape_of(op.result))
    if any(shape[dim] > 1 for dim in range(dims[0], dims[-1]) if dim not in dims):
        x = _transposed(x, [*(dim for dim in range(len(shape)) if dim not in dims), *dims])
        axes = tuple(range(len(shape) - len(dims), len(shape)))
    else:
        axes = tuple(range(dims[0], dims[-1] + 1))
    return _reshaped(_REDUCTIONS[op.schema.base](x, axes=axes).result, shape_of(op.result))


CONVERTERS.update(
    {
        "_softmax": lambda op, constants: reductions.SoftmaxKernelOp(op.operands[0], axis=dim_of(op)).result,
        "_log_softmax": lambda op, constants: reductions.LogSoftmaxKernelOp(op.operands[0], axis=dim_of(op)).result,
    }
)


@CONVERTERS("native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, sizes, weight, bias, eps = op.arguments()
    return reductions.LayerNormKernelOp(x, weight, bias, dims=len(sizes), eps=float(eps)).result


@CONVERTERS("native_group_norm")
def _group_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a norm of groups of channels: that of rows, and a factor and an addend for each channel."""
    x, weight, bias, count, channels, area, groups, eps = op.arguments()
    rows = _reshaped(x, (count * groups, channels // groups * area))
    result = _reshaped(reductions.LayerNormKernelOp(rows, dims=1, eps=float(eps)).result, (count, channels, area))
    for kind, given in (("mul", weight), ("add", bias)):
        result = result if given is None else e.ARITHMETIC[kind](result, _reshaped(given, (channels, 1))).result
    return _reshaped(result, shape_of(x))


# Movement

CONVERTERS("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims")(
    lambda op, constants: _reshaped(op.operands[0], shape_of(op.result))
)
CONVERTERS.update(
    {
        "permute_copy": lambda op, constants: _transposed(op.operands[0], permutation(op)),
        "cat": lambda op, constants: movement.ConcatKernelOp(list(op.operands), axis=dim_of(op)).result,
    }
)


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    shape, axis = list(shape_of(op.result)), dim_of(op, op.result)
    shape[axis] = 1
    return movement.ConcatKernelOp([_reshaped(value, shape) for value in op.operands], axis=axis).result


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _part(op.operands[0], dim_of(op), start_of(op), shape_of(op.result), op.argument("step"))


@CONVERTERS("select_copy.int")
def _select(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dim = op.operands[0], dim_of(op)
    shape = shape_of(x)
    return _reshaped(_part(x, dim, start_of(op), (*shape[:dim], 1, *shape[dim + 1 :])), shape_of(op.result))


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    x, dim, start = op.operands[0], dim_of(op), 0
    parts: list[SSAValue] = []
    for part in op.results:
        parts.append(_part(x, dim, start, shape_of(part)))
        start += shape_of(part)[dim]
    return parts


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    shape = shape_of(op.result)
    return movement.StridedKernelOp(op.operands[0], sizes=shape, strides=broadcast_strides(op.operands[0], shape)).result


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    before, behind = pads_of(op)
    return movement.PadKernelOp(op.operands[0], before=before, behind=behind, value=float(op.argument("value"))).result


@CONVERTERS("pixel_shuffle")
def _pixel_shuffle(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, factor = op.arguments()
    *batch, channels, height, width = shape_of(x)
    image = _reshaped(x, (prod(batch), channels // factor**2, factor, factor, height, width))
    return _reshaped(_transposed(image, (0, 1, 4, 2, 5, 3)), shape_of(op.result))


@CONVERTERS("upsample_nearest2d.vec")
def _resize_nearest(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return resizing.ResizeNearestKernelOp(op.operands[0], size=shape_of(op.result)[2:]).result


@CONVERTERS("upsample_bilinear2d.vec")
def _resize_bilinear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return resizing.ResizeBilinearKernelOp(op.operands[0], size=shape_of(op.result)[2:], align_corners=op.argument("align_corners")).result
