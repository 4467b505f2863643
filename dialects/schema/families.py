"""Families: bases of rows that share an argument list's rule for types, and the rules themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import (
    DTYPES,
    ElementType,
    Tensor,
    broadcast,
    dtype_of,
    element_of,
    from_scalar_type,
    may_equal,
    normalize_dim,
    promote_operands,
    shape_of,
    tensor,
    tensor_type,
)
from flambeau.dialects.schema.row import SchemaOp

COMPUTED = tuple(row for row in DTYPES if row.computes)
FLOATS = frozenset(row.element for row in COMPUTED if row.category == 2)
NUMBERS = frozenset(row.element for row in COMPUTED if row.category)
REALS = frozenset(row.element for row in COMPUTED if row.category < 3)
FLOATS_AND_LONG = FLOATS | {i64}
FLOATS_AND_BOOL = FLOATS | {i1}


def float_element(element: Attribute) -> ElementType:
    """Returns the element type itself when it is a float or complex, else the default float."""
    found = dtype_of(element)
    return found.element if found.category >= 2 else f32


def wide_element(element: Attribute) -> ElementType:
    """Returns the type in which several steps neither overflow nor lose digits of a float: float32 for the half types."""
    return f32 if element in (f16, bf16) else dtype_of(element).element


def sum_element(element: Attribute) -> ElementType:
    """Returns the type in which integers and bools add up: int64; floats and complex numbers keep theirs."""
    found = dtype_of(element)
    return found.element if found.category >= 2 else i64


def chosen_element(dtype: Attribute | int | None, default: Attribute) -> ElementType:
    """Returns the value of a `ScalarType?` argument: an element type, a ScalarType number, or None for the default."""
    if dtype is None:
        return dtype_of(default).element
    if isinstance(dtype, Attribute):
        return dtype_of(dtype).element
    found = from_scalar_type(dtype)
    if found is None:
        raise TypeError(f"ScalarType {dtype} is not an element type of a program's tensors")
    return found.element


def promote_values(*operands: SSAValue | bool | int | float) -> ElementType:
    """Returns the common element type of values and numbers, as `promote_operands` does for tensor types and numbers."""
    return promote_operands(*(tensor_type(operand) if isinstance(operand, SSAValue) else operand for operand in operands))


def require_category(operation: str, *operands: Tensor | bool | int | float, at_least: int = 0, at_most: int = 3) -> None:
    """Raises TypeError when the promoted operands are not of the categories (0 bool, 1 integer, 2 float, 3 complex) of PyTorch."""
    element = promote_operands(*operands)
    if not at_least <= dtype_of(element).category <= at_most:
        raise TypeError(f"{operation} is not defined for {dtype_of(element).torch} tensors")


def require_number(number: bool | int | float, element: Attribute) -> None:
    """Raises ValueError for a number that PyTorch does not convert to an element type, because the type does not hold it.

    Negative integers wrap around in unsigned types, and every number is a truth. A number that only the run knows is not checked.
    """
    if isinstance(number, int) and not is_known(number):
        return
    found = dtype_of(element)
    if found.category == 1:
        bits = 8 * found.size
        is_signed = not found.mlir.startswith("ui")
        high = 2 ** (bits - is_signed) - 1
        low = -high - 1 if is_signed else -high if isinstance(number, int) else 0
        holds = low <= number <= high
    else:
        format = found.format
        holds = format is None or abs(number) <= format.largest or number != number or (math.isinf(number) and format.specials == "IEEE")
    if not holds:
        raise ValueError(f"{number} is not a number that {found.torch} holds")


def require_integer(what: str, number: bool | int | float, *operands: Tensor | bool | int | float) -> None:
    """Raises ValueError when a factor of operands that promote to integers is written as a float."""
    if isinstance(number, float) and dtype_of(promote_operands(*operands)).category < 2:
        raise ValueError(f"{what} must be an integer when the operands are, got {number}")
    if isinstance(number, bool) and dtype_of(promote_operands(*operands)).category > 0:
        raise ValueError(f"{what} must not be a bool when the operands are numbers")


def require_same_element(*operands: Tensor | None) -> None:
    """Raises TypeError when tensors that are present have different element types."""
    names = {dtype_of(element_of(operand)).torch for operand in operands if operand is not None}
    if len(names) > 1:
        raise TypeError(f"operands must have one element type, got {' and '.join(sorted(names))}")


def require_shape(name: str, x: Tensor | None, shape: Sequence[int]) -> None:
    """Raises ValueError when a tensor that is present has another shape."""
    if x is not None and not may_equal(shape_of(x), shape):
        raise ValueError(f"{name} must have shape {list(shape)}, got {list(shape_of(x))}")


def require_rank(what: str, shape: Sequence[int], rank: int) -> None:
    """Raises ValueError, which names `what`, unless a shape has `rank` dimensions."""
    if len(shape) != rank:
        raise ValueError(f"{what} must have {rank} dimensions, got {list(shape)}")


def require_only(what: str, found: object, only: object) -> None:
    """Raises ValueError, which names `what`, unless `found` is `only`, the only supported value."""
    if found != only:
        raise ValueError(f"{what} is {found!r}, and {only!r} is supported here")


def in_element(factor: float, element: Attribute) -> float:
    """Returns a factor as PyTorch takes it in products of an element type: of integers whole, of bools a truth. Raises ValueError."""
    if dtype_of(element).category >= 2:
        return factor
    if dtype_of(element).category == 0:
        return bool(factor)
    if not math.isfinite(factor):
        raise ValueError(f"{factor} cannot multiply {dtype_of(element).torch} tensors")
    return int(factor)


def operand_shape(operand: Tensor | bool | int | float) -> tuple[int, ...]:
    """Returns the shape of a tensor operand; a number has none."""
    return () if isinstance(operand, bool | int | float) else shape_of(operand)


def reduced_dims(dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
    """Returns the dimensions that a reduction removes, from the front, in order; none named means all. Raises IndexError, ValueError."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(rank))
    found = [normalize_dim(dim, rank) for dim in dims]
    if len(set(found)) < len(found):
        raise ValueError(f"dims {list(dims)} name one dimension twice")
    return tuple(sorted(found)) if rank else ()


