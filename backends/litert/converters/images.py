"""Pools, and images of another size."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import CONVERTERS, limited, on_images, operator_of, reshaped, same, types
from flambeau.backends.litert.converters.layers import padded
from flambeau.backends.litert.dialect.images import AveragePool2dOp, MaxPool2dOp
from flambeau.backends.litert.dialect.movement import TransposeOp
from flambeau.backends.litert.dialect.resizing import DepthToSpaceOp, ResizeBilinearOp, ResizeNearestNeighborOp, SpaceToDepthOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.quantized_decomposed.quantize import RANGES
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
from flambeau.passes.delegation.normalized import Windows, windows_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


def pooled(op: SchemaOp, x: SSAValue, windows: Windows, kind: QuantizedType | None, constants: ModuleConstants) -> SSAValue:
    """Returns the largest element or the mean of windows, of floats or of integers of one type."""
    is_max = op.schema.base == "max_pool2d_with_indices"
    own = {} if kind is None else types(kind)
    sides = {"filter_height": windows.kernel[0], "filter_width": windows.kernel[1]}
    steps = {"stride_h": windows.stride[0], "stride_w": windows.stride[1]}

    def of_windows(image: SSAValue) -> SSAValue:
        lowest = float(-np.inf) if kind is None else RANGES[kind.storage][0]
        image, padding = padded(image, windows, lowest, kind, constants)
        node: Any = MaxPool2dOp if is_max else AveragePool2dOp
        return node(image, padding=padding, **steps, **sides, **own).result

    return reshaped(on_images(x, of_windows), shape_of(op.results[0]))


@CONVERTERS("avg_pool2d", "max_pool2d_with_indices")
def _float_pool(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return pooled(op, op.operands[0], windows_of(op), None, constants)


@CONVERTERS.integers("avg_pool2d", "max_pool2d_with_indices")
def _integer_pool(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = operator_of(found), found.x
    result = pooled(op, x.value, windows_of(op), x.type, constants)
    return limited(same(Quantized(result, x.type), found.to), found, constants)


# Other sizes


def _resized(op: SchemaOp, image: SSAValue) -> SSAValue:
    size = shape_of(op.result)[2:]
    if op.schema.base == "upsample_nearest2d":
        return ResizeNearestNeighborOp(image, size).result
    is_aligned = op.argument("align_corners")
    return ResizeBilinearOp(image, size, align_corners=is_aligned, half_pixel_centers=not is_aligned).result


def _as_pixels(op: SchemaOp, image: SSAValue) -> SSAValue:
    """Returns squares of pixels made of channels. The place in a square comes after the channel in PyTorch, and before it in TFLite."""
    side = op.argument("upscale_factor")
    return DepthToSpaceOp(_swapped(image, shape_of(image)[3] // side**2, side**2), block_size=side).result


def _as_channels(op: SchemaOp, image: SSAValue) -> SSAValue:
    """Returns channels made of squares of pixels."""
    side = op.argument("downscale_factor")
    return _swapped(SpaceToDepthOp(image, block_size=side).result, side**2, shape_of(image)[3])


def _swapped(image: SSAValue, outer: int, inner: int) -> SSAValue:
    """Returns images whose channels [outer, inner] are [inner, outer]."""
    if 1 in (outer, inner):
        return image
    batch, tall, wide, channels = shape_of(image)
    apart = reshaped(image, (batch * tall * wide, outer, inner))
    return reshaped(TransposeOp(apart, (0, 2, 1)).result, (batch, tall, wide, channels))


_SIZED = {
    **dict.fromkeys(("upsample_nearest2d.vec", "upsample_bilinear2d.vec"), _resized),
    "pixel_shuffle": _as_pixels,
    "pixel_unshuffle": _as_channels,
}


@CONVERTERS(*_SIZED)
def _float_sized(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return on_images(op.operands[0], lambda image: _SIZED[op.schema.name](op, image))


@CONVERTERS.integers(*_SIZED)
def _integer_sized(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op = operator_of(found)
    moved = on_images(found.x.value, lambda image: _SIZED[op.schema.name](op, image))
    return limited(same(Quantized(moved, found.x.type), found.to), found, constants)
