"""Operators that sort elements. NaN counts as the largest element."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.selection import selected
from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.families import NUMBERS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Pair = tuple[Array, Array]


def order_along(x: Array, dim: int, descending: bool) -> Array:
    """Returns the indices that sort the elements along `dim`; equal elements keep their order."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # The order of the reversed tensor, reversed, keeps equal elements in place.
    places = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(places, dim)


def sorted_along(x: Array, /, dim: int, descending: bool) -> Pair:
    """Returns the elements in order along `dim`, and their places."""
    if not x.ndim:
        return x, np.zeros((), np.int64)
    places = order_along(widened(x), dim, descending).astype(np.int64)
    return np.take_along_axis(x, places, dim), places


def sorted_types(x: Tensor, /, dim: int) -> tuple[Tensor, Tensor]:
    """Returns the types of the elements in order and of their places. Raises IndexError."""
    normalize_dim(dim, len(shape_of(x)))
    return tensor(element_of(x), shape_of(x)), tensor(i64, shape_of(x))


def in_place_order(values: SSAValue, places: SSAValue, dim: int, count: int) -> SSAValue:
    """Returns indices of sorted elements with the indices of equal elements sorted too, because `topk` returns these in any order."""
    before, after = aten.slice.Tensor(values, dim, 0, -1), aten.slice.Tensor(values, dim, 1, count)
    differs = aten.ne.Tensor(before, after)
    if dtype_of(element_of(values)).category == 2:
        differs = aten.logical_and(differs, aten.logical_not(aten.logical_and(aten.isnan(before), aten.isnan(after))))
    # Elements of one group are equal; their places tell them apart.
    group = aten.cumsum(to_element(differs, i64), dim)
    first = aten.mul.Scalar(aten.slice.Tensor(places, dim, 0, 1), 0)
    start = aten.mul.Scalar(aten.cat([first, group], dim), count)
    ordered, _ = aten.topk.results(aten.add.Tensor(start, places), count, dim, False)
    return aten.sub.Tensor(ordered, start)


def shifted(values: SSAValue, steps: int, fill: float = 0) -> SSAValue:
    """Returns each line shifted by `steps` elements towards the end, with a number in the first `steps` places."""
    return aten.slice.Tensor(aten.constant_pad_nd(values, (steps, 0), fill), -1, 0, shape_of(values)[-1])


def run_starts(values: SSAValue) -> SSAValue:
    """Returns, as bool, whether each element of a line differs from its predecessor; True for the first element."""
    places = aten.arange.start_step(0, shape_of(values)[-1])
    return aten.logical_or(aten.ne.Tensor(values, shifted(values, 1)), aten.eq.Scalar(places, 0))


@aten("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", core=True)
class SortOp(SchemaOp):
    """The elements sorted along `dim`, and their int64 indices in the operand."""

    infer = staticmethod(sorted_types)
    numpy = staticmethod(sorted_along)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, descending: bool) -> Sequence[SSAValue]:
        shape = shape_of(x)
        count = shape[normalize_dim(dim, len(shape))] if shape else 1
        if element_of(x) == i1:
            values, places = SortOp.decompose(to_element(x, ui8), dim, descending)
            return to_element(values, i1), places
        values, places = aten.topk.results(x, count, dim, descending)
        return (values, places) if exceeds(2, count) else (values, in_place_order(values, places, dim, count))


@aten("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
class SortStableOp(SchemaOp):
    """The elements sorted along `dim`, with equal elements in their original order, and their int64 indices in the operand."""

    infer = staticmethod(sorted_types)
    numpy = staticmethod(sorted_along)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, descending: bool) -> Sequence[SSAValue]:
        return aten.sort.results(x, dim, descending)


@aten("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", core=True)
class TopkOp(SchemaOp):
    """The k largest or smallest elements along `dim`, sorted, and their int64 indices; equal elements are ordered as in PyTorch on CPU."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, /, k: int, dim: int) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape))
        extent = shape[dim] if shape else 1
        if exceeds(0, k) or exceeds(k, extent):
            raise ValueError(f"k = {k} is out of range for dimension {dim} of size {extent}")
        result = (*shape[:dim], k, *shape[dim + 1 :]) if shape else ()
        return tensor(element_of(x), result), tensor(i64, result)

    @staticmethod
    def numpy(x: Array, /, k: int, dim: int, largest: bool, sorted: bool) -> Pair:
        if not x.ndim:
            return x, np.zeros((), np.int64)
        _, ranks = np.unique(widened(x), return_inverse=True)  # all NaN are one, the last
        lines = np.moveaxis((-ranks if largest else ranks).reshape(x.shape), dim, -1)
        places = np.array(
            [selected(line, k, sorted) for line in lines.reshape(math.prod(lines.shape[:-1]), x.shape[dim]).tolist()], np.int64
        )
        places = np.moveaxis(places.reshape(*lines.shape[:-1], k), -1, dim)
        return np.take_along_axis(x, places, dim), places


@aten("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
@aten("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
class ArgsortOp(SchemaOp):
    """The int64 indices that sort the elements along `dim`; equal elements keep their order."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> Tensor:
        return sorted_types(x, dim)[1]

    @staticmethod
    def numpy(x: Array, /, dim: int, descending: bool) -> Array:
        return sorted_along(x, dim, descending)[1]

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, descending: bool) -> SSAValue:
        return aten.sort.results(x, dim, descending)[1]


@aten("msort(Tensor self) -> Tensor")
class MsortOp(SchemaOp):
    """The elements sorted along dimension 0."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return sorted_along(x, 0, False)[0]

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.sort.results(x, 0)[0]


@aten("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
class KthvalueOp(SchemaOp):
    """The k-th smallest element along `dim`, for k from 1, and its int64 index."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, /, k: int, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape))
        extent = shape[dim] if shape else 1
        if exceeds(1, k) or exceeds(k, extent):
            raise ValueError(f"k = {k} is out of range for dimension {dim} of size {extent}")
        result = (*shape[:dim], *((1,) if keepdim else ()), *shape[dim + 1 :]) if shape else ()
        return tensor(element_of(x), result), tensor(i64, result)

    @staticmethod
    def numpy(x: Array, /, k: int, dim: int, keepdim: bool) -> Pair:
        values, indices = sorted_along(x, dim, False)
        if not x.ndim:
            return values, indices
        places = [k - 1] if keepdim else k - 1
        return np.take(values, places, dim), np.take(indices, places, dim)

    @staticmethod
    def decompose(x: SSAValue, /, k: int, dim: int, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        if not shape_of(x):
            x = aten.unsqueeze(x, 0)
            return KthvalueOp.decompose(x, k, 0, False)
        parts = aten.sort.results(x, dim)
        if keepdim:
            values, indices = (aten.slice.Tensor(part, dim, k - 1, k) for part in parts)
        else:
            values, indices = (aten.select.int(part, dim, k - 1) for part in parts)
        return values, indices
