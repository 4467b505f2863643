"""Operators by order: running extremes, medians, modes, and searches in sorted sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.aten.reductions.scan import strides
from flambeau.dialects.aten.reductions.sort import Pair, run_starts, shifted, sorted_along
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_empty, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.families import FLOATS, REALS, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

SSAPair = tuple[SSAValue, SSAValue]


def _places(count: int) -> SSAValue:
    return aten.arange.start_step(0, count)


def _numbers(x: SSAValue) -> SSAValue:
    return to_element(x, ui8) if element_of(x) == i1 else x


def _as_line(x: SSAValue) -> SSAValue:
    return x if shape_of(x) else view(x, (1,))


class RunningExtremeOp(SchemaOp):
    """The largest or smallest of the elements up to each position along `dim`, and the last index that has this value."""

    takes = REALS

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> tuple[Tensor, Tensor]:
        normalize_dim(dim, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x)), tensor(i64, shape_of(x))

    @staticmethod
    def running(x: Array, dim: int, beats: Any) -> Pair:
        """Returns the extremes and their places; `beats(element, extreme)` also where they are equal."""
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
        """Returns the same in operations."""
        shape, element = shape_of(x), element_of(x)
        if not shape or is_empty(shape):
            return x, aten.full(shape, 0, i64)
        axis = normalize_dim(dim, len(shape))
        best = aten.transpose.int(_numbers(x), axis, -1)
        own = _places(shape[axis])
        places = expand(own, shape_of(best))
        for stride in strides(shape[axis]):
            # The extreme of the elements up to one, and that up to the one where those begin.
            before = shifted(best, stride)
            loses = (aten.lt if highest else aten.gt).Tensor(best, before)
            if dtype_of(element_of(best)).category == 2:
                loses = aten.logical_and(aten.logical_or(loses, aten.isnan(before)), aten.logical_not(aten.isnan(best)))
            loses = aten.logical_and(loses, aten.ge.Scalar(own, stride))
            best = aten.where.self(loses, before, best)
            places = aten.where.self(loses, shifted(places, stride), places)
        return to_element(aten.transpose.int(best, axis, -1), element), aten.transpose.int(places, axis, -1)


@aten("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
class CummaxOp(RunningExtremeOp):
    """The largest of the elements up to each position along `dim`, and the last index that has this value."""

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Pair:
        return RunningExtremeOp.running(x, dim, np.greater_equal)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> SSAPair:
        return RunningExtremeOp.compared(x, dim, True)


@aten("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
class CumminOp(RunningExtremeOp):
    """The smallest of the elements up to each position along `dim`, and the last index that has this value."""

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
        total = aten.transpose.int(to_element(x, wide_element(element_of(x))), axis, -1)
        for stride in strides(shape[axis]):
            total = aten.logaddexp(total, shifted(total, stride, -math.inf))
        return to_element(aten.transpose.int(total, axis, -1), element_of(x))


class OfLineOp(SchemaOp):
    """A selected element of each line along `dim`, and its int64 index."""

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
        """Returns `parts`, which keep dimension `dim` with size 1, in the shapes that `infer` gives."""
        kinds = OfLineOp.infer(x.type, dim, keepdim)  # pyright: ignore[reportArgumentType]  an operand's type is a tensor's
        values, places = (view(part, shape_of(kind)) for part, kind in zip(parts, kinds, strict=True))
        return values, places


@aten("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
class MedianDimOp(OfLineOp):
    """The median along `dim` (the lower of two middle elements) and its int64 index; the first NaN if there is a NaN."""

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
    """Returns the elements at position `at` of lines sorted along `dim`, and their original indices; `dim` is removed unless `keepdim`."""
    found = np.take_along_axis(values, at, dim), np.take_along_axis(places, at, dim)
    shape = found[0].shape if keepdim else np.squeeze(found[0], dim).shape
    return found[0].reshape(shape if x.ndim else ()), found[1].reshape(shape if x.ndim else ())


@aten("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
class NanmedianDimOp(OfLineOp):
    """The median along `dim` without NaN (the lower of two middle elements), and its int64 index."""

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
    """Medians of all elements; of two middle elements the lower."""

    takes = REALS - {i1}

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        if 0 in shape_of(x):
            raise ValueError("a tensor without elements has no median that all types can hold")
        return tensor(element_of(x), ())


@aten("median(Tensor self) -> Tensor")
class MedianOp(MedianOfAllOp):
    """The median of all elements (the lower of two middle elements); NaN if there is a NaN."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return MedianDimOp.numpy(x.reshape(-1), 0, False)[0]

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.median.dim.results(view(x, (math.prod(shape_of(x)),)), 0)[0]


