"""The base class of the operators, and the arithmetic of integers that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f16, f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import ElementType, Tensor, broadcast, element_of, from_numpy_name, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

tosa = Namespace("tosa")
Numbers = Sequence[int]
FLOATS: frozenset[Attribute] = frozenset((f32, f16))
ELEMENTS: frozenset[Attribute] = FLOATS | {i8, i16, i32}
MOVED = ELEMENTS | {i1}
"""The element types of what is moved only."""
i48 = i64
"""int48, the type of sums of products with int16. Tensors of a program have no 48 bits, so it is int64 here; the graph has 48 bits."""
RANGES: Mapping[Attribute, tuple[int, int]] = {
    i8: (-(2**7), 2**7 - 1),
    i16: (-(2**15), 2**15 - 1),
    i32: (-(2**31), 2**31 - 1),
    i48: (-(2**47), 2**47 - 1),
}
"""The least and the greatest number of types."""
FACTORS: frozenset[Attribute] = FLOATS | {i8, i16}
"""The element types of what is multiplied by weights, or of other tensors."""
_SUMS: Mapping[Attribute, ElementType] = {f32: f32, f16: f16, i8: i32, i16: i48}


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
    """Returns the type of sums of products: int32 of int8, int48 of int16, of floats their own. Raises KeyError for other types."""
    return _SUMS[element]


def weight_type(element: ElementType) -> ElementType:
    """Returns the type of the weights that numbers of a type are multiplied by: int8 for all integers."""
    return i8 if element == i16 else element


def factor(x: Array, zero_point: int = 0) -> Array:
    """Returns numbers less their zero point in a type for sums of their products: float64 holds those of 48 bits, float32 adds float16."""
    return x.astype(np.float32, copy=False) if x.dtype.kind == "f" else x.astype(np.float64) - zero_point


def as_sums(found: Array, x: Array) -> Array:
    """Returns sums of products in the type that those with the numbers `x` have."""
    row = from_numpy_name(x.dtype.name)
    assert row is not None
    return found.astype(numpy_dtype(wide(row.element)))


def scaled(x: Array, multiplier: Array, shift: Array | int) -> Array:
    """Returns x * multiplier / 2 ** shift, halves rounded up: `apply_scale_32` with a single rounding, in int64."""
    shift = np.asarray(shift, np.int64)
    return (x.astype(np.int64) * np.asarray(multiplier, np.int64) + (np.int64(1) << (shift - 1))) >> shift


def limited(x: Array, element: Attribute) -> Array:
    """Returns integers limited to those of a type."""
    return np.clip(x, *RANGES[element]).astype(numpy_dtype(element))
