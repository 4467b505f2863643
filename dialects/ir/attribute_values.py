"""Conversion of attributes to Python values."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute

from flambeau.dialects.ir.extent_attribute import ExtentAttr

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"


def to_value(attribute: Attribute) -> Value | Attribute:
    """Returns the Python value of an attribute, where extents are ints; any other attribute, such as a type, unchanged."""
    kind = type(attribute)  # isinstance is slow for attributes, whose classes are abstract
    if kind is IntegerAttr:
        attribute = cast("IntegerAttr[Any]", attribute)
        return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
    if kind is FloatAttr:
        return cast("FloatAttr[Any]", attribute).value.data
    if kind is StringAttr:
        return cast(StringAttr, attribute).data
    if kind is DenseArrayBase:
        array = cast("DenseArrayBase[Any]", attribute)
        items = cast("tuple[int | float, ...]", array.get_values())
        return tuple(bool(item) for item in items) if array.elt_type == i1 else tuple(items)
    if kind is ExtentAttr:
        return cast(ExtentAttr, attribute).value
    if kind is ArrayAttr and is_extents(attribute):
        return tuple([item.value for item in cast("ArrayAttr[ExtentAttr]", attribute)])
    return attribute


def is_extents(attribute: Attribute) -> bool:
    """Returns whether an attribute is a list of integers, some of which are extents."""
    items = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else ()
    return bool(items) and all(isinstance(item, ExtentAttr) for item in items)
