"""The loops over the elements of tensors: sizes of the dimensions that remain after merging, and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from flambeau.dialects.edge.layout import byte_strides
from flambeau.dialects.exec.slots import element_size
from flambeau.dialects.ir.tensor_types import shape_of


@dataclass(frozen=True)
class LoopNest:
    """Loops, the outermost first; at least one.

    Attributes:
        sizes: the rounds of each loop.
        strides: for each tensor, the elements from a round to the next, for each loop. Those of the innermost loop are 0 or 1.
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def loop_nest(out: Attribute, types: Sequence[Attribute]) -> LoopNest | None:
    """Returns the loops over the elements of `out` that read or write tensors of `types`, which are broadcast to it.

    All are tensors of static sizes. Returns None where the elements of a tensor do not follow each other in the innermost loop, and for
    tensors that are not broadcast to `out`, or have no elements.
    """
    sizes = shape_of(out)
    if 0 in sizes:
        return None
    steps: list[list[int]] = []
    for type in (out, *types):
        own = shape_of(type)
        missing = len(sizes) - len(own)
        if missing < 0 or any(size not in (1, whole) for size, whole in zip(own, sizes[missing:], strict=True)):
            return None
        bytes = element_size(type)
        strides = (0 if size == 1 else step // bytes for size, step in zip(own, byte_strides(type), strict=True))
        steps.append([0] * missing + list(strides))
    order = sorted((dim for dim, size in enumerate(sizes) if size > 1), key=lambda dim: -steps[0][dim])
    merged: list[tuple[int, tuple[int, ...]]] = []
    for dim in order:
        size, stride = sizes[dim], tuple(step[dim] for step in steps)
        if merged and all(outer == inner * size for outer, inner in zip(merged[-1][1], stride, strict=True)):
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    merged = merged or [(1, (1,) * len(steps))]
    if any(step not in (0, 1) for step in merged[-1][1]):
        return None
    return LoopNest(tuple(size for size, _ in merged), tuple(zip(*(stride for _, stride in merged), strict=True))[1:])
