"""Tensors and numbers as operands of an element type."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.namespace import aten


def to_element(x: SSAValue, element: Attribute) -> SSAValue:
    """Gives x in an element type: x itself when it has that type already."""
    return x if element_of(x) == element else aten._to_copy(x, element)


def number_for(value: bool | int | float, element: Attribute) -> SSAValue:
    """Returns a number as a 0-d tensor of an element type."""
    return aten.scalar_tensor(value, element)


def as_operand(x: SSAValue | float, element: Any) -> SSAValue:
    """Returns a tensor or a number as a tensor of an element type."""
    return to_element(x, element) if isinstance(x, SSAValue) else number_for(x, element)
