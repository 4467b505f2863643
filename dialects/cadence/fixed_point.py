"""What the operators on quantized numbers share: checks of their arguments, and the requantization of sums.

A result is `clamp((sum * out_multiplier + 2 ** (30 - out_shift) >> 31 - out_shift) + zero_point)`, in 64 bits, `>>` rounding down:
the ratio of scales is `out_multiplier * 2 ** (out_shift - 31)`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from flambeau.dialects.fused.quantized import RANGES, SHIFTS, requantize
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of
from flambeau.support.lazy import Array, np

MOST_BITS = 31
"""A ratio is a multiplier of so many bits, shifted."""


def check_operands(*operands: Tensor) -> None:
    """Raises TypeError unless the operands are of int8 or uint8, all of one."""
    if element_of(operands[0]) not in RANGES or any(element_of(item) != element_of(operands[0]) for item in operands):
        given = ", ".join(dtype_of(element_of(item)).torch for item in operands)
        raise TypeError(f"the operands must be of int8 or uint8, all of one, got {given}")


def check_zero_points(x: Tensor, *zero_points: int) -> None:
    """Raises ValueError for zero points that the element type of `x` lacks."""
    least, most = RANGES[element_of(x)]
    if not all(least <= item <= most for item in zero_points):
        given = ", ".join(map(str, zero_points))
        raise ValueError(f"zero points must be numbers of {dtype_of(element_of(x)).torch}, from {least} to {most}, got {given}")


def check_ratio(multiplier: int, shift: int) -> None:
    """Raises ValueError for a multiplier or a shift out of range."""
    least, most = MOST_BITS - SHIFTS[1], MOST_BITS - SHIFTS[0]
    if not 0 <= multiplier < 2**MOST_BITS or not least <= shift <= most:
        raise ValueError(
            f"out_multiplier must be from 0 to {2**MOST_BITS - 1} and out_shift from {least} to {most}, got {multiplier} and {shift}"
        )


def check_bias(bias: Tensor, channels: int) -> None:
    """Raises TypeError or ValueError unless the bias is of int32, a number for each channel."""
    if element_of(bias) != i32:
        raise TypeError(f"the bias must be of int32, got {dtype_of(element_of(bias)).torch}")
    if shape_of(bias) != (channels,):
        raise ValueError(f"the bias must have the shape {[channels]}, got {list(shape_of(bias))}")


def requantized(sums: Array, bias: Array, multiplier: int, shift: int, zero_point: int, like: Array, channel: int) -> Array:
    """Returns sums, of which dimension `channel` is that of the bias, as numbers of the type of `like`."""
    channels = sums.shape[channel]
    parameters = np.stack([np.broadcast_to(np.asarray(row, np.int64), channels) for row in (bias, multiplier, MOST_BITS - shift)])
    limits = np.iinfo(like.dtype)
    return requantize(sums, parameters, zero_point, limits.min, limits.max, channel).astype(like.dtype)


def check_scales(*scales: float) -> None:
    """Raises ValueError for scales whose products may not be numbers of float32."""
    if not all(2.0**-100 <= scale <= 2.0**100 for scale in scales):
        raise ValueError(f"scales must be from 2^-100 to 2^100, got {' and '.join(map(str, scales))}")


def quantized(reals: Array, scale: float, zero_point: int, like: Array) -> Array:
    """Returns floats of 32 bits as numbers of the type of `like`, NaN as the least."""
    limits = np.iinfo(like.dtype)
    rounded = np.rint(reals * (np.float32(1) / np.float32(scale))) + np.float32(zero_point)
    return np.where(rounded >= limits.min, np.minimum(rounded, limits.max), limits.min).astype(like.dtype)
