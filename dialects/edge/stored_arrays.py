"""Converts between stored bytes and numpy arrays by the layout of a tensor type."""

from __future__ import annotations

from typing import cast

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.ir.tensor_types import Tensor, numpy_dtype
from flambeau.support.lazy import Array, np


def logical_array(data: memoryview, kind: Tensor) -> Array:
    """Returns the bytes of a tensor as an array of its logical shape (a view: dim orders become strides)."""
    order = dim_order(kind)
    shape = kind.get_shape()
    stored = np.frombuffer(data, numpy_dtype(kind.element_type)).reshape([shape[d] for d in order])
    return cast(Array, stored.transpose([order.index(d) for d in range(len(order))]))


def stored_array(array: Array, kind: Tensor) -> Array:
    """Returns the array in the memory order of its type, contiguous."""
    return np.ascontiguousarray(array.transpose(dim_order(kind)))
