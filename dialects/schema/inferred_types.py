"""Result types as rows infer them: whether a tensor can have them, and whether a declared type is the inferred one."""

from __future__ import annotations

from collections.abc import Set
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Call, Symbol
from flambeau.dialects.ir.extents import Extent, exceeds, may_equal, provably_equal, symbol_of
from flambeau.dialects.ir.tensor_types import Tensor, shape_of

_TOO_LARGE = 1 << 60
"""A size that no dimension has."""


class UndecidedTypesError(VerifyException):
    """The result types of an operator depend on extents that only the run knows."""


def check_extents(kind: Tensor) -> None:
    """Raises ValueError for a type with a size that no dimension can have."""
    for axis, extent in enumerate(shape_of(kind)):
        if exceeds(0, extent) or exceeds(extent, _TOO_LARGE - 1):
            raise ValueError(f"dimension {axis} of the result would have the size {extent}")


def fits(declared: Attribute, inferred: Attribute) -> bool:
    """Whether a declared result type may have the inferred shape, and has its element type; the edge level checks the layout."""
    if declared == inferred:
        return True
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return False
    left, right = cast(Tensor, declared), cast(Tensor, inferred)
    if left.element_type != right.element_type:
        return False
    shapes = left.get_shape(), right.get_shape()
    if DYNAMIC_INDEX not in shapes[0] + shapes[1]:
        return shapes[0] == shapes[1]
    sizes, found = shape_of(left), shape_of(right)
    symbols = {symbol for extent in found if isinstance(extent, Extent) and extent.expression for symbol in extent.expression.symbols}
    return len(sizes) == len(found) and all(_may_be(a, b, symbols) for a, b in zip(sizes, found, strict=True))


def _may_be(declared: int, inferred: int, symbols: Set[Symbol]) -> bool:
    """Whether a declared extent may stand for the inferred one, in a shape that is inferred in these symbols.

    Sums of products of symbols have a normal form, so two of them that differ are different in some run. A condition of the
    program, such as that a size is even, may decide quotients, remainders, minimums and maximums, and whether an extent is a
    number: these need not be proved. Nor need a symbol that the inferred shape does not name: it is a new name for a size.
    """
    name = symbol_of(declared)
    if (name is not None and name not in symbols) or any(map(_depends_on_conditions, (declared, inferred))):
        return may_equal(declared, inferred)
    return provably_equal(declared, inferred)


def _depends_on_conditions(value: int) -> bool:
    """Whether a value is not a sum of products of symbols."""
    if not isinstance(value, Extent) or value.expression is None:
        return True
    return any(isinstance(atom, Call) for monomial, _ in value.expression.terms for atom in monomial)
