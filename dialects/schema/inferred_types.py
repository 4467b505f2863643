"""Result types as rows infer them: whether a tensor can have them, and whether a declared type is the inferred one."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import Tensor, may_equal, shape_of

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
    return shapes[0] == shapes[1] if DYNAMIC_INDEX not in shapes[0] + shapes[1] else may_equal(shape_of(left), shape_of(right))
