"""Reductions of segments: consecutive parts of a dimension, whose lengths or offsets are in a tensor."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_empty, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
"""What a reduction gives where nothing is reduced."""


@aten(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, "
    "bool unsafe=False, Scalar? initial=None) -> Tensor"
)
class SegmentReduceOp(SchemaOp):
    """The sum, mean, prod, max or min of each segment of dimension `axis` and of `initial`; a mean divides by the segment's length.

    Dimensions before `axis` have their own segments.
    """

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, /, reduce: str, lengths: Tensor | None, indices: Tensor | None, offsets: Tensor | None, axis: int) -> Tensor:
        bounds = lengths if lengths is not None else offsets
        if bounds is None or indices is not None or (lengths is not None and offsets is not None):
            raise ValueError("either the lengths or the offsets of the segments must be given, and no indices")
        if reduce not in _EMPTY:
            raise ValueError(f"reduce must be one of {', '.join(_EMPTY)}, got {reduce}")
        shape, own = shape_of(x), shape_of(bounds)
        axis = normalize_dim(axis, len(shape))
        if element_of(bounds) not in (i32, i64):
            raise TypeError(f"lengths and offsets must be int32 or int64, got {dtype_of(element_of(bounds)).torch}")
        if len(own) != axis + 1 or own[:axis] != shape[:axis] or (lengths is None and own[axis] == 0):
            raise ValueError(f"segments {list(own)} do not fit dimension {axis} of {list(shape)}")
        return tensor(element_of(x), (*own[:axis], own[axis] - (lengths is None), *shape[axis + 1 :]))

    @staticmethod
    def numpy(x: Array, /, reduce: str, lengths: Array | None, offsets: Array | None, axis: int, initial: float | None) -> Array:
        axis = normalize_dim(axis, x.ndim)
        bounds: Any = offsets
        if lengths is not None:
            bounds = np.concatenate([np.zeros((*lengths.shape[:-1], 1), np.int64), np.cumsum(lengths, -1)], -1)
        start = _EMPTY[reduce] if initial is None else initial
        wide = widened(x)
        result = np.full((*bounds.shape[:-1], bounds.shape[-1] - 1, *x.shape[axis + 1 :]), start, wide.dtype)
        function = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[reduce]
        for place in np.ndindex(*result.shape[: axis + 1]):
            outer, number = place[:-1], place[-1]
            low, high = int(bounds[(*outer, number)]), int(bounds[(*outer, number + 1)])
            part = wide[(*outer, slice(low, high))]
            total = function.reduce(part, axis=0, initial=start)
            if reduce == "mean" and (high > low or initial is None):
                with np.errstate(all="ignore"):
                    total = total / wide.dtype.type(high - low)
            result[place] = total
        return result.astype(x.dtype)

    @staticmethod
    def decompose(
        x: SSAValue, /, reduce: str, lengths: SSAValue | None, offsets: SSAValue | None, axis: int, initial: float | None
    ) -> SSAValue:
        shape, element = shape_of(x), element_of(x)
        axis = normalize_dim(axis, len(shape))
        outer, count, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        bounds = lengths if lengths is not None else offsets
        assert bounds is not None
        segments = shape_of(bounds)[-1] - (lengths is None)
        start = _EMPTY[reduce] if initial is None else initial
        kept = (*shape[:axis], segments, *shape[axis + 1 :])
        if is_empty(kept):
            return aten.full(kept, start, element)
        bounds = to_element(view(bounds, (outer, shape_of(bounds)[-1])), i64)
        first = None
        if lengths is not None:
            ends = aten.cumsum(bounds, -1)
        else:
            first = aten.slice.Tensor(bounds, -1, 0, 1)
            ends = aten.slice.Tensor(bounds, -1, 1, segments + 1)
        # One more segment takes what is in none.
        found = aten.full((outer, segments + 1, inner), start, element)
        if not is_empty(shape):
            places = expand(aten.unsqueeze(aten.arange.start_step(0, count), 0), (outer, count))
            numbers = aten.searchsorted.Tensor(ends, aten.clone(places), right=True)
            if first is not None:
                numbers = aten.where.self(aten.lt.Tensor(places, first), aten.full((1, 1), segments, i64), numbers)
            numbers = expand(aten.unsqueeze(numbers, -1), (outer, count, inner))
            values = view(x, (outer, count, inner))
            if reduce in ("sum", "mean"):
                found = aten.scatter_add(found, 1, numbers, values)
            else:
                found = aten.scatter_reduce.two(found, 1, numbers, values, {"max": "amax", "min": "amin"}.get(reduce, reduce))
        found = aten.slice.Tensor(found, 1, 0, segments)
        if reduce == "mean":
            lengths_of = bounds if lengths is not None else aten.sub.Tensor(ends, aten.slice.Tensor(bounds, -1, 0, segments))
            sizes = aten.unsqueeze(lengths_of, -1)
            means = aten.div.Tensor(found, to_element(sizes, element))
            found = means if initial is None else aten.where.self(aten.eq.Scalar(sizes, 0), found, means)
        return view(found, kept)


@aten("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor")
class EmbeddingRenormOp(SchemaOp):
    """The table with the rows at `indices` scaled down to the norm `max_norm` if their norm exceeds it."""

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, /, indices: Tensor) -> Tensor:
        if len(shape_of(x)) != 2:
            raise ValueError(f"a table must have 2 dimensions, got shape {list(shape_of(x))}")
        if element_of(indices) not in (i32, i64):
            raise TypeError(f"indices must be int32 or int64, got {dtype_of(element_of(indices)).torch}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, indices: Array, max_norm: float, norm_type: float) -> Array:
        result = x.copy()
        wide = widened(x)
        for row in np.unique(indices):
            norm = np.linalg.norm(wide[row], norm_type)
            if norm > max_norm:
                result[row] = (wide[row] * wide.dtype.type(max_norm / (norm + 1e-7))).astype(x.dtype)
        return result

    @staticmethod
    def decompose(x: SSAValue, /, indices: SSAValue, max_norm: float, norm_type: float) -> SSAValue:
        shape, element = shape_of(x), element_of(x)
        norms = aten.linalg_vector_norm(x, norm_type, (1,), True)
        flat = to_element(view(indices, (math.prod(shape_of(indices)), 1)), i64)
        named = aten.scatter.value(aten.full((shape[0], 1), 0, element), 0, flat, 1)
        scale = aten.mul.Scalar(aten.reciprocal(aten.add.Scalar(norms, 1e-7)), max_norm)
        scaled = aten.logical_and(aten.gt.Scalar(norms, max_norm), aten.ne.Scalar(named, 0))
        return aten.where.self(scaled, aten.mul.Tensor(x, scale), x)
