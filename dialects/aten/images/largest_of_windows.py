"""The largest elements of windows that differ in size, in operations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.aten.library.windows import adaptive_windows
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.namespace import aten


def _entries(extent: int, size: int) -> tuple[SSAValue, int]:
    """Returns the entries of each of `size` windows into a dimension, and their number at most: shorter ones repeat the last entry."""

    def bound(first: int, rounding: int) -> SSAValue:
        scaled = aten.mul.Scalar(aten.arange.start_step(first, first + size), extent)
        return aten.unsqueeze(aten.div.Tensor_mode(aten.add.Scalar(scaled, rounding), as_operand(size, i64), rounding_mode="floor"), 1)

    most = max(end - start for start, end in adaptive_windows(extent, size)) if is_known(extent) else (extent + size - 1) // size + 1
    entries = aten.add.Tensor(bound(0, 0), aten.arange.start_step(0, most))
    return aten.minimum(entries, aten.sub.Scalar(bound(1, size - 1), 1)), most


def largest_of_windows(x: SSAValue, sizes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Returns the largest element of each window into the last dimensions, and its place in them."""
    shape, rank = shape_of(x), len(sizes)
    outer, extents = shape[: len(shape) - rank], shape[len(shape) - rank :]
    places, lengths = as_operand(0, i64), list[int]()
    for axis, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
        entries, most = _entries(extent, size)
        lengths.append(most)
        apart = view(entries, tuple(size if place == axis else most if place == rank + axis else 1 for place in range(2 * rank)))
        places = aten.add.Tensor(aten.mul.Scalar(apart, math.prod(extents[axis + 1 :])), places)
    inner, length = math.prod(sizes), math.prod(lengths)
    places = view(expand(places, (*sizes, *lengths)), (inner * length,))
    flat = view(x, (math.prod(outer), math.prod(extents)))
    values, best = aten.max.dim.results(view(aten.index_select(flat, 1, places), (math.prod(outer), inner, length)), 2)
    numbers = expand(view(places, (1, inner, length)), (math.prod(outer), inner, length))
    found = aten.gather(numbers, 2, aten.unsqueeze(best, 2))
    return view(values, (*outer, *sizes)), view(found, (*outer, *sizes))
