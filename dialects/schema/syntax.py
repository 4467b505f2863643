"""Converts attribute values of operators between Python, attributes and text."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import copysign
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from flambeau.dialects.ir.attribute_values import is_extents, to_value
from flambeau.dialects.ir.extent_attribute import ExtentAttr, extent_text, parse_extent_from, parse_optional_extent, print_extent
from flambeau.dialects.ir.extents import Extent, UndecidedError, is_known, is_unknown
from flambeau.dialects.schema.schema import SchemaArgument, SchemaType, Value


def to_attribute(value: Value | Attribute, kind: SchemaType) -> Attribute:
    """Returns the attribute for a Python value of a schema type. Raises TypeError."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, Extent):
        return _extent(value)
    if isinstance(value, tuple):
        if kind.base == "int" and not all(map(is_known, cast("tuple[int, ...]", value))):
            return ArrayAttr([_extent(cast(int, item)) for item in value])
        if kind.base == "int":
            return _integers(tuple([int(cast(int, item)) for item in value]))
        if kind.base == "bool":
            return DenseArrayBase.from_list(i1, [int(cast(bool, item)) for item in value])
        if kind.base in ("float", "Scalar"):
            return DenseArrayBase.from_list(f64, [float(cast(float, item)) for item in value])
        raise TypeError(f"a list of {kind.base} cannot be an attribute")
    if kind.base == "bool" or (kind.base == "Scalar" and isinstance(value, bool)):
        return BoolAttr.from_bool(bool(value))
    if isinstance(value, str):
        return StringAttr(value)
    if kind.base == "float" or (kind.base == "Scalar" and isinstance(value, float)):
        number = float(cast(float, value))
        return _float(number, copysign(1.0, number))
    if isinstance(value, int):
        return _integer(int(value))
    raise TypeError(f"{value!r} cannot be an attribute of type {kind.base}")


def _extent(value: int) -> ExtentAttr:
    if is_unknown(value):
        raise UndecidedError("it depends on the extent of a dimension that is known only when the program runs")
    return ExtentAttr.of(value)


# Equal attributes share one object, which is faster to make, to hash and to compare.


@lru_cache(maxsize=65536)
def _integers(items: tuple[int, ...]) -> Attribute:
    try:
        return DenseArrayBase(i64, BytesAttr(struct.pack(f"<{len(items)}q", *items)))
    except struct.error:
        return DenseArrayBase.from_list(i64, items)  # accepts unsigned values, and raises an error for others


@lru_cache(maxsize=4096)
def _integer(value: int) -> Attribute:
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _float(value: float, sign: float) -> Attribute:
    """Returns a cached attribute; `sign` distinguishes 0.0 from -0.0 in the cache."""
    return FloatAttr(value, f64)


_ACCEPTED: dict[str, tuple[type, ...]] = {"int": (int,), "bool": (bool,), "float": (float,), "Scalar": (bool, int, float), "str": (str,)}


def accepts(attribute: Attribute, kind: SchemaType) -> bool:
    """Returns whether an attribute is a value of the schema type."""
    if kind.base == "ScalarType":
        return _python_type(attribute) is None
    accepted = _ACCEPTED.get(kind.base)
    found = _python_type(attribute)
    is_list = isinstance(attribute, DenseArrayBase) or is_extents(attribute)
    return accepted is None or (found in accepted and is_list == kind.is_list)


def _python_type(attribute: Attribute) -> type | None:
    """Returns the type of an attribute's Python value, or of an array's elements; None if `to_value` returns the attribute."""
    if isinstance(attribute, StringAttr):
        return str
    if isinstance(attribute, FloatAttr):
        return float
    if isinstance(attribute, IntegerAttr):
        return bool if cast("IntegerAttr[Any]", attribute).type == i1 else int
    if isinstance(attribute, DenseArrayBase):
        element = cast("DenseArrayBase[Any]", attribute).elt_type
        return bool if element == i1 else int if isinstance(element, IntegerType) else float
    return int if isinstance(attribute, ExtentAttr) or is_extents(attribute) else None


def value_text(attribute: Attribute) -> str | None:
    """Returns an attribute as its Python value: `2`, `0.5`, `true`, `[1, 2]`, `"gelu"`; None for one that only a printer can print."""
    value = to_value(attribute)
    if isinstance(value, tuple):
        return f"[{', '.join([_literal(item) for item in value])}]"
    return None if isinstance(value, Attribute | str) else _literal(value)


def print_attribute_value(printer: Printer, attribute: Attribute) -> None:
    """Prints an attribute as its Python value; types as types."""
    if isinstance(attribute, StringAttr):
        printer.print_string_literal(attribute.data)
    elif isinstance(attribute, ExtentAttr):
        print_extent(printer, attribute)
    elif is_extents(attribute):
        printer.print_string("[")
        printer.print_list(cast("ArrayAttr[ExtentAttr]", attribute).data, lambda item: print_extent(printer, item))
        printer.print_string("]")
    elif (text := value_text(attribute)) is not None:
        printer.print_string(text)
    else:
        printer.print_attribute(attribute)


def _literal(value: Value) -> str:
    if isinstance(value, Extent):
        return extent_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f'"{value}"'
        text = repr(value)
        if "e" in text and "." not in text:
            mantissa, _, exponent = text.partition("e")
            text = f"{mantissa}.0e{exponent}"
        return text
    return str(value)


