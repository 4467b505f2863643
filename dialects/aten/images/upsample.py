"""Resampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import bf16, f16, f32, f64, i8, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import number_for, to_element
from flambeau.dialects.aten.library.resample import Mode, output_sizes, placed, ratios_without_factor, resample, source_scale
from flambeau.dialects.aten.movement.permute import permute
from flambeau.dialects.ir.extents import is_known, maximum, may_equal, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor, ui8
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

Scale = float | SSAValue
"""The distance in the input of two neighbours in the output: a tensor where only the run knows a size."""


def numbers(count: int) -> SSAValue:
    """Returns the float numbers 0 to count - 1, built detached."""
    return aten.arange.start_step(0, count, 1, dtype=f32)


def scale_of(extent: int, size: int, factor: float | None, align_corners: bool, ignoring: Sequence[int] = ()) -> Scale:
    """Returns the distance in the input of two neighbours in the output; a tensor, built detached, if it depends on dynamic sizes.

    Args:
        extent: the extent of the input.
        size: the extent of the output.
        factor: the scale factor from the input to the output, if given; unused with `align_corners`.
        align_corners: whether the first and the last places are the same in both.
        ignoring: the ratios of `size` to `extent` for which PyTorch ignores the factor.
    """
    by_factor = factor is not None and factor > 0 and not align_corners
    if by_factor and any(provably_equal(ratio * extent, size) for ratio in ignoring):
        by_factor = False
    if not by_factor and is_known(extent) and is_known(size):
        return source_scale(extent, size, None, align_corners)
    if by_factor:
        by_factor_alone = source_scale(extent, size, factor, align_corners)
        ratios = [ratio for ratio in ignoring if may_equal(ratio * extent, size)]
        if not ratios:
            return by_factor_alone
        by_sizes = aten.div.Tensor(number_for(extent, f32), number_for(size, f32))
        found = number_for(by_factor_alone, f32)
        for ratio in ratios:
            found = aten.where.self(aten.eq.Tensor(number_for(ratio * extent, i64), number_for(size, i64)), by_sizes, found)
        return found
    if align_corners:
        # Of one place the scale does not matter.
        extent, size = extent - 1, maximum(size - 1, 1)
    return aten.div.Tensor(number_for(extent, f32), number_for(size, f32))


def scaled(x: SSAValue, scale: Scale) -> SSAValue:
    """Returns a tensor times a scale, built detached."""
    return aten.mul.Tensor(x, scale) if isinstance(scale, SSAValue) else aten.mul.Scalar(x, scale)


def cubic_values(distance: SSAValue, a: float) -> SSAValue:
    """Returns the cubic convolution kernel at distances from 0 to 2, built detached."""
    near = aten.add.Scalar(aten.mul.Scalar(distance, a + 2), -(a + 3))
    near = aten.add.Scalar(aten.mul.Tensor(aten.mul.Tensor(near, distance), distance), 1)
    far = aten.add.Scalar(aten.mul.Scalar(distance, a), -5 * a)
    far = aten.add.Scalar(aten.mul.Tensor(far, distance), 8 * a)
    far = aten.add.Scalar(aten.mul.Tensor(far, distance), -4 * a)
    return aten.where.self(aten.le.Scalar(distance, 1), near, far)


def weight_values(mode: Mode, extent: int, size: int, scale: Scale, align_corners: bool) -> SSAValue:
    """Returns the matrix [size, extent] by which a dimension is resampled, built detached from numbers only."""
    columns, rows = numbers(extent), aten.unsqueeze(numbers(size), 1)
    if mode in ("linear-antialias", "cubic-antialias"):
        distance = aten.abs(aten.sub.Tensor(aten.add.Scalar(columns, 0.5), scaled(aten.add.Scalar(rows, 0.5), scale)))
        width = aten.reciprocal(aten.clamp(scale, 1)) if isinstance(scale, SSAValue) else 1 / max(scale, 1.0)
        distance = scaled(distance, width)
        if mode == "linear-antialias":
            values = aten.relu(aten.rsub.Scalar(distance, 1))
        else:
            values = cubic_values(aten.clamp(distance, None, 2), -0.5)
        total = aten.sum.dim_IntList(values, (1,), True)
        # A place beyond the input has no weights, and gets 0.
        return aten.div.Tensor(values, aten.add.Tensor(total, to_element(aten.eq.Scalar(total, 0), f32)))
    source = scaled(rows, scale) if align_corners else aten.add.Scalar(scaled(aten.add.Scalar(rows, 0.5), scale), -0.5)
    if mode == "linear":
        distance = aten.abs(aten.sub.Tensor(columns, aten.clamp(source, 0, extent - 1)))
        return aten.relu(aten.rsub.Scalar(distance, 1))
    low = aten.floor(source)
    total: SSAValue | None = None
    for tap in range(-1, 3):
        place = aten.clamp(aten.add.Scalar(low, tap), 0, extent - 1)
        weight = cubic_values(aten.abs(aten.add.Scalar(aten.sub.Tensor(source, low), -tap)), -0.75)
        part = aten.mul.Tensor(to_element(aten.eq.Tensor(place, columns), f32), weight)
        total = part if total is None else aten.add.Tensor(total, part)
    assert total is not None
    return total


def place_values(extent: int, size: int, scale: Scale, exact: bool) -> SSAValue:
    """Returns the input place of each output place for the nearest neighbour, built detached."""
    places = aten.add.Scalar(numbers(size), 0.5) if exact else numbers(size)
    return to_element(aten.clamp(aten.floor(scaled(places, scale)), None, extent - 1), i64)


class UpsampleOp(SchemaOp):
    """Images [N, C, …] resampled over the last `rank` dimensions."""

    rank: ClassVar[int]
    """The number of resampled dimensions."""
    mode: ClassVar[Mode]
    """The weights of the neighbours of a new element."""
    vector: ClassVar[bool] = True
    """The arguments are those of the `.vec` overloads."""

    @classmethod
    def plan(cls, extents: Sequence[int], *args: Any) -> tuple[tuple[int, ...], tuple[float | None, ...], bool]:
        """Returns the output's extents, the scale factors and whether corners align. Raises ValueError."""
        output_size, *rest = args
        aligned = cls.mode not in ("nearest", "nearest-exact")
        align_corners = bool(rest.pop(0)) if aligned else False
        if cls.vector:
            (factors,) = rest
            return output_sizes(extents, output_size, factors), tuple(factors) if factors else (None,) * cls.rank, align_corners
        return output_sizes(extents, output_size, None), tuple(rest), align_corners

    @classmethod
    def infer(cls, x: Tensor, /, *args: Any) -> Tensor:
        shape = shape_of(x)
        element = element_of(x)
        kinds = (f32, f64) if cls.mode in ("linear-antialias", "cubic-antialias") else (f32, f64, f16, bf16)
        bytes_of = (ui8, i8) if cls.rank < 3 else (ui8,)
        if element not in kinds and not (element in bytes_of and cls.mode in ("nearest", "nearest-exact")):
            raise TypeError(f"resampling of the mode {cls.mode} is not defined for {dtype_of(element).torch} tensors")
        return tensor(element, (*shape[:2], *cls.plan(placed(shape, cls.rank), *args)[0]))

    @classmethod
    def numpy(cls, x: Array, /, *args: Any) -> Array:
        sizes, factors, align_corners = cls.plan(placed(x.shape, cls.rank), *args)
        return resample(widened(x), cls.mode, sizes, factors, align_corners).astype(x.dtype)

    @classmethod
    def by_matrices(cls, x: SSAValue, *args: Any) -> SSAValue:
        """Builds detached core operators: indexing for the nearest neighbour, else a matrix product per dimension."""
        extents = placed(shape_of(x), cls.rank)
        sizes, factors, align_corners = cls.plan(extents, *args)
        element = element_of(x)
        for dim, (extent, size, factor) in enumerate(zip(extents, sizes, factors, strict=True), 2):
            scale = scale_of(extent, size, factor, align_corners, ratios_without_factor(cls.mode, cls.rank))
            if cls.mode in ("nearest", "nearest-exact"):
                x = aten.index_select(x, dim, place_values(extent, size, scale, cls.mode == "nearest-exact"))
                continue
            matrix = to_element(weight_values(cls.mode, extent, size, scale, align_corners), element)
            order = [*(d for d in range(cls.rank + 2) if d != dim), dim]
            product = aten.matmul(permute(x, order), permute(matrix, (1, 0)))
            x = permute(product, [order.index(d) for d in range(cls.rank + 2)])
        return x


