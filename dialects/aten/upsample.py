"""Resampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.activation import ReluOp
from flambeau.dialects.aten.arithmetic import AddScalarOp, AddTensorOp, DivTensorOp, MulScalarOp, MulTensorOp, RsubScalarOp, SubTensorOp
from flambeau.dialects.aten.comparison import ClampOp, EqTensorOp, LeScalarOp
from flambeau.dialects.aten.creation import ArangeStartStepOp, to_element
from flambeau.dialects.aten.gather import IndexSelectOp
from flambeau.dialects.aten.math import AbsOp, FloorOp
from flambeau.dialects.aten.matmul import MatmulOp
from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.aten.permute import permute
from flambeau.dialects.aten.reduction import SumDimIntListOp
from flambeau.dialects.aten.resample import Mode, output_sizes, placed, resample, source_scale
from flambeau.dialects.aten.shape import SqueezeDimOp, UnsqueezeOp
from flambeau.dialects.aten.where import WhereSelfOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


def numbers(count: int) -> SSAValue:
    """The float numbers 0 to count - 1, built detached."""
    return ArangeStartStepOp(0, count, 1, dtype=f32).result


def cubic_values(distance: SSAValue, a: float) -> SSAValue:
    """The cubic convolution kernel at distances from 0 to 2, built detached."""
    near = AddScalarOp(MulScalarOp(distance, a + 2), -(a + 3))
    near = AddScalarOp(MulTensorOp(MulTensorOp(near, distance), distance), 1)
    far = AddScalarOp(MulScalarOp(distance, a), -5 * a)
    far = AddScalarOp(MulTensorOp(far, distance), 8 * a)
    far = AddScalarOp(MulTensorOp(far, distance), -4 * a)
    return WhereSelfOp(LeScalarOp(distance, 1), near, far).result


def weight_values(mode: Mode, extent: int, size: int, scale: float, align_corners: bool) -> SSAValue:
    """The matrix [size, extent] by which a dimension is resampled, built detached from numbers only."""
    columns, rows = numbers(extent), UnsqueezeOp(numbers(size), 1).result
    if mode in ("linear-antialias", "cubic-antialias"):
        centers = MulScalarOp(AddScalarOp(rows, 0.5), scale)
        distance = AbsOp(MulScalarOp(SubTensorOp(AddScalarOp(columns, 0.5), centers), 1 / max(scale, 1.0))).result
        if mode == "linear-antialias":
            values = ReluOp(RsubScalarOp(distance, 1)).result
        else:
            values = cubic_values(ClampOp(distance, None, 2).result, -0.5)
        return DivTensorOp(values, SumDimIntListOp(values, (1,), True)).result
    source = MulScalarOp(rows, scale).result if align_corners else AddScalarOp(MulScalarOp(AddScalarOp(rows, 0.5), scale), -0.5).result
    if mode == "linear":
        distance = AbsOp(SubTensorOp(columns, ClampOp(source, 0, extent - 1)))
        return ReluOp(RsubScalarOp(distance, 1)).result
    low = FloorOp(source).result
    total: SSAValue | None = None
    for tap in range(-1, 3):
        place = ClampOp(AddScalarOp(low, tap), 0, extent - 1)
        weight = cubic_values(AbsOp(AddScalarOp(SubTensorOp(source, low), -tap)).result, -0.75)
        part = MulTensorOp(to_element(EqTensorOp(place, columns).result, f32), weight).result
        total = part if total is None else AddTensorOp(total, part).result
    assert total is not None
    return total


def place_values(extent: int, size: int, scale: float, exact: bool) -> SSAValue:
    """The input place of each output place for the nearest neighbour, built detached."""
    places = AddScalarOp(numbers(size), 0.5).result if exact else numbers(size)
    return to_element(ClampOp(FloorOp(MulScalarOp(places, scale)), None, extent - 1).result, i64)


class UpsampleOp(SchemaOp):
    """Images [N, C, …] resampled over the last `rank` dimensions."""

    rank: ClassVar[int]
    """The number of resampled dimensions."""
    mode: ClassVar[Mode]
    """How a new element follows from its neighbours."""
    vector: ClassVar[bool] = True
    """The arguments are those of the `.vec` overloads."""

    @classmethod
    def plan(cls, extents: Sequence[int], *args: Any) -> tuple[tuple[int, ...], tuple[float | None, ...], bool]:
        """The output's extents, the scale factors and whether corners align. Raises ValueError."""
        output_size, *rest = args
        aligned = cls.mode not in ("nearest", "nearest-exact")
        align_corners = bool(rest.pop(0)) if aligned else False
        if cls.vector:
            (factors,) = rest
            return output_sizes(extents, output_size, factors), tuple(factors) if factors else (None,) * cls.rank, align_corners
        return output_sizes(extents, output_size, None), tuple(rest), align_corners

    @classmethod
    def infer(cls, x: Tensor, *args: Any) -> Tensor:
        shape = shape_of(x)
        return tensor(element_of(x), (*shape[:2], *cls.plan(placed(shape, cls.rank), *args)[0]))

    @classmethod
    def numpy(cls, x: Array, *args: Any) -> Array:
        sizes, factors, align_corners = cls.plan(placed(x.shape, cls.rank), *args)
        return resample(widened(x), cls.mode, sizes, factors, align_corners).astype(x.dtype)


