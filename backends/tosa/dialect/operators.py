"""The base class of the operators, and the arithmetic of integers that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32, i1, i8, i16, i32
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import ElementType, Tensor, broadcast, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

tosa = Namespace("tosa")
Numbers = Sequence[int]
ELEMENTS: frozenset[Attribute] = frozenset((f32, i8, i16, i32))
MOVED = ELEMENTS | {i1}
"""The element types of what is moved only."""
LOW, HIGH = -128, 127
RANGES: Mapping[Attribute, tuple[int, int]] = {i8: (LOW, HIGH), i16: (-(2**15), 2**15 - 1), i32: (-(2**31), 2**31 - 1)}
"""The least and the greatest number of types."""


class TosaOp(SchemaOp):
    """An operator of TOSA."""

    takes = ELEMENTS


class OfTwoOp(TosaOp):
    """A function of two tensors of one type and rank, whose dimensions of one entry are repeated."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) != element_of(b) or len(shape_of(a)) != len(shape_of(b)):
            raise ValueError(f"operands {a} and {b} are not of one type and rank")
        return tensor(element_of(a), broadcast(shape_of(a), shape_of(b)))


def wide(element: Attribute) -> ElementType:
    """Returns the type of sums and products: int32 of int8."""
    return i32 if element == i8 else f32


def scaled(x: Array, multiplier: Array, shift: Array | int) -> Array:
    """Returns x * multiplier / 2 ** shift, halves rounded up: `apply_scale_32` with a single rounding, in int64."""
    shift = np.asarray(shift, np.int64)
    return (x.astype(np.int64) * np.asarray(multiplier, np.int64) + (np.int64(1) << (shift - 1))) >> shift


def limited(x: Array, element: Attribute) -> Array:
    """Returns integers limited to those of a type."""
    return np.clip(x, *RANGES[element]).astype(numpy_dtype(element))


def to_int8(x: Array) -> Array:
    """Returns integers limited to those of int8."""
    return limited(x, i8)
