"""Result types as rows infer them: extents that are known or not, and whether a declared type is the inferred one."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, may_equal, tensor

_NO_EXTENT = 1 << 60
"""A size from which an extent is not real, but was computed from the number for a dynamic extent."""


def with_known_extents(kind: Tensor, static: bool) -> Tensor:
    """The type, where what was computed from the number that stands for a dynamic extent is a dynamic extent again.

    Raises ValueError when an extent is computed from known extents alone (`static`) and no dimension can have it.
    """
    shape = kind.get_shape()
    if not shape or (min(shape) >= 0 and max(shape) < _NO_EXTENT):
        return kind
    for axis, extent in enumerate(shape):
        if static and (-_NO_EXTENT < extent < 0 or extent >= _NO_EXTENT):
            raise ValueError(f"dimension {axis} of the result would have the size {extent}")
    return tensor(kind.element_type, [extent if 0 <= extent < _NO_EXTENT else DYNAMIC_INDEX for extent in shape], kind.encoding)


def fits(declared: Attribute, inferred: Attribute) -> bool:
    """Whether a declared result type has the inferred shape and element type; the edge level checks the layout."""
    if declared == inferred:
        return True
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return False
    left, right = cast(Tensor, declared), cast(Tensor, inferred)
    return left.element_type == right.element_type and may_equal(left.get_shape(), right.get_shape())
