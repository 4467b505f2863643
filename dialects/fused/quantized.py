"""Layers of quantised numbers, in integers.

Each layer computes `sums`, the sums in int32 of products of the stored integers, and of `bias`; then
`clamp((sums * multiplier + 2 ** (shift - 1) >> shift) + zero_point, low, high)`, in 64 bits, `>>` rounding down.
A multiplier and a shift for each channel represent the ratio of scales, multiplier / 2 ** shift: TOSA's RESCALE with single rounding.
The contribution of the input's zero point to the sums is a number for each channel, which `bias` includes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Attribute

from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.fused.conv2d import Pair, convolved_size
from flambeau.dialects.fused.packing import PANEL, QUAD, panels, unpack_quads
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, dtype_of, element_of, shape_of, tensor, ui8
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np

RANGES: dict[Attribute, tuple[int, int]] = {i8: (-128, 127), ui8: (0, 255)}
"""The element types of inputs and results, and what they hold."""
MOST_PRODUCTS = 2**16
"""The most products in a sum: it stays within int32."""
SHIFTS = (1, 61)
"""The least and the greatest shift."""


def fixed_point(ratios: Array, bits: int = 31) -> tuple[Array, Array]:
    """Returns positive ratios as multipliers of so many bits and the shifts to divide by: multiplier / 2 ** shift.

    Raises:
        ValueError: one is 2 ** (bits - 1) or more.
    """
    mantissas, exponents = np.frexp(ratios)
    shifts = np.minimum(bits - exponents, SHIFTS[1])
    multipliers = np.rint(np.ldexp(ratios, shifts)).astype(np.int64)
    rounded_up = multipliers > 2**bits - 1
    multipliers[rounded_up] >>= 1
    shifts[rounded_up] -= 1
    if (shifts < SHIFTS[0]).any() or not np.isfinite(mantissas).all():
        raise ValueError(f"the ratio of scales {float(ratios.max())} is too large")
    return multipliers.astype(np.int32), shifts.astype(np.int32)


def requantize(sums: Array, parameters: Array, zero_point: int, low: int, high: int, channel: int) -> Array:
    """Returns the sums, in integers of any width, as results. `parameters` is [3, channels]: bias, multiplier, shift."""
    bias, multiplier, shift = (row.astype(np.int64).reshape(-1, *(1,) * (sums.ndim - 1 - channel)) for row in parameters)
    whole = (sums.astype(np.int64) + bias).astype(np.int32).astype(np.int64)
    return np.clip((whole * multiplier + (np.int64(1) << (shift - 1)) >> shift) + zero_point, low, high)


def check_numbers(x: Tensor, low: int, high: int, *zero_points: int) -> None:
    """Raises ValueError for numbers that the element type of `x` lacks, or a `low` above `high`."""
    least, most = RANGES[element_of(x)]
    if not all(least <= item <= most for item in (*zero_points, low, high)) or low > high:
        raise ValueError(f"zero points, low and high must be numbers of {dtype_of(element_of(x)).torch}, low at most high")


def _check(x: Tensor, packed: Tensor, parameters: Tensor, channels: int, depth: int, zero_point: int, low: int, high: int) -> ElementType:
    element = element_of(x)
    if element not in RANGES or element_of(packed) != i8 or element_of(parameters) != i32:
        given = ", ".join(dtype_of(element_of(item)).torch for item in (x, packed, parameters))
        raise TypeError(f"the input must be of int8 or uint8, the weight of int8, the parameters of int32; got {given}")
    least, most = RANGES[element]
    if not least <= low <= high <= most or not least <= zero_point <= most:
        raise ValueError(f"low {low}, high {high} and zero_point {zero_point} must be numbers of {dtype_of(element).torch}, low first")
    if shape_of(parameters) != (3, channels):
        raise ValueError(f"parameters must have the shape {[3, channels]}, got {list(shape_of(parameters))}")
    if depth > MOST_PRODUCTS:
        raise ValueError(f"a sum can have {MOST_PRODUCTS} products, got {depth}")
    return element


def quads_shape(columns: int, depth: int) -> tuple[int, ...]:
    """Returns the shape of a packed weight."""
    return (panels(columns), -(-depth // QUAD), PANEL, QUAD)


@row(
    "fused",
    "flambeau",
    "quantized_linear(Tensor input, Tensor packed_weight, Tensor parameters, int out_features, int zero_point, int low, int high)"
    " -> Tensor",
)
class QuantizedLinearOp(SchemaOp):
    """A linear layer of quantised numbers; parameters are bias, multiplier and shift of each output feature."""

    @staticmethod
    def infer(x: Tensor, packed: Tensor, parameters: Tensor, /, out_features: int, zero_point: int, low: int, high: int) -> Tensor:
        shape = shape_of(x)
        if not shape:
            raise ValueError("input must have a dimension")
        element = _check(x, packed, parameters, out_features, shape[-1], zero_point, low, high)
        expected = quads_shape(out_features, shape[-1])
        if shape_of(packed) != expected:
            raise ValueError(f"packed_weight must have the shape {list(expected)}, got {list(shape_of(packed))}")
        return tensor(element, (*shape[:-1], out_features))

    @staticmethod
    def numpy(x: Array, packed: Array, parameters: Array, /, out_features: int, zero_point: int, low: int, high: int) -> Array:
        # Sums of at most 2 ** 31 are exact in float64, whose products are fast.
        sums = x.astype(np.float64) @ unpack_quads(packed, out_features, x.shape[-1]).astype(np.float64).T
        return requantize(sums, parameters, zero_point, low, high, x.ndim - 1).astype(x.dtype)


@row(
    "fused",
    "flambeau",
    "quantized_conv2d(Tensor input, Tensor packed_weight, Tensor parameters, int[2] kernel_size, int[2] stride, int[2] padding,"
    " int[2] dilation, int groups, int out_channels, int input_zero_point, int zero_point, int low, int high) -> Tensor",
)
class QuantizedConv2dOp(SchemaOp):
    """A convolution of quantised channels-last images, dense (groups 1) or depthwise, padded with `input_zero_point`."""

    @staticmethod
    def infer(
        x: Tensor,
        packed: Tensor,
        parameters: Tensor,
        /,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
        out_channels: int,
        input_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Tensor:
        spatial = convolved_size(shape_of(x), kernel_size, stride, padding, dilation, groups, out_channels)
        channels = shape_of(x)[1]
        area = kernel_size[0] * kernel_size[1]
        depth = area * channels if groups == 1 else area
        element = _check(x, packed, parameters, out_channels, depth, zero_point, low, high)
        least, most = RANGES[element]
        if not least <= input_zero_point <= most:
            raise ValueError(f"input_zero_point {input_zero_point} must be a number of {dtype_of(element).torch}")
        expected = quads_shape(out_channels, depth) if groups == 1 else (area, channels)
        if shape_of(packed) != expected:
            raise ValueError(f"packed_weight must have the shape {list(expected)}, got {list(shape_of(packed))}")
        return tensor(element, (shape_of(x)[0], out_channels, *spatial))

    @staticmethod
    def numpy(
        x: Array,
        packed: Array,
        parameters: Array,
        /,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
        out_channels: int,
        input_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Array:
        weight = unpack_quantized_conv_weight(packed, kernel_size, x.shape[1], groups, out_channels).astype(np.float64)
        around = ((0, 0), (0, 0), *((pad, pad) for pad in padding))
        padded = np.pad(x.astype(np.float64), around, constant_values=input_zero_point)
        sums = ConvolutionOp.numpy(padded, weight, None, stride, (0, 0), dilation, False, (0, 0), groups)
        return requantize(sums, parameters, zero_point, low, high, 1).astype(x.dtype)


def unpack_quantized_conv_weight(packed: Array, kernel_size: Pair, channels: int, groups: int, out_channels: int) -> Array:
    """Returns the inverse of `pack_quantized_conv_weight`: [out channels, in channels / groups, height, width]."""
    height, width = kernel_size
    if groups == 1:
        flat = unpack_quads(packed, out_channels, height * width * channels)
        return flat.reshape(out_channels, height, width, channels).transpose(0, 3, 1, 2)
    return packed.T.reshape(out_channels, 1, height, width)
