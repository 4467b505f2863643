"""Products, windows, reductions and norms."""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from flambeau.backends.onnxruntime.converters.building import CONVERTERS, constant, in_type, rank_of, transposed
from flambeau.backends.onnxruntime.dialect import elements as e
from flambeau.backends.onnxruntime.dialect import movement, products, reductions, windows
from flambeau.backends.onnxruntime.dialect.quantization import DequantizeLinearOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.normalized import Windows, reduced_dims, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

CONVERTERS.of_operands(dict.fromkeys(("mm", "bmm"), products.MatMulOp))


def _numbers(found: Windows) -> dict[str, Any]:
    return {"kernel_shape": found.kernel, "strides": found.stride, "pads": (*found.padding, *found.padding)}


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.operands[0], op.argument("weight"), op.argument("bias")
    found = windows_of(op)
    numbers: dict[str, Any] = _numbers(found) | {"dilations": found.dilation, "group": op.argument("groups")}
    if op.argument("transposed"):
        return products.ConvTransposeOp(x, weight, bias, **numbers, output_padding=found.output_padding).result
    return products.ConvOp(x, weight, bias, **numbers).result


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.arguments()
    if rank_of(x) == 2 and not is_of_blocks(weight):
        return products.GemmOp(x, weight, bias, transB=True).result
    result = products.MatMulOp(x, transposed(weight, constants)).result
    return result if bias is None else e.ARITHMETIC["add"](result, bias).result


def is_of_blocks(weight: SSAValue) -> bool:
    """Returns whether a weight is dequantized in blocks: ONNX Runtime computes products with such as they are stored, no `Gemm`."""
    return isinstance(weight.owner, DequantizeLinearOp) and weight.owner.argument("block_size") > 0


@CONVERTERS("addmm")
def _addmm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    addend, left, right = op.operands
    return products.GemmOp(left, right, addend).result


@CONVERTERS("max_pool2d_with_indices")
def _max_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    found = windows_of(op)
    return windows.MaxPoolOp(op.operands[0], **_numbers(found), dilations=found.dilation).result


@CONVERTERS("avg_pool2d")
def _avg_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    padded = op.argument("count_include_pad")
    return windows.AveragePoolOp(op.operands[0], **_numbers(windows_of(op)), count_include_pad=padded).result


@CONVERTERS("_adaptive_avg_pool2d")
def _adaptive_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if new == (1, 1):
        return windows.GlobalAveragePoolOp(op.operands[0]).result
    sizes = tuple(a // b for a, b in zip(old, new, strict=True))
    return windows.AveragePoolOp(op.operands[0], kernel_shape=sizes, strides=sizes, pads=(0, 0, 0, 0)).result


@CONVERTERS("upsample_bilinear2d.vec", "upsample_nearest2d.vec")
def _resize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    sizes = shape_of(op.result)
    if op.schema.base == "upsample_nearest2d":
        kind = partial(windows.ResizeOp, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    else:
        corners = "align_corners" if op.argument("align_corners") else "pytorch_half_pixel"
        kind = partial(windows.ResizeOp, mode="linear", coordinate_transformation_mode=corners)
    return kind(op.operands[0], None, None, sizes).result


# Reductions

_REDUCTIONS = {
    "amax": reductions.ReduceMaxOp,
    "amin": reductions.ReduceMinOp,
    "mean": reductions.ReduceMeanOp,
    "prod": reductions.ReduceProdOp,
    "sum": reductions.ReduceSumOp,
}


@CONVERTERS("amax", "amin", "mean.dim", "sum.dim_IntList", "prod.dim_int")
def _reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dims, keepdim = in_type(op.operands[0], element_of(op.result)), reduced_dims(op), op.argument("keepdim")
    if not shape_of(x):
        return x
    if op.schema.base == "mean" and dims == [2, 3] and rank_of(x) == 4:  # of which there is a form between integers
        pooled = windows.GlobalAveragePoolOp(x).result
        return pooled if keepdim else movement.SqueezeOp(pooled, (2, 3)).result
    return _REDUCTIONS[op.schema.base](x, tuple(dims), keepdims=keepdim).result


@CONVERTERS("any", "any.dim", "any.dims")
def _any(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = op.operands[0]
    names = {argument.name for argument in op.schema.arguments}
    dims, keepdim = (tuple(reduced_dims(op)), op.argument("keepdim")) if "dim" in names else (tuple(range(rank_of(x))), False)
    truths = in_type(in_type(x, i1), i32)
    if "dim" in names and op.argument("dim") == ():
        dims = ()
    return in_type(reductions.ReduceMaxOp(truths, dims, keepdims=keepdim).result if dims else truths, i1)


@CONVERTERS("argmax", "argmin")
def _place(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dim, kind = op.operands[0], op.argument("dim"), reductions.ArgMaxOp if op.schema.base == "argmax" else reductions.ArgMinOp
    if dim is not None:
        return kind(x, axis=dim % rank_of(x), keepdims=op.argument("keepdim")).result
    found = kind(movement.ReshapeOp(x, (-1,)).result, axis=0, keepdims=False).result
    return movement.ReshapeOp(found, (1,) * rank_of(x)).result if op.argument("keepdim") else found


# Norms


@CONVERTERS("layer_norm", "native_layer_norm")
def _layer_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, sizes, weight, bias, eps = op.arguments()[:5]
    weight = constant(constants, "ones", np.ones(tuple(sizes)), element_of(x)) if weight is None else weight
    return reductions.LayerNormalizationOp(x, weight, bias, axis=rank_of(x) - len(sizes), epsilon=eps).result


@CONVERTERS("native_group_norm")
def _group_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, parameters = op.operands[0], _per_channel(op, constants)
    return reductions.GroupNormalizationOp(x, *parameters, epsilon=op.argument("eps"), num_groups=op.argument("group")).result


@CONVERTERS("_native_batch_norm_legit_no_training")
def _batch_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, parameters = op.operands[0], _per_channel(op, constants)
    mean, variance = op.argument("running_mean"), op.argument("running_var")
    return reductions.BatchNormalizationOp(x, *parameters, mean, variance, epsilon=op.argument("eps")).result


def _per_channel(op: SchemaOp, constants: ModuleConstants) -> tuple[SSAValue, SSAValue]:
    """Returns the weight and the bias of a norm, which ONNX has of each."""
    channels, element = shape_of(op.operands[0])[1], element_of(op.operands[0])
    weight, bias = (
        constant(constants, name, np.full(channels, default), element) if op.argument(name) is None else op.argument(name)
        for name, default in (("weight", 1), ("bias", 0))
    )
    return weight, bias
