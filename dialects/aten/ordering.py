"""Orders and extremes: running ones, medians, the most frequent element, and places in sorted sequences.

Their decompositions compare each element of a line with each other one, so a line of n elements takes n² for a moment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.formulas import functions as np
from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.aten.shape import view
from flambeau.dialects.aten.sort import Pair, sorted_along
from flambeau.dialects.aten.where import as_operand
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_empty, normalize_dim, numpy_dtype, shape_of, tensor, ui8
from flambeau.dialects.schema.families import FLOATS, REALS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

SSAPair = tuple[SSAValue, SSAValue]


def _places(count: int) -> SSAValue:
    return aten.arange.start_step(0, count)


def _bound(element: Attribute, highest: bool) -> float:
    """A number that no element of a type exceeds."""
    if dtype_of(element).category == 2:
        return math.inf if highest else -math.inf
    limits: Any = np.iinfo(numpy_dtype(element).name)
    return int(limits.max if highest else limits.min)


def _equal(a: SSAValue, b: SSAValue) -> SSAValue:
    """Whether elements are equal; NaN is equal to NaN."""
    found = aten.eq.Tensor(a, b)
    if dtype_of(element_of(a)).category < 2:
        return found
    return aten.logical_or(found, aten.logical_and(aten.isnan(a), aten.isnan(b)))


def _numbers(x: SSAValue) -> SSAValue:
    return to_element(x, ui8) if element_of(x) == i1 else x


def _as_line(x: SSAValue) -> SSAValue:
    return x if shape_of(x) else view(x, (1,))


def _before(count: int) -> SSAValue:
    """Whether element j of a line is not behind element i, which is in the dimension before."""
    places = _places(count)
    return aten.ge.Tensor(aten.unsqueeze(places, 1), aten.unsqueeze(places, 0))


class RunningExtremeOp(SchemaOp):
    """The extreme of the elements up to each one along `dim`, and the last place where it is."""

    takes = REALS

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> tuple[Tensor, Tensor]:
        normalize_dim(dim, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x)), tensor(i64, shape_of(x))

    @staticmethod
    def running(x: Array, dim: int, beats: Any) -> Pair:
        """The extremes and their places; `beats(element, extreme)` also where they are equal."""
        if not x.ndim or not x.size:
            return x, np.zeros(x.shape, np.int64)
        lines = np.moveaxis(x, dim, -1)
        wide, places = widened(lines), np.zeros(lines.shape, np.int64)
        best = wide[..., 0]
        for place in range(1, wide.shape[-1]):
            element = wide[..., place]
            wins = np.isnan(element) | (~np.isnan(best) & beats(element, best)) if wide.dtype.kind == "f" else beats(element, best)
            best = np.where(wins, element, best)
            places[..., place] = np.where(wins, place, places[..., place - 1])
        return np.moveaxis(np.take_along_axis(lines, places, -1), -1, dim), np.moveaxis(places, -1, dim)

    @staticmethod
    def compared(x: SSAValue, dim: int, highest: bool) -> SSAPair:
        """The same in operations."""
        shape, element = shape_of(x), element_of(x)
        if not shape or is_empty(shape):
            return x, aten.full(shape, 0, i64)
        axis = normalize_dim(dim, len(shape))
        lines = aten.unsqueeze(aten.transpose.int(_numbers(x), axis, -1), -2)
        before = _before(shape[axis])
        number = as_operand(_bound(element_of(lines), not highest), element_of(lines))
        extreme = (aten.amax if highest else aten.amin)(aten.where.self(before, lines, number), (-1,), True)
        matches = aten.logical_and(before, _equal(lines, extreme))
        places = aten.amax(aten.where.self(matches, _places(shape[axis]), as_operand(0, i64)), (-1,))
        found = aten.transpose.int(aten.squeeze.dim(extreme, -1), axis, -1)
        return to_element(found, element), aten.transpose.int(places, axis, -1)


@aten("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
class CummaxOp(RunningExtremeOp):
    """The largest of the elements up to each one along `dim`, and the last place where it is."""

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Pair:
        return RunningExtremeOp.running(x, dim, np.greater_equal)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> SSAPair:
        return RunningExtremeOp.compared(x, dim, True)


@aten("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
class CumminOp(RunningExtremeOp):
    """The smallest of the elements up to each one along `dim`, and the last place where it is."""

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Pair:
        return RunningExtremeOp.running(x, dim, np.less_equal)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> SSAPair:
        return RunningExtremeOp.compared(x, dim, False)


@aten("logcumsumexp(Tensor self, int dim) -> Tensor")
class LogcumsumexpOp(SchemaOp):
    """The logarithm of the sum of the exponentials up to each element along `dim`."""

    takes = FLOATS

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> Tensor:
        normalize_dim(dim, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return np.logaddexp.accumulate(widened(x), axis=dim).astype(x.dtype) if x.ndim and x.size else x

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> SSAValue:
        shape = shape_of(x)
        if not shape or is_empty(shape):
            return x
        axis = normalize_dim(dim, len(shape))
        lines = aten.unsqueeze(aten.transpose.int(x, axis, -1), -2)
        known = aten.where.self(_before(shape[axis]), lines, as_operand(-math.inf, element_of(x)))
        return aten.transpose.int(aten.logsumexp(known, (-1,)), axis, -1)


class OfLineOp(SchemaOp):
    """One element of each line along `dim`, and its place."""

    takes = REALS

    @staticmethod
    def infer(x: Tensor, /, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        axis = normalize_dim(dim, len(shape))
        if shape and shape[axis] == 0:
            raise ValueError(f"dimension {axis} has no elements to choose from")
        found = (*shape[:axis], *((1,) if keepdim else ()), *shape[axis + 1 :]) if shape else ()
        return tensor(element_of(x), found), tensor(i64, found)

    @staticmethod
    def shaped(parts: Sequence[SSAValue], x: SSAValue, dim: int, keepdim: bool) -> SSAPair:
        """Results that have dimension `dim`, of size 1, in the shape that `infer` says."""
        kinds = OfLineOp.infer(x.type, dim, keepdim)  # pyright: ignore[reportArgumentType]  an operand's type is a tensor's
        values, places = (view(part, shape_of(kind)) for part, kind in zip(parts, kinds, strict=True))
        return values, places


@aten("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
class MedianDimOp(OfLineOp):
    """The middle element along `dim`, the lower one of two, and its place; the first NaN when there is one."""

    takes = REALS - {i1}

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> Pair:
        values, places = (np.atleast_1d(part) for part in sorted_along(x, dim, False))
        count = values.shape[dim]
        unknown = np.asarray(widened(values) != widened(values)).sum(dim, keepdims=True)
        middle = (count - 1) // 2
        at = middle + (unknown > 0) * (count - unknown - middle)
        return _chosen(x, values, places, at, dim, keepdim)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, keepdim: bool) -> SSAPair:
        line = _as_line(x)
        values, places = aten.sort.results(line, dim)
        count = shape_of(line)[dim]
        middle = [aten.slice.Tensor(part, dim, (count - 1) // 2, (count - 1) // 2 + 1) for part in (values, places)]
        if dtype_of(element_of(x)).category == 2:
            unknown = to_element(aten.isnan(line), i64)
            has_nan = aten.gt.Scalar(aten.amax(unknown, (dim,), True), 0)
            last = aten.slice.Tensor(values, dim, count - 1, count)
            middle = [
                aten.where.self(has_nan, last, middle[0]),
                aten.where.self(has_nan, aten.argmax(unknown, dim, True), middle[1]),
            ]
        return OfLineOp.shaped(middle, x, dim, keepdim)


def _chosen(x: Array, values: Array, places: Array, at: Array, dim: int, keepdim: bool) -> Pair:
    """The elements at places of sorted lines."""
    found = np.take_along_axis(values, at, dim), np.take_along_axis(places, at, dim)
    shape = found[0].shape if keepdim else np.squeeze(found[0], dim).shape
    return found[0].reshape(shape if x.ndim else ()), found[1].reshape(shape if x.ndim else ())


@aten("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
class NanmedianDimOp(OfLineOp):
    """The middle one of the elements along `dim` that are numbers, the lower one of two, and its place."""

    takes = REALS - {i1}

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> Pair:
        values, places = (np.atleast_1d(part) for part in sorted_along(x, dim, False))
        numbers = widened(values) == widened(values)
        at = np.maximum(numbers.sum(dim, keepdims=True) - 1, 0) // 2
        return _chosen(x, values, places, at, dim, keepdim)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, keepdim: bool) -> SSAPair:
        if dtype_of(element_of(x)).category < 2:
            values, places = aten.median.dim.results(x, dim, keepdim)
            return values, places
        line = _as_line(x)
        values, places = aten.sort.results(line, dim)
        numbers = aten.sum.dim_IntList(aten.logical_not(aten.isnan(line)), (dim,), True)
        at = aten.clamp(aten.floor_divide(aten.sub.Scalar(numbers, 1), as_operand(2, i64)), 0)
        return OfLineOp.shaped([aten.gather(values, dim, at), aten.gather(places, dim, at)], x, dim, keepdim)


class MedianOfAllOp(SchemaOp):
    """The middle one of all elements, the lower one of two."""

    takes = REALS - {i1}

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        if 0 in shape_of(x):
            raise ValueError("a tensor without elements has no median that all types can hold")
        return tensor(element_of(x), ())


@aten("median(Tensor self) -> Tensor")
class MedianOp(MedianOfAllOp):
    """The middle one of all elements, the lower one of two; NaN when there is one."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return MedianDimOp.numpy(x.reshape(-1), 0, False)[0]

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.median.dim.results(view(x, (math.prod(shape_of(x)),)), 0)[0]


