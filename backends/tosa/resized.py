"""The numbers with which TOSA resizes images as PyTorch does."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from flambeau.backends.tosa.dialect.resizing import why_no_scale
from flambeau.dialects.aten.library.resample import nearest_places, source_scale
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import np


@dataclass(frozen=True)
class Side:
    """How a dimension of an image is resized: the pixels that are read, and `scale_n`, `scale_d`, `offset` and `border` of TOSA."""

    extent: int
    size: int
    times: int
    share: int
    offset: int
    border: int

    @staticmethod
    def of(extent: int, size: int, offset: int, times: int, share: int) -> Side:
        """Returns the side with numbers of no common divisor."""
        common = gcd(times, share, offset)
        times, share, offset = times // common, share // common, offset // common
        return Side(extent, size, times, share, offset, (size - 1) * share - (extent - 1) * times + offset)


def sides_of(op: SchemaOp) -> list[Side]:
    """Returns the numbers for the height and the width of the images of an `upsample`."""
    old, new, is_nearest = shape_of(op.operands[0])[2:], shape_of(op.result)[2:], op.schema.base == "upsample_nearest2d"
    sides: list[Side] = []
    for extent, size in zip(old, new, strict=True):
        if is_nearest and size % extent:  # half a step less, because TOSA rounds where PyTorch cuts off
            sides.append(Side.of(extent, size, -size, 2 * size, 2 * extent))
        elif is_nearest or not op.argument("align_corners"):  # by the centres of pixels, of which copies of pixels are the nearest
            sides.append(Side.of(extent, size, extent - size, 2 * size, 2 * extent))
        elif size == 1 or extent == 1:  # one pixel for all
            sides.append(Side.of(1, size, 0, size, 1))
        else:
            sides.append(Side.of(extent, size, 0, size - 1, extent - 1))
    return sides


def scales_fit(op: SchemaOp) -> str | None:
    """Scales from 1/16 to 256, with a numerator of up to 2048, and of the nearest pixels those that the quotient of the sizes gives."""
    sides, factors = sides_of(op), op.argument("scale_factors") or (None, None)
    for side, extent, factor in zip(sides, shape_of(op.operands[0])[2:], factors, strict=True):
        if (reason := why_no_scale(side.extent, side.size, (side.times, side.share), side.offset, side.border)) is not None:
            return reason
        if op.schema.base != "upsample_nearest2d":
            continue
        by_factor = None if side.size in (extent, 2 * extent) else factor
        places = nearest_places(extent, side.size, source_scale(extent, side.size, by_factor, False), False)
        if not np.array_equal(places, np.arange(side.size) * extent // side.size):
            return f"of {extent} pixels it takes others than the quotient of its sizes, {side.size} and {extent}, gives"
    return None
