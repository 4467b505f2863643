"""Fractional max pools: the positions of the windows depend on random numbers."""

from __future__ import annotations

import math
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.windows import require_elements
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

Numbers: TypeAlias = "tuple[int, ...]"


class FractionalMaxPoolOp(SchemaOp):
    """The largest element of each window over the last dimensions, and its place; numbers in [0, 1) decide where windows begin.

    Each plane, or volume, has one number per dimension.
    """

    takes = frozenset({f32, f64})
    drawn: ClassVar[Numbers]
    """The index of each pooled dimension's random number."""

    @classmethod
    def infer(cls, x: Tensor, /, kernel_size: Numbers, output_size: Numbers, random_samples: Tensor) -> tuple[Tensor, Tensor]:
        shape, rank = shape_of(x), len(cls.drawn)
        if len(shape) not in (rank + 1, rank + 2) or len(kernel_size) != rank or len(output_size) != rank:
            raise ValueError(f"{list(shape)}, kernel size {list(kernel_size)} and output size {list(output_size)} do not fit")
        require_elements(shape, rank + 2)
        for extent, size, count in zip(shape[-rank:], kernel_size, output_size, strict=True):
            if not 0 < count or not 0 < size or count + size - 1 > extent:
                raise ValueError(f"{count} windows of {size} do not fit into {extent} entries")
        planes = (*((1,) if len(shape) == rank + 1 else ()), *shape[:-rank])
        if shape_of(random_samples) != (*planes, rank) or element_of(random_samples) != element_of(x):
            raise ValueError(f"random samples must have shape {[*planes, rank]} and the type of the input")
        found = (*shape[:-rank], *output_size)
        return tensor(element_of(x), found), tensor(i64, found)

    @classmethod
    def numpy(cls, x: Array, /, kernel_size: Numbers, output_size: Numbers, random_samples: Array) -> tuple[Array, Array]:
        rank = len(cls.drawn)
        extents = x.shape[-rank:]
        planes = math.prod(x.shape[:-rank])
        drawn: Any = widened(random_samples).reshape(planes, rank)
        places: Any = np.zeros((planes, 1, 1), np.int64)
        for axis, (extent, size, count) in enumerate(zip(extents, kernel_size, output_size, strict=True)):
            sample: Any = drawn[:, cls.drawn[axis], None]
            alpha = drawn.dtype.type((extent - size) / max(count - 1, 1))
            numbers: Any = np.arange(count)
            starts = ((numbers.astype(drawn.dtype) + sample) * alpha).astype(np.int64) - (sample * alpha).astype(np.int64)
            own = np.where(numbers == count - 1, extent - size, starts)[:, None, :, None, None] + np.arange(size)
            windows, length = places.shape[1] * count, places.shape[2] * size
            places = (places[:, :, None, :, None] * extent + own).reshape(planes, windows, length)
        flat = widened(x).reshape(planes, math.prod(extents))
        entries: Any = np.take_along_axis(flat, places.reshape(planes, places.shape[1] * places.shape[2]), 1).reshape(places.shape)
        at: Any = np.argmax(entries, axis=-1)[..., None]
        found = (*x.shape[:-rank], *output_size)
        return np.take_along_axis(entries, at, -1).reshape(found).astype(x.dtype), np.take_along_axis(places, at, -1).reshape(found)

    @classmethod
    def decompose(cls, x: SSAValue, /, kernel_size: Numbers, output_size: Numbers, random_samples: SSAValue) -> tuple[SSAValue, SSAValue]:
        shape, rank, element = shape_of(x), len(cls.drawn), element_of(random_samples)
        extents, outer, found = shape[-rank:], shape[:-rank], (*shape[:-rank], *output_size)
        if is_empty(shape):
            return aten.full(found, 0, element), aten.full(found, 0, i64)
        planes = math.prod(outer)
        drawn = view(random_samples, (planes, rank))
        places: SSAValue = aten.full((planes, *(1,) * (2 * rank)), 0, i64)
        for axis, (extent, size, count) in enumerate(zip(extents, kernel_size, output_size, strict=True)):
            sample = aten.slice.Tensor(drawn, 1, cls.drawn[axis], cls.drawn[axis] + 1)
            alpha = (extent - size) / max(count - 1, 1)
            numbers = aten.arange.start_step(0, count)
            ends = aten.mul.Scalar(aten.add.Tensor(sample, to_element(numbers, element)), alpha)
            starts = aten.sub.Tensor(to_element(ends, i64), to_element(aten.mul.Scalar(sample, alpha), i64))
            last = aten.eq.Scalar(numbers, count - 1)
            starts = aten.where.self(last, aten.full((1, 1), extent - size, i64), starts)
            own = view(starts, (planes, *(count if place == axis else 1 for place in range(rank)), *(1,) * rank))
            inside = view(aten.arange.start_step(0, size), (1, *(1,) * rank, *(size if place == axis else 1 for place in range(rank))))
            places = aten.add.Tensor(aten.mul.Scalar(places, extent), aten.add.Tensor(own, inside))
        windows, length = math.prod(output_size), math.prod(kernel_size)
        places = view(places, (planes, windows * length))
        entries = aten.gather(view(x, (planes, math.prod(extents))), 1, places)
        values, at = aten.max.dim.results(view(entries, (planes, windows, length)), 2, True)
        chosen = aten.gather(view(places, (planes, windows, length)), 2, at)
        return view(values, found), view(chosen, found)


@aten("fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)")
class FractionalMaxPool2dOp(FractionalMaxPoolOp):
    """The largest element of each window over two dimensions, and its int64 index; the first random number is for the last dimension."""

    drawn = (1, 0)


@aten("fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)")
class FractionalMaxPool3dOp(FractionalMaxPoolOp):
    """The largest element of each window over three dimensions, and its int64 index in the flattened volume."""

    drawn = (0, 1, 2)
