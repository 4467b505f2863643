"""The base class of the operators, and the arithmetic of integers that they share. Source: the reference kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import frexp
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_float, shape_of
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

litert = Namespace("litert")
Numbers = Sequence[int]
Scales = Sequence[float]
ELEMENTS: frozenset[Attribute] = frozenset((f32, i8))
LOW, HIGH = -128, 127
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")
"""The functions that layers and sums end with, by their numbers in the format."""
_LIMITS: Mapping[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0, None),
    "RELU_N1_TO_1": (-1, 1),
    "RELU6": (0, 6),
}


class LiteRtOp(SchemaOp):
    """An operator of TFLite."""

    takes = ELEMENTS
    versions: ClassVar[Mapping[Attribute, int]] = {}
    """The version of the operator in which it takes elements of a type; of others, 1."""
    versions_of_ranks: ClassVar[Mapping[int, int]] = {}
    """The versions that take tensors of at least so many dimensions."""
    keeps_type: ClassVar[bool] = False
    """Whether the integers of its result stand for what those of its operands stand for."""

    @property
    def version(self) -> int:
        """The version of the operator that takes its operands."""
        x = self.operands[0]
        found = [version for least, version in self.versions_of_ranks.items() if len(shape_of(x)) >= least]
        return max(self.versions.get(element_of(x), 1), *found, 1)


def check_scales(x: Tensor, scales: Scales, zero_points: Numbers, count: int) -> None:
    """Raises ValueError unless integers have a scale and a zero point for each of `count` activations, and floats none."""
    expected = 0 if is_float(element_of(x)) else count
    if len(scales) != expected or len(zero_points) != expected:
        raise ValueError(f"{len(scales)} scales and {len(zero_points)} zero points, and activations of {x.element_type} have {expected}")
    if any(scale <= 0 for scale in scales) or any(not LOW <= item <= HIGH for item in zero_points):
        raise ValueError(f"the scales {list(scales)} are not all positive, or the zero points {list(zero_points)} are no int8")


def multiplier_of(ratio: float) -> tuple[int, int]:
    """Returns a ratio as a multiplier of 31 bits and an exponent, multiplier / 2 ** 31 * 2 ** exponent: `QuantizeMultiplier`."""
    mantissa, exponent = frexp(ratio)
    multiplier = int(np.floor(mantissa * 2**31 + 0.5))
    if multiplier == 2**31:
        multiplier, exponent = multiplier // 2, exponent + 1
    return (0, 0) if exponent < -31 else (multiplier, exponent)


def scaled(x: Array, multiplier: Array | int, exponent: Array | int) -> Array:
    """Returns x * multiplier / 2 ** 31 * 2 ** exponent, rounded twice: `MultiplyByQuantizedMultiplier`, of int32 in int64."""
    exponent = np.asarray(exponent, np.int64)
    high = high_product(x.astype(np.int64) << np.maximum(exponent, 0), np.asarray(multiplier, np.int64), 31)
    return divided_by_power(high, np.maximum(-exponent, 0))


def high_product(x: Array, multiplier: Array | int, bits: int) -> Array:
    """Returns x * multiplier / 2 ** bits, rounded, halves away from zero: `SaturatingRoundingDoublingHighMul`."""
    product = x * multiplier
    nudged = product + np.where(product >= 0, 1 << (bits - 1), 1 - (1 << (bits - 1)))
    return np.where(nudged >= 0, nudged >> bits, -(-nudged >> bits))


def divided_by_power(x: Array, exponent: Array | int) -> Array:
    """Returns x / 2 ** exponent, rounded, halves away from zero: `RoundingDivideByPOT`."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def rescaled(x: Array, ratio: float) -> Array:
    """Returns integers times one ratio of scales, rounded."""
    return scaled(x, *multiplier_of(ratio))


def half_away(x: Array) -> Array:
    """Returns floats rounded to whole numbers, halves away from zero: `round` of C."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0)


def rescaled_by_channel(x: Array, ratios: Sequence[float]) -> Array:
    """Returns integers times a ratio of scales for each entry of the last dimension, rounded."""
    multipliers, exponents = zip(*map(multiplier_of, ratios), strict=True)
    return scaled(x, np.array(multipliers), np.array(exponents))


def activated(x: Array, activation: str) -> Array:
    """Returns floats within the limits of an activation."""
    low, high = _LIMITS[activation]
    return x if low is None else np.clip(x, x.dtype.type(low), None if high is None else x.dtype.type(high))


def limits_of(activation: str, scale: float, zero_point: int) -> tuple[int, int]:
    """Returns the least and the greatest int8 of a result with an activation: `CalculateActivationRangeQuantized`."""
    found = [
        default
        if limit is None
        else zero_point + int(np.trunc(np.float32(limit) / np.float32(scale) + np.copysign(np.float32(0.5), limit)))
        for limit, default in zip(_LIMITS[activation], (LOW, HIGH), strict=True)
    ]
    return max(found[0], LOW), min(found[1], HIGH)


def as_int8(x: Array, zero_point: int, scale: float, activation: str = "NONE") -> Array:
    """Returns integers around a zero point, within the limits of an activation."""
    return np.clip(x + zero_point, *limits_of(activation, scale, zero_point)).astype(np.int8)


def quantized(x: Array, zero_point: int) -> Array:
    """Returns floats, which are in steps of a scale, as integers around a zero point: halves away from zero, no number as the least.

    Infinities and floats beyond int32 become the nearest int8, as in LiteRT's default kernels; its reference kernels cast as C does.
    """
    whole = np.trunc(x.astype(np.float64) + np.copysign(0.5, x))
    return np.clip(np.nan_to_num(whole, nan=LOW - zero_point) + zero_point, LOW, HIGH).astype(np.int8)


def looked_up(function: Callable[[Array], Array], x: Array, scales: Scales, zero_points: Numbers) -> Array:
    """Returns what a function of float32 makes of integers, each of which has an entry in a table: `LUTPopulate`."""
    step, to = np.float32(scales[0]), np.float32(scales[1])
    every = np.arange(LOW, HIGH + 1)
    values = half_away(function(step * (every - zero_points[0]).astype(np.float32)) * (np.float32(1) / to))
    table = np.clip(values + zero_points[1], LOW, HIGH).astype(np.int8)
    return table[x.astype(np.int64) - LOW]


def single(scale: float | np.floating[Any]) -> float:
    """Returns a scale as the float32 that the format holds."""
    return float(np.float32(scale))


WIDE: Mapping[Attribute, Attribute] = {f32: f32, i8: i32}
"""The element types of a bias, by those of the activations."""