@aten("nanmedian(Tensor self) -> Tensor")
class NanmedianOp(MedianOfAllOp):
    """The middle one of all elements that are numbers, the lower one of two."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return NanmedianDimOp.numpy(x.reshape(-1), 0, False)[0]

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.nanmedian.dim.results(view(x, (math.prod(shape_of(x)),)), 0)[0]


@aten("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
class ModeOp(OfLineOp):
    """The most frequent element along `dim`, the smallest one of several, and the last place where it is."""

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> Pair:
        lines = np.moveaxis(np.atleast_1d(x), dim, -1)
        wide = widened(lines)
        counts = (wide[..., :, None] == wide[..., None, :]).sum(-1)
        frequent = counts == counts.max(-1, keepdims=True)
        highest = np.inf if wide.dtype.kind == "f" else True if wide.dtype == np.bool_ else np.iinfo(wide.dtype).max
        value = np.where(frequent, wide, np.asarray(highest, wide.dtype)).min(-1, keepdims=True)
        place = ((frequent & (wide == value)) * np.arange(wide.shape[-1])).max(-1, keepdims=True)
        shape = OfLineOp.infer(tensor(i64, x.shape), dim, keepdim)[0]
        values, places = (np.moveaxis(part, -1, dim).reshape(shape_of(shape)) for part in (value.astype(x.dtype), place))
        return values, places

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, keepdim: bool) -> SSAPair:
        line = _numbers(_as_line(x))
        axis = normalize_dim(dim, len(shape_of(line)))
        lines = aten.transpose.int(line, axis, -1)
        same = aten.eq.Tensor(aten.unsqueeze(lines, -1), aten.unsqueeze(lines, -2))
        counts = aten.sum.dim_IntList(same, (-1,))
        frequent = aten.eq.Tensor(counts, aten.amax(counts, (-1,), True))
        element = element_of(lines)
        value = aten.amin(aten.where.self(frequent, lines, as_operand(_bound(element, True), element)), (-1,), True)
        chosen = aten.logical_and(frequent, aten.eq.Tensor(lines, value))
        place = aten.amax(aten.where.self(chosen, _places(shape_of(line)[axis]), as_operand(0, i64)), (-1,), True)
        parts = [aten.transpose.int(part, axis, -1) for part in (to_element(value, element_of(x)), place)]
        return OfLineOp.shaped(parts, x, dim, keepdim)


def _is_right(right: bool, side: str | None) -> bool:
    if side not in (None, "left", "right"):
        raise ValueError(f'side must be "left" or "right", got "{side}"')
    if right and side == "left":
        raise ValueError('side must not be "left" when right is true')
    return right or side == "right"


@aten(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, "
    "Tensor? sorter=None) -> Tensor"
)
@aten(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, "
    "Tensor? sorter=None) -> Tensor"
)
class SearchsortedTensorOp(SchemaOp):
    """How many entries of a sorted sequence are smaller than each number; with `right` also those that are equal."""

    @staticmethod
    def infer(sequence: Tensor, x: Tensor | float, /, out_int32: bool, right: bool, side: str | None, sorter: Tensor | None) -> Tensor:
        _is_right(right, side)
        shape = () if isinstance(x, bool | int | float) else shape_of(x)
        own = shape_of(sequence)
        if element_of(sequence) not in REALS:
            raise TypeError("complex numbers have no order")
        if not own:
            raise ValueError("the sorted sequence must have a dimension")
        if not isinstance(x, bool | int | float) and element_of(x) != element_of(sequence):
            raise TypeError("numbers and the sorted sequence must have one element type")
        if len(own) > 1 and (own[:-1] != shape[:-1] or len(own) != len(shape)):
            raise ValueError(f"numbers {list(shape)} and sequences {list(own)} must agree in all dimensions but the last")
        if sorter is not None and (shape_of(sorter) != own or element_of(sorter) != i64):
            raise ValueError("the sorter must be int64, of the sequence's shape")
        return tensor(i32 if out_int32 else i64, shape)

    @staticmethod
    def numpy(sequence: Array, x: Array | float, /, out_int32: bool, right: bool, side: str | None, sorter: Array | None) -> Array:
        if sorter is not None:
            sequence = np.take_along_axis(sequence, sorter, -1)
        numbers = np.asarray(x).astype(sequence.dtype)
        entries, values = widened(sequence)[..., None, :], widened(numbers)[..., None]
        behind = entries > values if _is_right(right, side) else entries >= values
        return (~behind).sum(-1).reshape(numbers.shape).astype(np.int32 if out_int32 else np.int64)

    @staticmethod
    def decompose(
        sequence: SSAValue, x: SSAValue | float, /, out_int32: bool, right: bool, side: str | None, sorter: SSAValue | None
    ) -> SSAValue:
        if sorter is not None:
            sequence = aten.gather(sequence, -1, sorter)
        numbers = as_operand(x, element_of(sequence))
        entries, values = aten.unsqueeze(sequence, -2), aten.unsqueeze(numbers, -1)
        behind = (aten.gt if _is_right(right, side) else aten.ge).Tensor(entries, values)
        found = aten.sum.dim_IntList(aten.logical_not(behind), (-1,))
        return to_element(view(found, shape_of(numbers)), i32 if out_int32 else i64)


@aten("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
@aten("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
class BucketizeScalarOp(SchemaOp):
    """How many boundaries are smaller than each number; with `right` also those that are equal."""

    @staticmethod
    def infer(x: Tensor | float, boundaries: Tensor, /, out_int32: bool, right: bool) -> Tensor:
        if len(shape_of(boundaries)) != 1:
            raise ValueError(f"boundaries must have one dimension, got {len(shape_of(boundaries))}")
        return SearchsortedTensorOp.infer(boundaries, x, out_int32, right, None, None)

    @staticmethod
    def numpy(x: Array | float, boundaries: Array, /, out_int32: bool, right: bool) -> Array:
        return SearchsortedTensorOp.numpy(boundaries, x, out_int32, right, None, None)

    @staticmethod
    def decompose(x: SSAValue | float, boundaries: SSAValue, /, out_int32: bool, right: bool) -> SSAValue:
        return SearchsortedTensorOp.decompose(boundaries, x, out_int32, right, None, None)
