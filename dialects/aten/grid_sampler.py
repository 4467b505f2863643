"""Images sampled at the places that a grid names."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.aten.resample import grid_sample, placed
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


@aten("grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", core=True)
class GridSampler2dOp(SchemaOp):
    """The image [N, C, H, W] at the coordinates [N, h, w, 2] in [-1, 1].

    Interpolation 0 is bilinear, 1 nearest, 2 bicubic; padding 0 is zeros, 1 the border, 2 the reflection.
    """

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, /, grid: Tensor, interpolation_mode: int, padding_mode: int) -> Tensor:
        shape, places = shape_of(x), shape_of(grid)
        placed(shape, 2)
        if len(places) != 4 or places[0] != shape[0] or places[3] != 2:
            raise ValueError(f"grid {list(places)} does not fit the image {list(shape)}")
        if element_of(x) != element_of(grid):
            raise TypeError("image and grid must have one element type")
        if interpolation_mode not in (0, 1, 2) or padding_mode not in (0, 1, 2):
            raise ValueError(f"interpolation mode {interpolation_mode} and padding mode {padding_mode} must be 0, 1 or 2")
        return tensor(element_of(x), (*shape[:2], *places[1:3]))

    @staticmethod
    def numpy(x: Array, /, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Array:
        return grid_sample(widened(x), widened(grid), interpolation_mode, padding_mode, align_corners).astype(x.dtype)


@aten("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")
class GridSamplerOp(SchemaOp):
    """As `grid_sampler_2d`."""

    takes = FLOATS
    infer = staticmethod(GridSampler2dOp.infer)
    numpy = staticmethod(GridSampler2dOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /, grid: SSAValue, interpolation_mode: int, padding_mode: int, align_corners: bool) -> SSAValue:
        return aten.grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners)
