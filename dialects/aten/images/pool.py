"""Pools: the largest element or the mean of sliding or adaptive windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.aten.library.windows import (
    adaptive_windows,
    places_of,
    require_elements,
    spread,
    window_count,
    window_divisors,
    windows,
)
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, FLOATS_AND_LONG, NUMBERS, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Pair = tuple[Array, Array]
Numbers: TypeAlias = "tuple[int, ...]"


class PoolOp(SchemaOp):
    """Pools over the last `rank` dimensions; the batch dimension may be missing."""

    rank: ClassVar[int]
    """The number of pooled dimensions."""
    inside: ClassVar[bool] = False
    """Whether the kernel must not be larger than the input without its padding."""

    @classmethod
    def windows(
        cls,
        shape: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Returns kernel, stride, padding, dilation and window count, each per dimension. Raises ValueError if they do not fit `shape`."""
        if len(shape) not in (cls.rank + 1, cls.rank + 2):
            raise ValueError(f"input must have {cls.rank + 1} or {cls.rank + 2} dimensions, got shape {list(shape)}")
        require_elements(shape, cls.rank + 2)
        sizes = spread(kernel, cls.rank, "kernel_size")
        steps = spread(stride, cls.rank, "stride") if stride else sizes
        margins, gaps = spread(padding, cls.rank, "padding"), spread(dilation, cls.rank, "dilation")
        if any(2 * pad > size for pad, size in zip(margins, sizes, strict=True)):
            raise ValueError(f"padding {list(margins)} must be at most half of the kernel size {list(sizes)}")
        extents = shape[len(shape) - cls.rank :]
        if cls.inside and any(0 <= extent < size for extent, size in zip(extents, sizes, strict=True)):
            raise ValueError(f"input {list(shape)} is smaller than the kernel size {list(sizes)}")
        counts = tuple(window_count(*numbers, ceil_mode) for numbers in zip(extents, sizes, steps, margins, gaps, strict=True))
        return sizes, steps, margins, gaps, counts

    @classmethod
    def places(
        cls, x: Array, sizes: Sequence[int], steps: Sequence[int], margins: Sequence[int], gaps: Sequence[int], counts: Sequence[int]
    ) -> Array:
        """Returns each window entry's place in the flat pooled dimensions, or -1 outside: shape [*counts, window size]."""
        extents = x.shape[x.ndim - cls.rank :]
        numbers = places_of(extents)
        return windows(numbers, sizes, steps, margins, gaps, counts, -1).reshape(*counts, math.prod(sizes))


