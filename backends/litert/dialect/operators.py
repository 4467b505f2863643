"""The base class of the operators, and the arithmetic of integers that they share. Source: the reference kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import frexp
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i8, i16, i32, i64
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, is_float, shape_of
from flambeau.dialects.quantized_decomposed.quantize import RANGES
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

litert = Namespace("litert")
Numbers = Sequence[int]
Scales = Sequence[float]
OF_BYTES: frozenset[Attribute] = frozenset((f32, i8))
"""The elements of operators that have no kernel for int16."""
ELEMENTS: frozenset[Attribute] = frozenset((*OF_BYTES, i16))
INTEGERS: frozenset[Attribute] = frozenset((i8, i16))
"""The types of quantized activations."""
OPEN = -1
"""A size that only the run knows in the numbers of a shape: the rest of the elements."""
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
    """Raises ValueError unless integers have a scale and a zero point for each of `count` activations, and floats none.

    The zero points of int16 are 0.
    """
    expected = 0 if is_float(element_of(x)) else count
    if len(scales) != expected or len(zero_points) != expected:
        raise ValueError(f"{len(scales)} scales and {len(zero_points)} zero points, and activations of {x.element_type} have {expected}")
    low, high = RANGES[i8] if element_of(x) == i8 else (0, 0)
    if any(scale <= 0 for scale in scales) or any(not low <= item <= high for item in zero_points):
        raise ValueError(f"the scales {list(scales)} are not all positive, or the zero points {list(zero_points)} not from {low} to {high}")


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


def scaled_once(x: Array, multiplier: Array, exponent: Array) -> Array:
    """Returns x * multiplier / 2 ** 31 * 2 ** exponent, of 15 bits of the multiplier: `MultiplyByQuantizedMultiplier`, of int64."""
    short, down = np.minimum((multiplier + (1 << 15)) >> 16, (1 << 15) - 1), 15 - exponent
    return (x * short + (np.int64(1) << (down - 1))) >> down


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


def rescaled_sums(sums: Array, ratios: Sequence[float], dtype: Any) -> Array:
    """Returns sums of products, of activations of a type, times a ratio of scales for each entry of the last dimension, or one."""
    multipliers, exponents = zip(*map(multiplier_of, ratios), strict=True)
    function = scaled if dtype == np.int8 else scaled_once
    return function(sums.astype(np.int64), np.array(multipliers), np.array(exponents))


def activated(x: Array, activation: str) -> Array:
    """Returns floats within the limits of an activation."""
    low, high = _LIMITS[activation]
    return x if low is None else np.clip(x, x.dtype.type(low), None if high is None else x.dtype.type(high))


def limits_of(activation: str, scale: float, zero_point: int, dtype: Any) -> tuple[int, int]:
    """Returns the least and the greatest integer of a result with an activation: `CalculateActivationRangeQuantized`."""
    whole = np.iinfo(dtype)
    found = [
        default
        if limit is None
        else zero_point + int(np.trunc(np.float32(limit) / np.float32(scale) + np.copysign(np.float32(0.5), limit)))
        for limit, default in zip(_LIMITS[activation], (whole.min, whole.max), strict=True)
    ]
    return max(found[0], int(whole.min)), min(found[1], int(whole.max))


def fitted(x: Array, zero_point: int, scale: float, dtype: Any, activation: str = "NONE") -> Array:
    """Returns integers around a zero point, of a type, within the limits of an activation."""
    return np.clip(x + zero_point, *limits_of(activation, scale, zero_point, dtype)).astype(dtype)


def quantized(x: Array, zero_point: int, dtype: Any) -> Array:
    """Returns floats, which are in steps of a scale, as integers around a zero point: halves away from zero, no number as the least.

    Infinities and floats beyond int32 become the nearest one, as in LiteRT's default kernels; its reference kernels cast as C does.
    """
    whole = np.trunc(x.astype(np.float64) + np.copysign(0.5, x))
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.clip(np.nan_to_num(whole, nan=low - zero_point) + zero_point, low, high).astype(dtype)


def looked_up(function: Callable[[Array], Array], x: Array, scales: Scales, zero_points: Numbers) -> Array:
    """Returns what a function of float32 makes of integers: int8 has an entry in a table, int16 lies between two. `LUTPopulate`."""
    step, to = np.float32(scales[0]), np.float32(scales[1])
    if x.dtype == np.int16:
        return between(x, lines(function, step * np.float32(-(1 << 15)), step * np.float32((1 << 15) - 1), to))
    every = np.arange(-128, 128)
    values = half_away(function(step * (every - zero_points[0]).astype(np.float32)) * (np.float32(1) / to))
    table = np.clip(values + zero_points[1], -128, 127).astype(np.int8)
    return table[x.astype(np.int64) + 128]


def lines(function: Callable[[Array], Array], low: Any, high: Any, to: Any) -> Array:
    """Returns the values of a function at 513 places, as int16 in steps of `to`, so that lines between them are near it in the middle.

    It is computed in the type of the numbers.
    """
    kind: Any = to.dtype.type
    size = (high - low) / kind(512)
    places, many = low + np.arange(513, dtype=kind) * size, kind(1 << 16) / (to * kind((1 << 15) - 1) - to * kind(-(1 << 15)))
    values, middles = function(places) * many, half_away(function(places[:-1] + size / kind(2)) * many)
    exact = half_away(values[:-1])
    table = exact - half_away((half_away((values[1:] + exact) / kind(2)) - middles) / kind(2))
    last = half_away(function(np.array([high])) * many)
    return np.clip(np.concatenate([table, last]), -(1 << 15), (1 << 15) - 1).astype(np.int64)


def between(x: Array, table: Array) -> Array:
    """Returns what is on the lines between entries of a table, for each int16: `LUTLookup`."""
    place, rest = 256 + (x.astype(np.int64) >> 7), x.astype(np.int64) & 127
    return (table[place] + (((table[place + 1] - table[place]) * rest + 64) >> 7)).astype(np.int16)


def single(scale: float | np.floating[Any]) -> float:
    """Returns a scale as the float32 that the format holds."""
    return float(np.float32(scale))


FILTER: Mapping[Attribute, ElementType] = {f32: f32, i8: i8, i16: i8}
"""The element types of a filter, by those of the activations."""
WIDE: Mapping[Attribute, ElementType] = {f32: f32, i8: i32, i16: i64}
"""The element types of a bias, by those of the activations."""