class DecomposedUpsampleOp(UpsampleOp):
    """Resampling that no core operator does: by index for the nearest neighbour, else by a matrix per dimension."""

    @classmethod
    def decompose(cls, x: SSAValue, *args: Any) -> SSAValue:
        extents = placed(shape_of(x), cls.rank)
        sizes, factors, align_corners = cls.plan(extents, *args)
        if DYNAMIC_INDEX in extents:
            raise ValueError("the extents of an image to resample must be known")
        element = element_of(x)
        for dim, (extent, size, factor) in enumerate(zip(extents, sizes, factors, strict=True), 2):
            scale = source_scale(extent, size, factor, align_corners)
            if cls.mode in ("nearest", "nearest-exact"):
                x = IndexSelectOp(x, dim, place_values(extent, size, scale, cls.mode == "nearest-exact")).result
                continue
            matrix = to_element(weight_values(cls.mode, extent, size, scale, align_corners), element)
            order = [*(d for d in range(cls.rank + 2) if d != dim), dim]
            product = MatmulOp(permute(x, order), permute(matrix, (1, 0))).result
            x = permute(product, [order.index(d) for d in range(cls.rank + 2)])
        return x


class LineUpsampleOp(UpsampleOp):
    """Resampling over one dimension, as that of an image with one row."""

    image: ClassVar[type[UpsampleOp]]
    """The operator over two dimensions."""

    @classmethod
    def decompose(cls, x: SSAValue, *args: Any) -> SSAValue:
        sizes, factors, align_corners = cls.plan(placed(shape_of(x), 1), *args)
        corners = (align_corners,) if cls.mode == "linear" else ()
        size, scale = ((1, *sizes), None) if factors[0] is None else (None, (1.0, *factors))
        return SqueezeDimOp(cls.image(UnsqueezeOp(x, 2), size, *corners, scale), 2).result


class PlainUpsampleOp(UpsampleOp):
    """The overloads with one factor per dimension, as those with a list."""

    image: ClassVar[type[UpsampleOp]]
    """The overload with a list."""
    vector = False

    @classmethod
    def decompose(cls, x: SSAValue, *args: Any) -> SSAValue:
        extents = placed(shape_of(x), cls.rank)
        sizes, factors, align_corners = cls.plan(extents, *args)
        corners = () if cls.mode in ("nearest", "nearest-exact") else (align_corners,)
        if any(factor is None for factor in factors):
            return cls.image(x, sizes, *corners, None).result
        if output_sizes(extents, None, [factor for factor in factors if factor is not None]) != sizes:
            raise ValueError(f"scale factors {list(factors)} do not give the output size {list(sizes)}")
        return cls.image(x, None, *corners, factors).result


@aten("upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", core=True)
class UpsampleNearest2dVecOp(UpsampleOp):
    """Each new element is the nearest old one, over two dimensions."""

    rank, mode = 2, "nearest"


@aten("upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", core=True)
class UpsampleBilinear2dVecOp(UpsampleOp):
    """Each new element is interpolated between four old ones."""

    rank, mode = 2, "linear"