def parse_argument(parser: Parser, argument: SchemaArgument, start: int) -> Attribute:
    """Parses `= value` for an argument whose name begins at `start`.

    Raises:
        ParseError: for an attribute as MLIR spells it, it says how it is written here.
    """
    if parser.parse_optional_punctuation("=") is None:
        if argument.type.base == "bool" and _ends(parser):
            _refuse(parser, argument, "true", start)
        parser.parse_punctuation("=")
    start = parser.pos
    try:
        attribute = parse_attribute_value(parser, argument.type)
        if _ends(parser):
            return attribute
    except ParseError:
        if (text := _spelt_here(parser, argument.type, start)) is not None:
            _refuse(parser, argument, text, start)
        raise
    here = parser.pos
    if (text := _spelt_here(parser, argument.type, start)) is not None:
        _refuse(parser, argument, text, start)
    parser._resume_from(here)  # pyright: ignore[reportPrivateUsage]  the way of xDSL's own parsers to look ahead
    return attribute


def _ends(parser: Parser) -> bool:
    """Returns whether an attribute ends here."""
    return parser._current_token.text in (",", "}")  # pyright: ignore[reportPrivateUsage]  xDSL has no other way to look ahead


def _refuse(parser: Parser, argument: SchemaArgument, text: str, start: int) -> NoReturn:
    parser.raise_error(f"write {{{argument.name} = {text}}}: the operator's schema gives the type", start, parser.pos)


def _spelt_here(parser: Parser, kind: SchemaType, start: int) -> str | None:
    """Returns the text of what stands at `start` as one of MLIR's attributes, where it can be a value of the schema type."""
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]  the way of xDSL's own parsers to look ahead
    try:
        attribute = parser.parse_attribute()
    except (ParseError, ValueError, TypeError, VerifyException):
        return None
    if not _ends(parser):
        return None
    values: list[Any] = []
    for item in cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else (attribute,):
        value = to_value(item)
        values += value if isinstance(value, tuple) else (value,)
    accepted = (int, float) if kind.base == "float" else _ACCEPTED.get(kind.base, ())
    if kind.base == "str" or any(type(value) not in accepted for value in values):
        return None
    if kind.is_list:
        return f"[{', '.join(map(_literal, values))}]"
    return None if isinstance(attribute, ArrayAttr | DenseArrayBase) else _literal(values[0])


def parse_attribute_value(parser: Parser, kind: SchemaType) -> Attribute:
    """Parses what `print_attribute_value` prints, for an argument of type `kind`."""
    if kind.base == "ScalarType":
        return parser.parse_type()
    if kind.is_list and kind.base == "int":
        # Our own parser reads a whole list at once; xDSL's does not.
        read: Callable[[], tuple[int, ...] | None] | None = getattr(parser, "parse_optional_integers", None)
        if read is not None and (integers := read()) is not None:
            return _integers(integers)
    if kind.is_list and kind.base in ("int", "bool", "float", "Scalar"):
        items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_item(parser, kind))
        return to_attribute(tuple(items), kind)
    if kind.base in ("int", "bool", "float", "Scalar"):
        return to_attribute(_parse_item(parser, kind), kind)
    if kind.base in ("str", "MemoryFormat", "Device"):
        return StringAttr(parser.parse_str_literal())
    return parser.parse_attribute()


def _parse_item(parser: Parser, kind: SchemaType) -> Value:
    if (text := parser.parse_optional_str_literal()) is not None:
        if kind.base in ("float", "Scalar") and text in ("inf", "-inf", "nan"):
            return float(text)
        parser.raise_error(f"expected a value of type {kind.base}, got a string")
    if (flag := parser.parse_optional_boolean()) is not None:
        if kind.base in ("bool", "Scalar"):
            return flag
        parser.raise_error(f"expected a value of type {kind.base}, got a bool")
    if kind.base in ("int", "Scalar") and (extent := parse_optional_extent(parser)) is not None:
        return extent
    start, number = parser.pos, parser.parse_number()
    if kind.base == "bool" or (kind.base == "int" and isinstance(number, float)):
        parser.raise_error(f"expected a value of type {kind.base}, got {number}")
    if kind.base == "float" or isinstance(number, float):
        return float(number)
    return parse_extent_from(parser, _in_64_bits(parser, number, start))


def _in_64_bits(parser: Parser, number: int, start: int) -> int:
    """Returns `number`, unless it is outside of PyTorch's ints; xDSL's i64 has unsigned values as well."""
    if not -(2**63) <= number < 2**63:
        parser.raise_error(f"{number} does not fit in 64 bits: an int is between {-(2**63)} and {2**63 - 1}", start, parser.pos)
    return number


def normalized_attribute(argument: SchemaArgument, value: Value | Attribute) -> Attribute | None:
    """Returns the attribute to store for an argument: None when it equals the default."""
    if value is None:
        return None
    kind = argument.type
    if kind.is_list and kind.list_size and isinstance(value, bool | int | float):
        value = (value,) * kind.list_size
    attribute = to_attribute(value, kind)
    if kind.is_list and kind.list_size and isinstance(scalar := to_value(attribute), bool | int | float):
        attribute = to_attribute((scalar,) * kind.list_size, kind)
    if argument.has_default and argument.default is not None and attribute == to_attribute(argument.default, kind):
        return None
    return attribute


def parse_signature(parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """Parses a function type: the types of the operands and of the results."""
    inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    parser.parse_punctuation("->")
    outputs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return inputs, [parser.parse_type()] if outputs is None else outputs
