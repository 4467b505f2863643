"""Adaptive max pools: windows of about equal size cover the input, one window for each output element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.images.largest_of_windows import largest_of_windows
from flambeau.dialects.aten.images.pool import (
    AdaptiveAvgPool1dOp,
    AdaptiveAvgPool2dOp,
    AdaptiveAvgPool3dOp,
    AdaptiveAvgPoolOp,
    MaxPool1dWithIndicesOp,
    MaxPool2dWithIndicesOp,
    MaxPool3dWithIndicesOp,
    MaxPoolOp,
    Numbers,
    Pair,
)
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.windows import adaptive_windows, places_of
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, shape_of, tensor
from flambeau.dialects.schema.families import require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class AdaptiveMaxPoolOp(SchemaOp):
    """The largest element of each adaptive window, and its int64 index in the flattened pooled dimensions."""

    rank: ClassVar[int]
    """The number of pooled dimensions."""
    pool: ClassVar[type[MaxPoolOp]]
    """The pool with a fixed window over as many dimensions."""
    means: ClassVar[type[AdaptiveAvgPoolOp]]
    """The mean pool with the same rule for shapes."""

    @classmethod
    def infer(cls, x: Tensor, /, output_size: Numbers) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        sizes = cls.means.sizes(shape, output_size)
        require_category("an adaptive pool", x, at_least=2)
        if 0 in shape[1:]:
            raise ValueError(f"only the batch dimension may be empty, got shape {list(shape)}")
        values = tensor(element_of(x), (*shape[: len(shape) - cls.rank], *sizes))
        return values, tensor(i64, shape_of(values))

    @classmethod
    def numpy(cls, x: Array, /, output_size: Numbers) -> Pair:
        sizes = cls.means.sizes(x.shape, output_size)
        extents = x.shape[x.ndim - cls.rank :]
        flat = widened(x).reshape(*x.shape[: x.ndim - cls.rank], math.prod(x.shape[x.ndim - cls.rank :]))
        numbers = places_of(extents)
        bounds = [adaptive_windows(int(extent), count) for extent, count in zip(extents, sizes, strict=True)]
        indices = np.zeros((*flat.shape[:-1], *sizes), np.int64)
        for place in itertools.product(*map(range, sizes)):
            cut = tuple(slice(*axis_bounds[index]) for axis_bounds, index in zip(bounds, place, strict=True))
            window = numbers[cut].reshape(-1)
            indices[(..., *place)] = window[flat[..., window].argmax(axis=-1)]
        values = np.take_along_axis(flat, indices.reshape(*flat.shape[:-1], math.prod(indices.shape[x.ndim - cls.rank :])), -1)
        return values.reshape(indices.shape).astype(x.dtype), indices

    @classmethod
    def decompose(cls, x: SSAValue, /, output_size: Numbers) -> Sequence[SSAValue]:
        shape = shape_of(x)
        sizes = cls.means.sizes(shape, output_size)
        extents = shape[len(shape) - cls.rank :]
        if is_empty((*sizes, *shape[: len(shape) - cls.rank])):
            empty = (*shape[: len(shape) - cls.rank], *sizes)
            return aten.full(empty, 0, dtype=element_of(x)), aten.full(empty, 0, dtype=i64)
        if cls.rank == 3 or not all(map(is_known, extents)) or any(extent % size for extent, size in zip(extents, sizes, strict=True)):
            return largest_of_windows(x, sizes)
        kernel = tuple(extent // size for extent, size in zip(extents, sizes, strict=True))
        return cls.pool(x, kernel, kernel).results


@aten("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
class AdaptiveMaxPool1dOp(AdaptiveMaxPoolOp):
    """The largest element of each adaptive window over one dimension, and its int64 index."""

    rank, pool, means = 1, MaxPool1dWithIndicesOp, AdaptiveAvgPool1dOp


@aten("adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)")
class AdaptiveMaxPool2dOp(AdaptiveMaxPoolOp):
    """The largest element of each adaptive window over two dimensions, and its int64 index in the flattened plane."""

    rank, pool, means = 2, MaxPool2dWithIndicesOp, AdaptiveAvgPool2dOp


@aten("adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)")
class AdaptiveMaxPool3dOp(AdaptiveMaxPoolOp):
    """The largest element of each adaptive window over three dimensions, and its int64 index in the flattened volume."""

    rank, pool, means = 3, MaxPool3dWithIndicesOp, AdaptiveAvgPool3dOp