@aten("upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearest1dVecOp(LineUpsampleOp):
    """Each new element is the nearest old one, over one dimension."""

    rank, mode = 1, "nearest"
    image = UpsampleNearest2dVecOp


@aten("upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleLinear1dVecOp(LineUpsampleOp):
    """Each new element is interpolated between two old ones."""

    rank, mode = 1, "linear"
    image = UpsampleBilinear2dVecOp


@aten("upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearest3dVecOp(DecomposedUpsampleOp):
    """Each new element is the nearest old one, over three dimensions."""

    rank, mode = 3, "nearest"


@aten("upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleTrilinear3dVecOp(DecomposedUpsampleOp):
    """Each new element is interpolated between eight old ones."""

    rank, mode = 3, "linear"


@aten("upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBicubic2dVecOp(DecomposedUpsampleOp):
    """Each new element is interpolated between sixteen old ones."""

    rank, mode = 2, "cubic"


@aten("_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact1dVecOp(DecomposedUpsampleOp):
    """Each new element is the old one whose centre is nearest, over one dimension."""

    rank, mode = 1, "nearest-exact"


@aten("_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact2dVecOp(DecomposedUpsampleOp):
    """Each new element is the old one whose centre is nearest, over two dimensions."""

    rank, mode = 2, "nearest-exact"


@aten("_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact3dVecOp(DecomposedUpsampleOp):
    """Each new element is the old one whose centre is nearest, over three dimensions."""

    rank, mode = 3, "nearest-exact"


@aten("_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBilinear2dAaVecOp(DecomposedUpsampleOp):
    """Each new element is a triangle-weighted mean over the old ones it covers."""

    rank, mode = 2, "linear-antialias"


@aten("_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBicubic2dAaVecOp(DecomposedUpsampleOp):
    """Each new element is a cubic-weighted mean over the old ones it covers."""

    rank, mode = 2, "cubic-antialias"


@aten("upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor")
class UpsampleNearest1dOp(PlainUpsampleOp):
    """As `upsample_nearest1d.vec`, with one scale per dimension."""

    rank, mode = 1, "nearest"
    image = UpsampleNearest1dVecOp


@aten("upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleNearest2dOp(PlainUpsampleOp):
    """As `upsample_nearest2d.vec`, with one scale per dimension."""

    rank, mode = 2, "nearest"
    image = UpsampleNearest2dVecOp


@aten("upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleNearest3dOp(PlainUpsampleOp):
    """As `upsample_nearest3d.vec`, with one scale per dimension."""

    rank, mode = 3, "nearest"
    image = UpsampleNearest3dVecOp


@aten("upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor")
class UpsampleLinear1dOp(PlainUpsampleOp):
    """As `upsample_linear1d.vec`, with one scale per dimension."""

    rank, mode = 1, "linear"
    image = UpsampleLinear1dVecOp


@aten("upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleBilinear2dOp(PlainUpsampleOp):
    """As `upsample_bilinear2d.vec`, with one scale per dimension."""

    rank, mode = 2, "linear"
    image = UpsampleBilinear2dVecOp


@aten(
    "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, "
    "float? scales_w=None) -> Tensor"
)
class UpsampleTrilinear3dOp(PlainUpsampleOp):
    """As `upsample_trilinear3d.vec`, with one scale per dimension."""

    rank, mode = 3, "linear"
    image = UpsampleTrilinear3dVecOp


@aten("upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleBicubic2dOp(PlainUpsampleOp):
    """As `upsample_bicubic2d.vec`, with one scale per dimension."""

    rank, mode = 2, "cubic"
    image = UpsampleBicubic2dVecOp


@aten(
    "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    keep=True,
)
class UpsampleBilinear2dAaOp(PlainUpsampleOp):
    """As `_upsample_bilinear2d_aa.vec`, with one scale per dimension."""

    rank, mode = 2, "linear-antialias"
    image = UpsampleBilinear2dAaVecOp


@aten(
    "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
)
class UpsampleBicubic2dAaOp(PlainUpsampleOp):
    """As `_upsample_bicubic2d_aa.vec`, with one scale per dimension."""

    rank, mode = 2, "cubic-antialias"
    image = UpsampleBicubic2dAaVecOp