class DecomposedUpsampleOp(UpsampleOp):
    """Resampling operators outside Core ATen, which are decomposed."""

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        return cls.by_matrices(x, *args)


class LineUpsampleOp(UpsampleOp):
    """Resampling over one dimension, decomposed to the resampling of an image with one row."""

    image: ClassVar[type[UpsampleOp]]
    """The operator over two dimensions."""

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        extents = placed(shape_of(x), 1)
        sizes, factors, align_corners = cls.plan(extents, *args)
        ignoring = set(ratios_without_factor(cls.mode, 2)) - {*ratios_without_factor(cls.mode, 1), factors[0]}
        if factors[0] is not None and any(may_equal(ratio * extents[0], sizes[0]) for ratio in ignoring):
            return cls.by_matrices(x, *args)
        corners = (align_corners,) if cls.mode == "linear" else ()
        size, scale = ((1, *sizes), None) if factors[0] is None else (None, (1.0, *factors))
        return aten.squeeze.dim(cls.image(aten.unsqueeze(x, 2), size, *corners, scale), 2)


class PlainUpsampleOp(UpsampleOp):
    """Overloads with a scale argument per dimension, decomposed to the `.vec` overloads with a list."""

    image: ClassVar[type[UpsampleOp]]
    """The overload with a list."""
    vector = False

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        extents = placed(shape_of(x), cls.rank)
        sizes, factors, align_corners = cls.plan(extents, *args)
        corners = () if cls.mode in ("nearest", "nearest-exact") else (align_corners,)
        # PyTorch reads no factor where corners align, and none that is not positive.
        factors = [None if align_corners or factor is None or factor <= 0 else factor for factor in factors]
        if all(factor is None for factor in factors):
            return cls.image(x, sizes, *corners, None).result
        given = [factor for factor in factors if factor is not None]
        if len(given) == cls.rank and all(map(provably_equal, output_sizes(extents, None, given), sizes)):
            return cls.image(x, None, *corners, factors).result
        return cls.by_matrices(x, *args)


