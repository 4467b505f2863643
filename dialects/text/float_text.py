"""The text of floats without loss: decimals that read back to the same bits, and the bits of infinities and of each NaN."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    ReducedPrecisionFloatType,
)
from xdsl.ir import Attribute

WideFloat: TypeAlias = Float80Type | Float128Type
"""The types whose numbers xDSL keeps in double precision."""

_LONGEST = 100
"""The length of the longest list of elements that is not written as bytes."""
_FRACTION = 52
"""The width of the fraction of a double."""
_MASK = (1 << _FRACTION) - 1
_QUIET = 1 << (_FRACTION - 1)
_FRACTIONS: dict[type[AnyFloat], int] = {
    **{Float16Type: 10, BFloat16Type: 7, Float32Type: 23, Float64Type: _FRACTION},
    **{Float80Type: 63, Float128Type: 112},
}
"""The width of the fraction in each type whose NaN are as in IEEE 754, unless the type has semantics of its own."""


def float_text(value: float, kind: AnyFloat) -> str:
    """Returns a literal that reads back to the same number of a type: a decimal with a point, or bits if no decimal tells the number."""
    if not math.isfinite(value):
        return bits_text(bits_of(value, kind), kind)
    short = f"{value:.5e}".replace("e", "0e")
    if rounded(float(short), kind) == value:
        return short
    digits = 9 if isinstance(kind, Float32Type) else 17
    long = f"{value:.{digits}g}" if isinstance(kind, Float32Type | Float64Type) else repr(value)
    return long if "." in long else f"{value:.{digits - 1}e}"


def bits_text(bits: int, kind: AnyFloat) -> str:
    """Returns the literal of a number of a type from its bits, which may be those of any NaN."""
    value = value_of(bits, kind)
    return float_text(value, kind) if math.isfinite(value) else f"0x{bits:0{2 * kind.size}x}"


def bits_of(value: float, kind: AnyFloat) -> int:
    """Returns the bits of a number of a type. Where a double is NaN, its sign and the highest digits of its fraction are kept."""
    fraction = _nan_fraction(kind)
    if isinstance(kind, Float80Type | Float128Type):
        return _bits_of_wide(value, kind)
    if not math.isnan(value) or fraction is None:
        return int.from_bytes(kind.pack((value,)), "little")
    double = _double_bits(value)
    payload = (double & _MASK) >> (_FRACTION - fraction) or 1 << (fraction - 1)
    sign = double >> 63 << (kind.bitwidth - 1)
    exponent = ((1 << (kind.bitwidth - 1)) - 1) >> fraction << fraction
    return sign | exponent | payload


def value_of(bits: int, kind: AnyFloat) -> float:
    """Returns the number of a type with these bits, as `bits_of` takes it. Raises ValueError when a double cannot have it."""
    if bits.bit_length() > kind.bitwidth:
        raise ValueError(f"0x{bits:X} has more bits than {kind.name}")
    if isinstance(kind, Float80Type | Float128Type):
        return _value_of_wide(bits, kind)
    (value,) = kind.unpack(bits.to_bytes(kind.size, "little"), 1)
    if not math.isnan(value):
        return value
    fraction = _nan_fraction(kind)
    negative = bits >> (kind.bitwidth - 1)
    if fraction is None:
        # Of the types with NaN of another form, those with two of them tell these by their sign.
        return math.copysign(math.nan, -1.0 if negative and _has_two_nans(kind) else 1.0)
    return _nan(negative, (bits & ((1 << fraction) - 1)) << (_FRACTION - fraction))


def rounded(value: float, kind: AnyFloat) -> float:
    """Returns the number of a type that is nearest to a number."""
    return value if isinstance(kind, Float80Type | Float128Type) else kind.unpack(kind.pack((value,)), 1)[0]


def is_repeated(constant: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Returns whether all elements of a constant have the same bits. xDSL takes 0.0 for -0.0, and a NaN for none."""
    data, length = constant.data.data, len(constant)
    return length > 0 and data == data[: len(data) // length] * length


def dense_text(constant: DenseIntOrFPElementsAttr[Any]) -> str | None:
    """Returns the text of a dense constant without its type; None for integers."""
    element: Attribute = constant.type.element_type
    number: Attribute = cast("ComplexType[Any]", element).element_type if isinstance(element, ComplexType) else element
    if not isinstance(number, AnyFloat):
        return None
    data, length, repeated = constant.data.data, len(constant), is_repeated(constant)
    if not length:
        return "dense<>"
    size = len(data) // length
    try:
        if length > _LONGEST and not repeated:
            raise ValueError("too long for literals")
        elements = [_element_text(data[start : start + size], number) for start in range(0, size if repeated else len(data), size)]
    except ValueError:
        return f'dense<"0x{data.hex().upper()}">'
    return f"dense<{elements[0] if repeated else _nested(elements, constant.get_shape() if constant.shape_is_complete else (length,))}>"


def array_text(array: DenseArrayBase[Any]) -> str | None:
    """Returns the text of an array of floats; None for integers."""
    kind, data = array.elt_type, array.data.data
    if not isinstance(kind, AnyFloat) or not data:
        return None
    items = [data[start : start + kind.size] for start in range(0, len(data), kind.size)]
    return f"array<{kind.name}: {', '.join([_element_text(item, kind) for item in items])}>"


def _element_text(data: bytes, kind: AnyFloat) -> str:
    """Returns the literal of a number, or of a complex one."""
    parts = [bits_text(int.from_bytes(data[start : start + kind.size], "little"), kind) for start in range(0, len(data), kind.size)]
    return parts[0] if len(parts) == 1 else f"({','.join(parts)})"


def _nested(elements: list[str], shape: Sequence[int]) -> str:
    if len(shape) > 1:
        step = len(elements) // shape[0]
        elements = [_nested(elements[start : start + step], shape[1:]) for start in range(0, len(elements), step)]
    return f"[{', '.join(elements)}]"


def _nan_fraction(kind: AnyFloat) -> int | None:
    """Returns the width of the fraction in a type whose NaN are as in IEEE 754; None for other types."""
    if not isinstance(kind, ReducedPrecisionFloatType):
        return _FRACTIONS[type(kind)]
    return kind.SEMANTICS.mantissa_bits if kind.SEMANTICS.nonfinite is FloatNonfiniteBehavior.IEEE else None


def _has_two_nans(kind: AnyFloat) -> bool:
    return isinstance(kind, ReducedPrecisionFloatType) and (
        kind.SEMANTICS.has_sign and kind.SEMANTICS.nan_encoding is FloatNanEncoding.ALL_ONES
    )


def _double_bits(value: float) -> int:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return bits


def _nan(negative: int, fraction: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", negative << 63 | 0x7FF << _FRACTION | fraction))
    return value


def _bits_of_wide(value: float, kind: WideFloat) -> int:
    fraction, bias = _FRACTIONS[type(kind)], (1 << 14) - 1
    double = _double_bits(value)
    exponent, digits = double >> _FRACTION & 0x7FF, double & _MASK
    if exponent == 0x7FF:
        exponent = 2 * bias + 1
    elif value:
        mantissa, power = math.frexp(abs(value))
        exponent, digits = power - 1 + bias, int(math.ldexp(mantissa, _FRACTION + 1)) & _MASK
    digits <<= fraction - _FRACTION
    if isinstance(kind, Float80Type):
        fraction, digits = fraction + 1, digits | (1 << fraction if exponent else 0)
    return double >> 63 << (kind.bitwidth - 1) | exponent << fraction | digits


def _value_of_wide(bits: int, kind: WideFloat) -> float:
    fraction, bias = _FRACTIONS[type(kind)], (1 << 14) - 1
    exponent_at = fraction + isinstance(kind, Float80Type)
    negative, exponent = bits >> (kind.bitwidth - 1), bits >> exponent_at & 0x7FFF
    digits = bits & ((1 << fraction) - 1)
    value = math.nan
    if exponent == 0x7FFF:
        value = _nan(negative, digits >> (fraction - _FRACTION))
    elif -1100 < exponent - bias < 1024:
        value = math.ldexp((1 << fraction | digits) >> (fraction - _FRACTION), exponent - bias - _FRACTION) * (-1 if negative else 1)
    elif not exponent and not digits:
        value = -0.0 if negative else 0.0
    if _bits_of_wide(value, kind) != bits:
        raise ValueError(f"0x{bits:X} is no number of double precision, in which constants of {kind.name} are kept")
    return value
