"""Source coordinates and weights of resampling, for arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Literal

from flambeau.dialects.ir.extents import exceeds, is_known
from flambeau.dialects.ir.quotients import Quotient
from flambeau.support.lazy import Array, np

Mode = Literal["nearest", "nearest-exact", "linear", "cubic", "linear-antialias", "cubic-antialias"]


def output_sizes(extents: Sequence[int], output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> tuple[int, ...]:
    """Returns the resampled extents: those given, or the input's times the factors, rounded down. Raises ValueError."""
    if (output_size is None) == (scale_factors is None):
        raise ValueError("either output_size or scale_factors must be given")
    if any(not math.isfinite(factor) for factor in scale_factors or ()):
        raise ValueError(f"scale factors {list(scale_factors or ())} must be finite")
    sizes = (
        tuple(output_size) if output_size is not None else tuple(_scaled(*pair) for pair in zip(extents, scale_factors or (), strict=True))
    )
    if len(sizes) != len(extents) or any(exceeds(1, size) for size in sizes):
        raise ValueError(f"output size {list(sizes)} must have {len(extents)} positive entries")
    return sizes


def _scaled(extent: int, factor: float) -> int:
    """Returns the product, rounded to 0. For an unknown `extent`, raises ValueError where the float's rounding could change it."""
    return int(extent * factor) if is_known(extent) else (Quotient.of(factor) * Quotient(extent)).trunc()


def source_scale(extent: int, size: int, factor: float | None, align_corners: bool) -> float:
    """Returns the distance in the input of two neighbours in the output, in float32."""
    if align_corners:
        return float(np.float32((extent - 1) / (size - 1))) if size > 1 else 0.0
    return float(np.float32(1.0 / factor if factor is not None and factor > 0 else extent / size))


def ratios_without_factor(mode: Mode, rank: int) -> tuple[int, ...]:
    """Returns the ratios of the new extent to the old one for which PyTorch ignores the scale factor."""
    if mode == "nearest":
        return (1, 2) if rank == 2 else ()
    return () if mode in ("nearest-exact", "cubic") else (1,)


def nearest_places(extent: int, size: int, scale: float, exact: bool) -> Array:
    """Returns the input place of each output place."""
    places = np.arange(size, dtype=np.float32) + np.float32(0.5 if exact else 0.0)
    return np.minimum(np.floor(places * np.float32(scale)), np.float32(extent - 1)).astype(np.int64)


def cubic(distance: Array, a: float) -> Array:
    """Returns the cubic convolution kernel at non-negative distances."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance >= 2, distance.dtype.type(0), far))


def taps(mode: Mode, extent: int, size: int, scale: float, align_corners: bool) -> list[tuple[Array, Array]]:
    """Returns for each output place the input places that are read, where one may occur twice, and their weights."""
    rows = np.arange(size)
    source = rows * scale if align_corners else (rows + 0.5) * scale - 0.5
    if mode in ("linear-antialias", "cubic-antialias"):
        return [antialias_taps(mode, extent, (row + 0.5) * scale, max(scale, 1.0)) for row in rows]
    if mode == "linear":
        source = np.clip(source, 0, extent - 1)
    low = np.floor(source)
    steps = np.arange(2) if mode == "linear" else np.arange(-1, 3)
    distance = np.abs((source - low)[:, None] - steps)
    weights = 1 - distance if mode == "linear" else cubic(distance, -0.75)
    return list(zip(np.clip(low[:, None] + steps, 0, extent - 1).astype(np.int64), weights, strict=True))


def antialias_taps(mode: Mode, extent: int, center: float, width: float) -> tuple[Array, Array]:
    """Returns the places around a center, and their weights by a filter that widens with the scale; both empty beyond the input."""
    support = width * (1 if mode == "linear-antialias" else 2)
    places = np.arange(max(int(center - support + 0.5), 0), min(int(center + support + 0.5), extent))
    distance = np.abs(places + 0.5 - center) / width
    weights = np.maximum(1 - distance, 0) if mode == "linear-antialias" else cubic(distance, -0.5)
    total = weights.sum()
    return places, weights / total if total else weights


def resample(x: Array, mode: Mode, sizes: Sequence[int], factors: Sequence[float | None], align_corners: bool) -> Array:
    """Returns the last dimensions of a wide array resampled to `sizes`."""
    for axis, size, factor in zip(range(-len(sizes), 0), sizes, factors, strict=True):
        extent = x.shape[axis]
        ignored = any(ratio * extent == size for ratio in ratios_without_factor(mode, len(sizes)))
        scale = source_scale(extent, size, None if ignored else factor, align_corners)
        if mode in ("nearest", "nearest-exact"):
            x = np.take(x, nearest_places(extent, size, scale, mode == "nearest-exact"), axis)
            continue
        lines = np.moveaxis(x, axis, -1)
        columns = [lines[..., places] @ weights.astype(x.dtype) for places, weights in taps(mode, extent, size, scale, align_corners)]
        x = np.moveaxis(np.stack(columns, -1), -1, axis)
    return x


def reflected(places: Array, low: float, span: float) -> Array:
    """Returns coordinates mirrored into [low, low + span], with the rounding of ATen's vectorized code; zeros when `span` is 0."""
    if span == 0:
        return np.zeros_like(places)
    distance = np.abs(places - low)
    rest = distance - np.trunc(distance / (2 * span)) * (2 * span)
    return np.minimum(rest, 2 * span - rest) + low