class MaxPoolOp(PoolOp):
    """The largest element of each window, and its place in the flat pooled dimensions."""

    takes = NUMBERS

    @classmethod
    def infer(
        cls, x: Tensor, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
    ) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        require_category("a max pool", x, at_least=1)
        counts = cls.windows(shape, kernel_size, stride, padding, dilation, ceil_mode)[-1]
        result = (*shape[: len(shape) - cls.rank], *counts)
        return tensor(element_of(x), result), tensor(i64, result)

    @classmethod
    def numpy(cls, x: Array, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool) -> Pair:
        sizes, steps, margins, gaps, counts = cls.windows(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
        wide = widened(x)
        lowest = -np.inf if wide.dtype.kind == "f" else np.iinfo(wide.dtype).min
        views = windows(wide, sizes, steps, margins, gaps, counts, lowest)
        entries = views.reshape(*views.shape[: views.ndim - cls.rank], math.prod(sizes))
        places = cls.places(x, sizes, steps, margins, gaps, counts)
        # The first largest of those that lie inside; with NaN, the last NaN, as PyTorch.
        missing = np.isnan(entries)
        first: Array = np.argmax((entries == entries.max(axis=-1, keepdims=True)) & (places >= 0), axis=-1)
        last: Array = np.int64(entries.shape[-1] - 1) - np.argmax(missing[..., ::-1], axis=-1)
        chosen: Array = np.where(missing.any(axis=-1), last, first)
        values = np.take_along_axis(entries, chosen[..., None], -1)[..., 0]
        indices = np.take_along_axis(np.broadcast_to(places, entries.shape), chosen[..., None], -1)[..., 0]
        return values.astype(x.dtype), indices


@aten(
    "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)",
    core=True,
)
class MaxPool2dWithIndicesOp(MaxPoolOp):
    """The largest element of each window over two dimensions, and its place in the flat plane."""

    dim_order = "kept"
    rank = 2


@aten(
    "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)",
    core=True,
)
class MaxPool3dWithIndicesOp(MaxPoolOp):
    """The largest element of each window over three dimensions, and its place in the flat volume."""

    rank = 3

    @classmethod
    def decompose(
        cls, x: SSAValue, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
    ) -> tuple[SSAValue, SSAValue]:
        shape = shape_of(x)
        sizes, steps, margins, gaps, counts = cls.windows(shape, kernel_size, stride, padding, dilation, ceil_mode)
        outer, (depth, height, width) = math.prod(shape[:-3]), shape[-3:]
        if is_empty((*shape, *counts)):
            return aten.full((*shape[:-3], *counts), 0, element_of(x)), aten.full((*shape[:-3], *counts), 0, i64)
        # The largest of each plane, then the largest of those: the first of equal ones is the first one in the volume.
        planes = aten.max_pool2d_with_indices.results(
            view(x, (outer, depth, height, width)), sizes[1:], steps[1:], margins[1:], gaps[1:], ceil_mode
        )
        inner = counts[1] * counts[2]
        values, at = aten.max_pool2d_with_indices.results(
            view(planes[0], (outer, depth, inner)), (sizes[0], 1), (steps[0], 1), (margins[0], 0), (gaps[0], 1), ceil_mode
        )
        at = view(at, (outer, counts[0] * inner))
        inside = aten.gather(view(planes[1], (outer, depth * inner)), 1, at)
        plane = aten.div.Tensor_mode(at, as_operand(inner, i64), rounding_mode="floor")
        found = (*shape[:-3], *counts)
        return view(values, found), view(aten.add.Tensor(aten.mul.Scalar(plane, height * width), inside), found)


@aten(
    "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], "
    "bool ceil_mode=False) -> (Tensor, Tensor)"
)
class MaxPool1dWithIndicesOp(MaxPoolOp):
    """The largest element of each window over one dimension, and its place."""

    rank = 1

    @classmethod
    def decompose(
        cls, x: SSAValue, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
    ) -> tuple[SSAValue, SSAValue]:
        sizes, steps, margins, gaps, _ = cls.windows(shape_of(x), kernel_size, stride, padding, dilation, ceil_mode)
        plane = aten.unsqueeze(x, -2)
        pooled = aten.max_pool2d_with_indices.results(plane, (1, *sizes), (1, *steps), (0, *margins), (1, *gaps), ceil_mode)
        values, indices = (aten.squeeze.dim(result, -2) for result in pooled)
        return values, indices


class MaxPoolValuesOp(SchemaOp):
    """A max pool without the places."""

    takes = NUMBERS
    pool: ClassVar[type[MaxPoolOp]]
    """The operator with the places."""

    @classmethod
    def infer(cls, x: Tensor, /, *args: Any) -> Tensor:
        return cls.pool.infer(x, *args)[0]

    @classmethod
    def numpy(cls, x: Array, /, *args: Any) -> Array:
        return cls.pool.numpy(x, *args)[0]

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        return cls.pool(x, *args).results[0]


@aten(
    "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor"
)
class MaxPool1dOp(MaxPoolValuesOp):
    """The largest element of each window over one dimension."""

    takes = FLOATS
    pool = MaxPool1dWithIndicesOp


@aten("max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor")
class MaxPool2dOp(MaxPoolValuesOp):
    """The largest element of each window over two dimensions."""

    pool = MaxPool2dWithIndicesOp


@aten("max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor")
class MaxPool3dOp(MaxPoolValuesOp):
    """The largest element of each window over three dimensions."""

    pool = MaxPool3dWithIndicesOp

    @classmethod
    def decompose(cls, x: SSAValue, /, *args: Any) -> SSAValue:
        sizes, steps, margins, gaps, counts = cls.pool.windows(shape_of(x), *args)

        def pool(image: SSAValue, last: bool) -> SSAValue:
            plane = [plane_of(*extents, last) for extents in ((sizes, 1), (steps, 1), (margins, 0), (gaps, 1))]
            return aten.max_pool2d_with_indices.results(image, *plane, args[-1])[0]

        return over_planes(x, counts, pool)


def plane_of(numbers: Sequence[int], filler: int, last: bool) -> Numbers:
    """Returns the last two of three numbers, or the first and a filler."""
    return tuple(numbers[1:]) if last else (numbers[0], filler)


def over_planes(x: SSAValue, counts: Sequence[int], pool: Callable[[SSAValue, bool], SSAValue]) -> SSAValue:
    """Returns a pool over three dimensions as one over the last two, then one over the first, built detached.

    `pool(image, last)` pools an image by the last two extents of the three, or by the first.
    """
    shape = shape_of(x)
    *batch, depth, height, width = shape
    planes = pool(view(x, (math.prod(batch), depth, height, width)), True)
    columns = pool(view(planes, (math.prod(batch), 1, depth, counts[1] * counts[2])), False)
    return view(columns, (*batch, *counts))


class AvgPoolOp(PoolOp):
    """The mean of each window."""

    takes = FLOATS_AND_LONG

    @classmethod
    def infer(
        cls, x: Tensor, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, ceil_mode: bool, divisor_override: int | None = None
    ) -> Tensor:
        shape = shape_of(x)
        counts = cls.windows(shape, kernel_size, stride, padding, (1,), ceil_mode)[-1]
        if divisor_override == 0:
            raise ValueError("divisor_override must not be 0")
        return tensor(element_of(x), (*shape[: len(shape) - cls.rank], *counts))

    @classmethod
    def numpy(
        cls,
        x: Array,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Array:
        sizes, steps, margins, gaps, counts = cls.windows(x.shape, kernel_size, stride, padding, (1,), ceil_mode)
        wide = widened(x)
        views = windows(wide, sizes, steps, margins, gaps, counts, 0)
        sums = views.sum(axis=tuple(range(views.ndim - cls.rank, views.ndim)), dtype=wide.dtype)
        divisors = window_divisors(x.shape[x.ndim - cls.rank :], sizes, steps, margins, counts, count_include_pad)
        divisor = np.asarray(divisor_override if divisor_override is not None else divisors)
        if x.dtype.kind == "f" or wide is not x:
            return (sums / divisor.astype(wide.dtype)).astype(x.dtype)
        return np.asarray(np.sign(sums) * np.sign(divisor) * (np.abs(sums) // np.abs(divisor))).astype(x.dtype)


@aten(
    "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    core=True,
)
class AvgPool2dOp(AvgPoolOp):
    """The mean of each window over two dimensions."""

    dim_order = "kept"
    rank = 2


@aten(
    "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    core=True,
)
class AvgPool3dOp(AvgPoolOp):
    """The mean of each window over three dimensions."""

    rank, inside = 3, True

    @classmethod
    def decompose(
        cls,
        x: SSAValue,
        /,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> SSAValue:
        sizes, steps, margins, _, counts = cls.windows(shape_of(x), kernel_size, stride, padding, (1,), ceil_mode)
        # The divisor of a window is the product of its extents, so the mean of means is the mean; sums, divided once, likewise.
        rounds = divisor_override is None and element_of(x) == i64
        last_divisor, first_divisor = (1, divisor_override or 1) if rounds or divisor_override is not None else (None, None)

        def pool(image: SSAValue, last: bool) -> SSAValue:
            plane = [plane_of(*extents, last) for extents in ((sizes, 1), (steps, 1), (margins, 0))]
            return aten.avg_pool2d(image, *plane, ceil_mode, count_include_pad, last_divisor if last else first_divisor)

        pooled = over_planes(x, counts, pool)
        if not rounds:
            return pooled
        divisors = as_operand(1, i64)
        for axis, (extent, size, step, pad, count) in enumerate(zip(shape_of(x)[-3:], sizes, steps, margins, counts, strict=True)):
            starts = aten.arange.start_step(-pad, count * step - pad, step)
            ends = aten.clamp(aten.add.Scalar(starts, size), max=extent + pad if count_include_pad else extent)
            lengths = aten.sub.Tensor(ends, starts if count_include_pad else aten.clamp(starts, min=0))
            divisors = aten.mul.Tensor(divisors, view(lengths, tuple(count if dim == axis else 1 for dim in range(3))))
        return aten.div.Tensor_mode(pooled, divisors, rounding_mode="trunc")


@aten(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor",
    core=True,
)
class AvgPool1dOp(AvgPoolOp):
    """The mean of each window over one dimension."""

    rank = 1

    @classmethod
    def decompose(
        cls, x: SSAValue, /, kernel_size: Numbers, stride: Numbers, padding: Numbers, ceil_mode: bool, count_include_pad: bool
    ) -> SSAValue:
        sizes, steps, margins, _, _ = cls.windows(shape_of(x), kernel_size, stride, padding, (1,), ceil_mode)
        plane = aten.unsqueeze(x, -2)
        return aten.squeeze.dim(aten.avg_pool2d(plane, (1, *sizes), (1, *steps), (0, *margins), ceil_mode, count_include_pad), -2)


class AdaptiveAvgPoolOp(SchemaOp):
    """The means of as many windows as the output has entries, over the last `rank` dimensions."""

    rank: ClassVar[int]
    """The number of pooled dimensions."""
    pool: ClassVar[type[AvgPoolOp]]
    """The pool with a fixed window over as many dimensions."""
    filled: ClassVar[int]
    """The first dimension that must not be empty."""
    means_of_none: ClassVar[bool] = False
    """Whether a pool to one entry is a mean, which no entries have too: NaN."""

    @classmethod
    def sizes(cls, shape: Sequence[int], output_size: Sequence[int]) -> Numbers:
        """Returns the output's extents; -1 (PyTorch's None) keeps the extent of the input. Raises ValueError."""
        if len(shape) not in (cls.rank + 1, cls.rank + 2):
            raise ValueError(f"input must have {cls.rank + 1} or {cls.rank + 2} dimensions, got shape {list(shape)}")
        if any(size < 0 for size in output_size):
            raise ValueError(f"output size {list(output_size)} must not be negative")
        return spread(output_size, cls.rank, "output_size")

    @classmethod
    def infer(cls, x: Tensor, /, output_size: Numbers) -> Tensor:
        shape = shape_of(x)
        sizes = cls.sizes(shape, output_size)
        if 0 not in sizes:
            require_category("an adaptive pool", x, at_least=2)
        if 0 in shape[cls.filled :] and not (cls.means_of_none and all(size == 1 for size in sizes)):
            raise ValueError(f"only the batch dimension may be empty, got shape {list(shape)}")
        return tensor(element_of(x), (*shape[: len(shape) - cls.rank], *sizes))

    @classmethod
    def numpy(cls, x: Array, /, output_size: Numbers) -> Array:
        wide = widened(x)
        for axis, count in zip(range(-cls.rank, 0), cls.sizes(x.shape, output_size), strict=True):
            bounds = adaptive_windows(x.shape[axis], count)
            # No entries have the mean 0 / 0.
            cuts = [(np.take(wide, range(low, high), axis), high - low) for low, high in bounds]
            parts = [window.sum(axis=axis, keepdims=True, dtype=wide.dtype) / wide.dtype.type(count) for window, count in cuts]
            wide = np.concatenate(parts, axis) if parts else np.take(wide, np.zeros(0, np.int64), axis)
        return wide.astype(x.dtype)

    @classmethod
    def decompose(cls, x: SSAValue, /, output_size: Numbers) -> SSAValue:
        shape = shape_of(x)
        sizes = cls.sizes(shape, output_size)
        extents = shape[len(shape) - cls.rank :]
        if is_empty((*sizes, *shape[: len(shape) - cls.rank])):
            return aten.full((*shape[: len(shape) - cls.rank], *sizes), 0, dtype=element_of(x))
        if all(size == 1 for size in sizes):
            return aten.mean.dim(x, tuple(range(-cls.rank, 0)), True)
        if all(map(is_known, extents)) and all(extent % size == 0 < size for extent, size in zip(extents, sizes, strict=True)):
            kernel = tuple(extent // size for extent, size in zip(extents, sizes, strict=True))
            return cls.pool(x, kernel, kernel).result
        return cls.decompose_uneven(x, sizes)

    @classmethod
    def decompose_uneven(cls, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Returns the decomposition for windows that differ in size: the mean of a mean per dimension, window by window."""
        for axis, count in zip(range(-cls.rank, 0), sizes, strict=True):
            bounds = adaptive_windows(shape_of(x)[axis], count)
            x = aten.cat([aten.mean.dim(aten.slice.Tensor(x, axis, low, high), (axis,), True) for low, high in bounds], axis)
        return x


@aten("_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", core=True)
class AdaptiveAvgPool2dCoreOp(AdaptiveAvgPoolOp):
    """The means of as many windows over two dimensions as the output has entries."""

    dim_order = "kept"

    rank, pool, filled = 2, AvgPool2dOp, -2


@aten("_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", core=True)
class AdaptiveAvgPool3dCoreOp(AdaptiveAvgPoolOp):
    """The means of as many windows over three dimensions as the output has entries."""

    rank, pool, filled = 3, AvgPool3dOp, 1

    @classmethod
    def decompose_uneven(cls, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Returns a pool over the last two dimensions, then one over the first."""

        def pool(image: SSAValue, last: bool) -> SSAValue:
            return aten._adaptive_avg_pool2d(image, sizes[1:] if last else (sizes[0], sizes[1] * sizes[2]))

        return over_planes(x, sizes, pool)


@aten("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", core=True)
class AdaptiveAvgPool1dOp(AdaptiveAvgPoolOp):
    """The means of as many windows over one dimension as the output has entries."""

    rank, pool, filled, means_of_none = 1, AvgPool1dOp, -1, True

    @classmethod
    def decompose_uneven(cls, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Returns a pool over two dimensions, of which one has one entry."""
        return aten.squeeze.dim(aten._adaptive_avg_pool2d(aten.unsqueeze(x, -2), (1, *sizes)), -2)


@aten("adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")
class AdaptiveAvgPool2dOp(AdaptiveAvgPoolOp):
    """The means of as many windows over two dimensions as the output has entries."""

    rank, pool, filled, means_of_none = 2, AvgPool2dOp, -2, True

    @classmethod
    def decompose_uneven(cls, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Windows that differ in size are a core operator's."""
        return aten._adaptive_avg_pool2d(x, tuple(sizes))


@aten("adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor")
class AdaptiveAvgPool3dOp(AdaptiveAvgPoolOp):
    """The means of as many windows over three dimensions as the output has entries."""

    rank, pool, filled, means_of_none = 3, AvgPool3dOp, 1, True

    @classmethod
    def decompose_uneven(cls, x: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Windows that differ in size are a core operator's."""
        return aten._adaptive_avg_pool3d(x, tuple(sizes))