def reduced_shape(shape: Sequence[int], dims: Sequence[int] | int | None, keepdim: bool) -> tuple[int, ...]:
    """Returns the shape after a reduction over `dims`."""
    removed = reduced_dims(dims, len(shape))
    if keepdim:
        return tuple(1 if axis in removed else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in removed)


class UnaryOp(SchemaOp):
    """Elementwise operators on one tensor; the result has the operand's type."""

    inplace = (0,)
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(element_of(x), shape_of(x))


class FloatOnlyUnaryOp(UnaryOp):
    """Unary operators that accept only floats."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("this operator", x, at_least=2)
        return tensor(element_of(x), shape_of(x))


class FloatUnaryOp(UnaryOp):
    """Elementwise operators on one tensor with float results; integers and bools give the default float type."""

    computes_in = "result"

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(float_element(element_of(x)), shape_of(x))


class UnaryPredicateOp(UnaryOp):
    """Elementwise operators on one tensor with bool results."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(i1, shape_of(x))


class BinaryOp(SchemaOp):
    """Elementwise operators on two operands, one of which may be a number; they are broadcast and promoted to a common type."""

    inplace = (0, 1)
    elementwise = True
    computes_in = "result"

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        return tensor(promote_operands(a, b), broadcast(operand_shape(a), operand_shape(b)))


class FloatBinaryOp(BinaryOp):
    """Binary operators with float results; integers and bools give the default float type."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        return tensor(float_element(promote_operands(a, b)), broadcast(operand_shape(a), operand_shape(b)))


class NumberBinaryOp(BinaryOp):
    """Binary operators that do not accept bools."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("this operator", a, b, at_least=1)
        return BinaryOp.infer(a, b)


class IntegerBinaryOp(BinaryOp):
    """Binary operators that accept only integers and bools."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("a bitwise operator", a, b, at_most=1)
        return tensor(promote_operands(a, b), broadcast(operand_shape(a), operand_shape(b)))


class CompareOp(BinaryOp):
    """Binary operators with bool results."""

    inplace = ()
    computes_in = "promoted"

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        promote_operands(a, b)
        return tensor(i1, broadcast(operand_shape(a), operand_shape(b)))


class IdentityOp(SchemaOp):
    """Operators that return their only operand unchanged."""

    inplace = (0,)
    moves = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Any, /) -> Any:
        return x
