"""The base class of the operators, and the arithmetic of integers that they share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import ElementType
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

tosa = Namespace("tosa")
Numbers = Sequence[int]
ELEMENTS: frozenset[Attribute] = frozenset((f32, i8, i16, i32))
LOW, HIGH = -128, 127


class TosaOp(SchemaOp):
    """An operator of TOSA."""

    takes = ELEMENTS


def wide(element: Attribute) -> ElementType:
    """Returns the type of sums and products: int32 of int8."""
    return i32 if element == i8 else f32


def scaled(x: Array, multiplier: Array, shift: Array) -> Array:
    """Returns x * multiplier / 2 ** shift, halves rounded up: `apply_scale_32` with a single rounding, in int64."""
    shift = np.asarray(shift, np.int64)
    return (x.astype(np.int64) * np.asarray(multiplier, np.int64) + (np.int64(1) << (shift - 1))) >> shift


def to_int8(x: Array) -> Array:
    """Returns integers limited to those of int8."""
    return np.clip(x, LOW, HIGH).astype(np.int8)
