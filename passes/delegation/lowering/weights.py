"""Weights of layers in one form, for converters."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def weight_by_outputs(op: SchemaOp, weight: Array) -> Array:
    """Returns a weight as [outputs, inputs of a group, *kernel]; a transposed convolution has [inputs, outputs of a group, *kernel]."""
    if op.schema.base == "linear" or not op.argument("transposed"):
        return weight
    grouped = weight.reshape(op.argument("groups"), -1, *weight.shape[1:])
    return np.swapaxes(grouped, 1, 2).reshape(-1, grouped.shape[1], *weight.shape[2:])


def with_gaps(weight: Array, dilation: Sequence[int]) -> Array:
    """Returns a weight with zeros between its elements, instead of gaps between those of the windows."""
    sizes = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], dilation, strict=True)]
    found = np.zeros((*weight.shape[:2], *sizes), weight.dtype)
    found[:, :, :: dilation[0], :: dilation[1]] = weight
    return found