@aten("upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", core=True)
class UpsampleNearest2dVecOp(UpsampleOp):
    """Resampling over two dimensions: each new element is the nearest old element."""

    rank, mode = 2, "nearest"
    dim_order = "kept"


@aten("upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", core=True)
class UpsampleBilinear2dVecOp(UpsampleOp):
    """Resampling over two dimensions: each new element is interpolated between four old elements."""

    rank, mode = 2, "linear"


@aten("upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearest1dVecOp(LineUpsampleOp):
    """Resampling over one dimension: each new element is the nearest old element."""

    rank, mode = 1, "nearest"
    image = UpsampleNearest2dVecOp


@aten("upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleLinear1dVecOp(LineUpsampleOp):
    """Resampling over one dimension: each new element is interpolated between two old elements."""

    rank, mode = 1, "linear"
    image = UpsampleBilinear2dVecOp


@aten("upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearest3dVecOp(DecomposedUpsampleOp):
    """Resampling over three dimensions: each new element is the nearest old element."""

    rank, mode = 3, "nearest"


@aten("upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleTrilinear3dVecOp(DecomposedUpsampleOp):
    """Resampling over three dimensions: each new element is interpolated between eight old elements."""

    rank, mode = 3, "linear"


@aten("upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBicubic2dVecOp(DecomposedUpsampleOp):
    """Resampling over two dimensions: each new element is interpolated between sixteen old elements."""

    rank, mode = 2, "cubic"


@aten("_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact1dVecOp(DecomposedUpsampleOp):
    """Resampling over one dimension: each new element is the old element with the nearest centre."""

    rank, mode = 1, "nearest-exact"


@aten("_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact2dVecOp(DecomposedUpsampleOp):
    """Resampling over two dimensions: each new element is the old element with the nearest centre."""

    rank, mode = 2, "nearest-exact"


@aten("_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
class UpsampleNearestExact3dVecOp(DecomposedUpsampleOp):
    """Resampling over three dimensions: each new element is the old element with the nearest centre."""

    rank, mode = 3, "nearest-exact"


@aten("_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBilinear2dAaVecOp(DecomposedUpsampleOp):
    """Resampling over two dimensions: each new element is a triangle-weighted mean of the old elements that it covers.

    PyTorch's CPU kernel repeats the first row where the result has one column; this operator computes each row.
    """

    rank, mode = 2, "linear-antialias"


@aten("_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
class UpsampleBicubic2dAaVecOp(DecomposedUpsampleOp):
    """Resampling over two dimensions: each new element is a cubic-weighted mean of the old elements that it covers."""

    rank, mode = 2, "cubic-antialias"


@aten("upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor")
class UpsampleNearest1dOp(PlainUpsampleOp):
    """`upsample_nearest1d.vec` with a separate scale argument for each dimension."""

    rank, mode = 1, "nearest"
    image = UpsampleNearest1dVecOp


@aten("upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleNearest2dOp(PlainUpsampleOp):
    """`upsample_nearest2d.vec` with a separate scale argument for each dimension."""

    rank, mode = 2, "nearest"
    image = UpsampleNearest2dVecOp


@aten("upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleNearest3dOp(PlainUpsampleOp):
    """`upsample_nearest3d.vec` with a separate scale argument for each dimension."""

    rank, mode = 3, "nearest"
    image = UpsampleNearest3dVecOp


@aten("upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor")
class UpsampleLinear1dOp(PlainUpsampleOp):
    """`upsample_linear1d.vec` with a separate scale argument for each dimension."""

    rank, mode = 1, "linear"
    image = UpsampleLinear1dVecOp


@aten("upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleBilinear2dOp(PlainUpsampleOp):
    """`upsample_bilinear2d.vec` with a separate scale argument for each dimension."""

    rank, mode = 2, "linear"
    image = UpsampleBilinear2dVecOp


@aten(
    "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, "
    "float? scales_w=None) -> Tensor"
)
class UpsampleTrilinear3dOp(PlainUpsampleOp):
    """`upsample_trilinear3d.vec` with a separate scale argument for each dimension."""

    rank, mode = 3, "linear"
    image = UpsampleTrilinear3dVecOp


@aten("upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor")
class UpsampleBicubic2dOp(PlainUpsampleOp):
    """`upsample_bicubic2d.vec` with a separate scale argument for each dimension."""

    rank, mode = 2, "cubic"
    image = UpsampleBicubic2dVecOp


@aten(
    "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    keep=True,
)
class UpsampleBilinear2dAaOp(PlainUpsampleOp):
    """`_upsample_bilinear2d_aa.vec` with a separate scale argument for each dimension."""

    rank, mode = 2, "linear-antialias"
    image = UpsampleBilinear2dAaVecOp


@aten(
    "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
)
class UpsampleBicubic2dAaOp(PlainUpsampleOp):
    """`_upsample_bicubic2d_aa.vec` with a separate scale argument for each dimension."""

    rank, mode = 2, "cubic-antialias"
    image = UpsampleBicubic2dAaVecOp
