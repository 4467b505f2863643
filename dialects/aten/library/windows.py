"""Helpers of convolutions and pools for sliding windows over spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.dialects.ir.extents import exceeds, provably_equal
from flambeau.support.lazy import Array, np


def spread(values: Sequence[int], rank: int, name: str) -> tuple[int, ...]:
    """Returns one value per spatial dimension; a single value is repeated. Raises ValueError."""
    if len(values) == 1:
        return tuple(values) * rank
    if len(values) != rank:
        raise ValueError(f"{name} must have 1 or {rank} entries, got {list(values)}")
    return tuple(values)


def require_elements(shape: Sequence[int], batched: int) -> None:
    """Raises ValueError when a dimension has no element, other than the batch, which is the first of `batched`."""
    if any(provably_equal(0, extent) for extent in shape[len(shape) == batched :]):
        raise ValueError(f"only the batch may be empty, got shape {list(shape)}")


def window_count(extent: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """Returns the number of windows in a dimension. With `ceil_mode` the last may reach beyond the end. Raises ValueError."""
    if kernel < 1 or stride < 1 or dilation < 1 or padding < 0:
        raise ValueError(f"kernel size {kernel}, stride {stride} and dilation {dilation} must be positive, padding {padding} not negative")
    room = extent + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1
    if exceeds(1, count):
        raise ValueError(f"a window of {dilation * (kernel - 1) + 1} does not fit {extent} entries padded by {padding}")
    return count


def places_of(shape: Sequence[int]) -> Array:
    """Returns the number of each place of a shape, in row-major order."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(tuple(shape))


def windows(
    x: Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[int],
    fill: object,
) -> Array:
    """Returns the windows over the last dimensions of `x`, padded by `fill`: a view of shape [..., *counts, *kernel]."""
    rank = len(kernel)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    ends = [
        max((count - 1) * step + span - pad - extent, 0)
        for count, step, span, pad, extent in zip(counts, stride, spans, padding, x.shape[x.ndim - rank :], strict=True)
    ]
    if any(padding) or any(ends):
        width = [(0, 0)] * (x.ndim - rank) + list(zip(padding, ends, strict=True))
        x = np.pad(x, width, constant_values=np.asarray(fill, x.dtype))
    axes = tuple(range(x.ndim - rank, x.ndim))
    views = np.lib.stride_tricks.sliding_window_view(x, spans, axis=axes)
    places = tuple(slice(0, (count - 1) * step + 1, step) for count, step in zip(counts, stride, strict=True))
    return views[(..., *places, *(slice(None, None, step) for step in dilation))]


def window_divisors(
    extents: Sequence[int], sizes: Sequence[int], steps: Sequence[int], margins: Sequence[int], counts: Sequence[int], include_pad: bool
) -> Array:
    """Returns the divisor of each window's sum: the number of its elements inside, or with `include_pad` also of the padding."""
    divisors = np.ones(tuple(counts), np.int64)
    for axis, (extent, size, step, pad, count) in enumerate(zip(extents, sizes, steps, margins, counts, strict=True)):
        starts = np.arange(count, dtype=np.int64) * step - pad
        low, high = (-pad, extent + pad) if include_pad else (0, extent)
        lengths = np.minimum(starts + size, high) - np.maximum(starts, low)
        divisors = divisors * lengths.reshape([-1 if dim == axis else 1 for dim in range(len(sizes))])
    return divisors


def adaptive_windows(extent: int, count: int) -> list[tuple[int, int]]:
    """Returns the bounds of `count` windows that cover `extent` entries; they differ in size by at most one and may overlap."""
    return [(index * extent // count, -(-(index + 1) * extent // count)) for index in range(count)]