def reflected_in_volume(places: Array, low: float, span: float) -> Array:
    """Returns coordinates mirrored as ATen's loops over volumes do it, which count turns in an `int`; zeros when `span` is 0."""
    if span == 0:
        return np.zeros_like(places)
    distance = np.abs(places - low)
    turns, rest = np.floor(distance / span), np.fmod(distance, span)
    return np.where((turns % 2 != 0) & (turns < 2**31), span - rest, rest) + low


def within(places: Array, extent: int, padding: int, align_corners: bool, rank: int) -> Array:
    """Returns coordinates brought into a dimension by `padding`: 0 zeros (unchanged), 1 border, 2 reflection.

    Border and reflection put NaN at the first place of an image, the last of a volume. Zeros puts non-finite ones of a volume at -2.
    """
    if padding == 0:
        return places if rank == 2 else np.where(np.isfinite(places), places, places.dtype.type(-2))
    if padding == 2:
        reflect = reflected if rank == 2 else reflected_in_volume
        places = reflect(places, 0, extent - 1) if align_corners else reflect(places, -0.5, extent)
    return np.where(np.isnan(places), places.dtype.type(0 if rank == 2 else extent - 1), np.clip(places, 0, extent - 1))


def unnormalized(places: Array, extent: int, align_corners: bool, rank: int) -> Array:
    """Returns the coordinates in a dimension of `extent` entries for `places` in [-1, 1]."""
    if rank == 2:
        return (places + 1) * ((extent - 1) / 2) if align_corners else (places + 1) * (extent / 2) - 0.5
    return (places + 1) / 2 * (extent - 1) if align_corners else ((places + 1) * extent - 1) / 2


def pixels(x: Array, places: Sequence[Array]) -> Array:
    """Returns the elements [N, C, …] at whole coordinates [N, …], given per dimension; zero outside."""
    inside = np.logical_and.reduce([(place >= 0) & (place < extent) for place, extent in zip(places, x.shape[2:], strict=True)])
    batch = np.arange(x.shape[0], dtype=np.int64).reshape(-1, *(1,) * (inside.ndim - 1))
    found = np.moveaxis(x, 1, -1)[(batch, *(np.where(inside, place, 0).astype(np.int64) for place in places))]
    return np.where(inside[:, None], np.moveaxis(found, -1, 1), x.dtype.type(0))


def grid_sample(x: Array, grid: Array, mode: int, padding: int, align_corners: bool) -> Array:
    """Returns the image [N, C, …] at the coordinates [N, …, rank], the last dimension first; mode 0 is linear, 1 nearest, 2 cubic."""
    extents = x.shape[2:]
    rank = len(extents)
    places = [unnormalized(grid[..., -1 - axis], extent, align_corners, rank) for axis, extent in enumerate(extents)]

    def inner(places: Sequence[Array]) -> list[Array]:
        return [within(place, extent, padding, align_corners, rank) for place, extent in zip(places, extents, strict=True)]

    if mode != 2:
        places = inner(places)
    if mode == 1:
        return pixels(x, [np.rint(place) for place in places])
    lows = [np.floor(place) for place in places]
    total = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for steps in product(range(2) if mode == 0 else range(-1, 3), repeat=len(extents)):
        corner, weight = list[Array](), np.ones_like(lows[0])
        for place, low, step in zip(places, lows, steps, strict=True):
            distance = np.abs(place - low - step)
            weight = weight * (1 - distance if mode == 0 else cubic(distance, -0.75))
            corner.append(low + step)
        total = total + pixels(x, corner if mode == 0 else inner(corner)) * weight[:, None]
    return total


def placed(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns the last `rank` extents of [N, C, …]. Raises ValueError."""
    if len(shape) != rank + 2:
        raise ValueError(f"input must have {rank + 2} dimensions, got shape {list(shape)}")
    if math.prod(shape[1:]) == 0:
        raise ValueError(f"input must not be empty, got shape {list(shape)}")
    return tuple(shape[2:])
