"""Attribute values of schema operators: Python value <-> attribute <-> text."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from flambeau.dialects.schema import SchemaArgument, SchemaType, Value


def to_attribute(value: Value | Attribute, kind: SchemaType) -> Attribute:
    """The attribute that stands for a Python value of a schema type. Raises TypeError."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, tuple):
        if kind.base == "int":
            return DenseArrayBase.from_list(i64, [int(cast(int, item)) for item in value])
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
        return FloatAttr(float(cast(float, value)), f64)
    if isinstance(value, int):
        return IntegerAttr(int(value), i64)
    raise TypeError(f"{value!r} cannot be an attribute of type {kind.base}")


def to_value(attribute: Attribute) -> Value | Attribute:
    """The Python value of an attribute; types stay types."""
    if isinstance(attribute, IntegerAttr):
        attribute = cast("IntegerAttr[Any]", attribute)
        return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
    if isinstance(attribute, FloatAttr):
        return cast("FloatAttr[Any]", attribute).value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, DenseArrayBase):
        array = cast("DenseArrayBase[Any]", attribute)
        items = cast("tuple[int | float, ...]", array.get_values())
        return tuple(bool(item) for item in items) if array.elt_type == i1 else tuple(items)
    return attribute


def accepts(attribute: Attribute, kind: SchemaType) -> bool:
    """Whether an attribute is a value of the schema type."""
    if kind.base not in ("int", "bool", "float", "Scalar", "str", "ScalarType"):
        return True
    value = to_value(attribute)
    if kind.base == "ScalarType":
        return isinstance(value, Attribute)
    items = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != kind.is_list:
        return False
    if kind.base == "int":
        return all(isinstance(item, int) and not isinstance(item, bool) for item in items)
    if kind.base == "bool":
        return all(isinstance(item, bool) for item in items)
    if kind.base == "float":
        return all(isinstance(item, float) for item in items)
    if kind.base == "str":
        return isinstance(value, str)
    return all(isinstance(item, bool | int | float) for item in items)


def print_attribute_value(printer: Printer, attribute: Attribute) -> None:
    """Prints an attribute as its Python value: `2`, `0.5`, `true`, `[1, 2]`, `"gelu"`; types as types."""
    value = to_value(attribute)
    if isinstance(value, Attribute):
        printer.print_attribute(value)
    elif isinstance(value, tuple):
        printer.print_string("[" + ", ".join(_literal(item) for item in value) + "]")
    elif isinstance(value, str):
        printer.print_string_literal(value)
    else:
        printer.print_string(_literal(value))


def _literal(value: Value) -> str:
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


def parse_attribute_value(parser: Parser, kind: SchemaType) -> Attribute:
    """Parses what `print_attribute_value` prints, for an argument of type `kind`."""
    if kind.base == "ScalarType":
        return parser.parse_type()
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
    number = parser.parse_number()
    if kind.base == "bool" or (kind.base == "int" and isinstance(number, float)):
        parser.raise_error(f"expected a value of type {kind.base}, got {number}")
    return float(number) if kind.base == "float" else number


def normalized_attribute(argument: SchemaArgument, value: Value | Attribute) -> Attribute | None:
    """The attribute to store for an argument: None when it equals the default."""
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