@aten("nanmedian(Tensor self) -> Tensor")
class NanmedianOp(MedianOfAllOp):
    """The median of all elements without NaN (the lower of two middle elements)."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return NanmedianDimOp.numpy(x.reshape(-1), 0, False)[0]

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.nanmedian.dim.results(view(x, (math.prod(shape_of(x)),)), 0)[0]


@aten("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
class ModeOp(OfLineOp):
    """The most frequent element along `dim` (the smallest of several), and the last int64 index that has this value."""

    @staticmethod
    def numpy(x: Array, /, dim: int, keepdim: bool) -> Pair:
        values, places = (np.moveaxis(np.atleast_1d(part), dim, -1) for part in sorted_along(x, dim, False))
        lines = widened(values).reshape(-1, values.shape[-1])
        starts = np.ones(lines.shape, np.bool_)
        starts[:, 1:] = lines[:, 1:] != lines[:, :-1]
        runs = np.cumsum(starts).reshape(lines.shape) - 1
        lengths = np.bincount(runs.reshape(-1))[runs]
        most = lengths.max(1, keepdims=True)
        at = np.argmax(lengths == most, axis=1)[:, None]
        at = [part.reshape(*values.shape[:-1], 1) for part in (at, at + most - 1)]
        found = np.take_along_axis(values, at[0], -1), np.take_along_axis(places, at[1], -1)
        shape = shape_of(OfLineOp.infer(tensor(i64, x.shape), dim, keepdim)[0])
        return np.moveaxis(found[0], -1, dim).reshape(shape), np.moveaxis(found[1], -1, dim).reshape(shape)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, keepdim: bool) -> SSAPair:
        line = _numbers(_as_line(x))
        axis = normalize_dim(dim, len(shape_of(line)))
        values, places = aten.sort.results(aten.transpose.int(line, axis, -1), -1)
        runs = aten.sub.Scalar(aten.cumsum(run_starts(values), -1), 1)
        lengths = aten.scatter_add(aten.full(shape_of(values), 0, i64), -1, runs, aten.full(shape_of(values), 1, i64))
        most = aten.amax(lengths, (-1,), True)
        longest = aten.eq.Tensor(aten.gather(lengths, -1, runs), most)
        at = aten.argmax(to_element(longest, i64), -1, True)
        # Equal elements stand in the order of their places.
        found = aten.gather(values, -1, at), aten.gather(places, -1, aten.sub.Scalar(aten.add.Tensor(at, most), 1))
        parts = [aten.transpose.int(part, axis, -1) for part in (to_element(found[0], element_of(x)), found[1])]
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
    """The number of entries of a sorted sequence that are less than each number; with `right`, less or equal."""

    @staticmethod
    def infer(sequence: Tensor, x: Tensor | float, /, out_int32: bool, right: bool, side: str | None, sorter: Tensor | None) -> Tensor:
        _is_right(right, side)
        shape = () if isinstance(x, bool | int | float) else shape_of(x)
        own = shape_of(sequence)
        if element_of(sequence) not in REALS - {i1}:
            raise TypeError(f"a search is not defined for {dtype_of(element_of(sequence)).torch} tensors")
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
        entries, values, is_right = widened(sequence), widened(numbers), _is_right(right, side)
        entries = entries if entries.ndim > 1 else entries.reshape(*(1,) * (values.ndim - 1), -1)
        values = np.atleast_1d(values)
        entries = np.broadcast_to(entries, (*values.shape[:-1], entries.shape[-1]))
        start, end = np.zeros(values.shape, np.int64), np.full(values.shape, entries.shape[-1], np.int64)
        while entries.size and (start < end).any():
            middle = (start + end) // 2
            entry = np.take_along_axis(entries, np.minimum(middle, entries.shape[-1] - 1), -1)
            behind = entry > values if is_right else entry >= values
            start, end = np.where((start < end) & ~behind, middle + 1, start), np.where(behind, middle, end)
        return start.reshape(numbers.shape).astype(np.int32 if out_int32 else np.int64)

    @staticmethod
    def decompose(
        sequence: SSAValue, x: SSAValue | float, /, out_int32: bool, right: bool, side: str | None, sorter: SSAValue | None
    ) -> SSAValue:
        if sorter is not None:
            sequence = aten.gather(sequence, -1, sorter)
        numbers = as_operand(x, element_of(sequence))
        shape, count, kind = shape_of(numbers), shape_of(sequence)[-1], i32 if out_int32 else i64
        if is_empty((*shape, count)):
            return aten.full(shape, 0, kind)
        is_shared = len(shape_of(sequence)) == 1
        values = view(numbers, (math.prod(shape),)) if is_shared else numbers
        start, end = aten.full(shape_of(values), 0, i64), aten.full(shape_of(values), count, i64)
        compared = (aten.gt if _is_right(right, side) else aten.ge).Tensor
        for _ in strides(count + 1):
            middle = aten.floor_divide(aten.add.Tensor(start, end), as_operand(2, i64))
            at = aten.minimum(middle, aten.sub.Scalar(as_operand(count, i64), 1))
            behind = compared(aten.gather(sequence, -1, at), values)
            goes_on = aten.logical_and(aten.lt.Tensor(start, end), aten.logical_not(behind))
            start = aten.where.self(goes_on, aten.add.Scalar(middle, 1), start)
            end = aten.where.self(behind, middle, end)
        return to_element(view(start, shape), kind)


@aten("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
@aten("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
class BucketizeScalarOp(SchemaOp):
    """The number of sorted boundaries that are less than each number; with `right`, less or equal."""

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
