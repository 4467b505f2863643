"""Checks and types that operators of gradients share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, may_equal, shape_of, tensor
from flambeau.support.lazy import Array, np

Mask = tuple[bool, ...]
Numbers = tuple[int, ...]


def require_gradient(grad: Tensor, shape: Sequence[int]) -> None:
    """Raises ValueError unless the gradient has the shape of the result that it belongs to."""
    if not may_equal(shape_of(grad), shape):
        raise ValueError(f"the gradient must have the result's shape {list(shape)}, got {list(shape_of(grad))}")


def wanted(kind: Tensor | None, element: Attribute, present: bool) -> Tensor:
    """Returns the type of a gradient; one that the output mask leaves out is empty."""
    return tensor(element, (0,)) if kind is None or not present else tensor(element, shape_of(kind))


def masked(gradients: Sequence[Array | None], mask: Mask, like: Array) -> tuple[Array, ...]:
    """Returns the gradients in the type of `like`; those that the output mask leaves out are empty."""
    return tuple(
        np.zeros(0, like.dtype) if gradient is None or not present else gradient.astype(like.dtype)
        for gradient, present in zip(gradients, mask, strict=True)
    )
