"""Operators that sample images at the coordinates in a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.aten.library.resample import grid_sample, placed
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


class GridSamplerRow(SchemaOp):
    """The image [N, C, …] sampled at the coordinates [N, …, rank] in [-1, 1]; the first coordinate is for the last dimension."""

    takes = FLOATS
    ranks: ClassVar[tuple[int, ...]]
    """How many dimensions an image may have."""

    @classmethod
    def infer(cls, x: Tensor, /, grid: Tensor, interpolation_mode: int, padding_mode: int) -> Tensor:
        shape, places = shape_of(x), shape_of(grid)
        rank = len(shape) - 2
        if rank not in cls.ranks:
            raise ValueError(f"input must have {' or '.join(str(rank + 2) for rank in cls.ranks)} dimensions, got shape {list(shape)}")
        placed(shape, rank)
        if len(places) != rank + 2 or places[0] != shape[0] or places[-1] != rank:
            raise ValueError(f"grid {list(places)} does not fit the image {list(shape)}")
        if element_of(x) != element_of(grid):
            raise TypeError("image and grid must have one element type")
        if interpolation_mode not in (0, 1, 2) or padding_mode not in (0, 1, 2):
            raise ValueError(f"interpolation mode {interpolation_mode} and padding mode {padding_mode} must be 0, 1 or 2")
        if rank == 3 and interpolation_mode == 2:
            raise ValueError(f"bicubic interpolation (mode 2) takes an input of 4 dimensions, got shape {list(shape)}")
        return tensor(element_of(x), (*shape[:2], *places[1:-1]))

    @staticmethod
    def numpy(x: Array, /, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Array:
        return grid_sample(widened(x), widened(grid), interpolation_mode, padding_mode, align_corners).astype(x.dtype)


@aten("grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", core=True)
class GridSampler2dOp(GridSamplerRow):
    """The image [N, C, H, W] sampled at the coordinates [N, h, w, 2] in [-1, 1].

    Interpolation 0 is bilinear, 1 nearest, 2 bicubic; padding 0 is zeros, 1 the border, 2 the reflection.
    """

    ranks = (2,)


@aten("grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")
class GridSampler3dOp(GridSamplerRow):
    """The image [N, C, D, H, W] sampled at the coordinates [N, d, h, w, 3] in [-1, 1]; modes as in `grid_sampler_2d`, without bicubic."""

    ranks = (3,)

    @classmethod
    def decompose(cls, x: SSAValue, /, grid: SSAValue, interpolation_mode: int, padding_mode: int, align_corners: bool) -> SSAValue:
        element = element_of(x)
        x, grid = (to_element(item, wide_element(element)) for item in (x, grid))
        extents = shape_of(x)[2:]
        places = [
            _place(aten.select.int(grid, -1, len(extents) - 1 - axis), extent, padding_mode, align_corners)
            for axis, extent in enumerate(extents)
        ]
        if interpolation_mode == 1:
            return to_element(_pixels(x, [aten.round(place) for place in places]), element)
        lows = [aten.floor(place) for place in places]
        parts = [aten.sub.Tensor(place, low) for place, low in zip(places, lows, strict=True)]
        corners: list[SSAValue] = []
        for steps in product((0, 1), repeat=len(extents)):
            found = _pixels(x, [aten.add.Scalar(low, 1) if step else low for low, step in zip(lows, steps, strict=True)])
            for part, step in zip(parts, steps, strict=True):
                found = aten.mul.Tensor(found, aten.unsqueeze(part if step else aten.rsub.Scalar(part, 1), 1))
            corners.append(found)
        total, *others = corners
        for corner in others:
            total = aten.add.Tensor(total, corner)
        return to_element(total, element)


@aten("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")
class GridSamplerOp(GridSamplerRow):
    """`grid_sampler_2d` or `grid_sampler_3d`, depending on the rank."""

    ranks = (2, 3)

    @staticmethod
    def decompose(x: SSAValue, /, grid: SSAValue, interpolation_mode: int, padding_mode: int, align_corners: bool) -> SSAValue:
        sampler = aten.grid_sampler_2d if len(shape_of(x)) == 4 else aten.grid_sampler_3d
        return sampler(x, grid, interpolation_mode, padding_mode, align_corners)


def _place(place: SSAValue, extent: int, padding: int, align_corners: bool) -> SSAValue:
    """Returns a coordinate in [-1, 1] as one of a dimension, where padding brings it."""
    place = aten.add.Scalar(place, 1)
    if align_corners:
        place = aten.mul.Scalar(aten.mul.Scalar(place, 0.5), extent - 1)
    else:
        place = aten.mul.Scalar(aten.sub.Scalar(aten.mul.Scalar(place, extent), 1), 0.5)
    if padding == 0:
        # Outside of the image, with weights that are numbers.
        return aten.where.self(aten.lt.Scalar(aten.abs(place), math.inf), place, as_operand(-2.0, element_of(place)))
    if padding == 2:
        low = 0.0 if align_corners else -0.5
        # Into a dimension of one entry, everything is brought below.
        span = max(extent - 1, 1) if align_corners else extent
        distance = aten.abs(aten.sub.Scalar(place, low))
        turns, rest = aten.floor(aten.div.Scalar(distance, span)), aten.fmod.Scalar(distance, span)
        # PyTorch counts them in an int.
        is_back = aten.logical_and(aten.ne.Scalar(aten.remainder.Scalar(turns, 2), 0), aten.lt.Scalar(turns, 2**31))
        place = aten.add.Scalar(aten.where.self(is_back, aten.rsub.Scalar(rest, span), rest), low)
    last = as_operand(extent - 1, element_of(place))
    return aten.where.self(aten.eq.Tensor(place, place), aten.clamp(place, 0, extent - 1), last)


def _pixels(x: SSAValue, places: Sequence[SSAValue]) -> SSAValue:
    """Returns the elements [N, C, …] at whole coordinates [N, …], given per dimension; zero outside."""
    batch, channels, *extents = shape_of(x)
    index, inside = as_operand(0, i64), None
    for place, extent in zip(places, extents, strict=True):
        here = aten.logical_and(aten.ge.Scalar(place, 0), aten.lt.Scalar(place, extent))
        whole = to_element(aten.where.self(here, place, as_operand(0.0, element_of(place))), i64)
        index = aten.add.Tensor(aten.mul.Scalar(index, extent), whole)
        inside = here if inside is None else aten.logical_and(inside, here)
    assert inside is not None
    sizes = shape_of(places[0])[1:]
    count = math.prod(sizes)
    flat = aten.gather(view(x, (batch, channels, math.prod(extents))), 2, expand(view(index, (batch, 1, count)), (batch, channels, count)))
    return aten.where.self(aten.unsqueeze(inside, 1), view(flat, (batch, channels, *sizes)), as_operand(0.0, element_of(x)))
