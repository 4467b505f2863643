"""Operators that remove repeated elements or slices; the size of the result depends on the content."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.aten.reductions.sort import order_along, run_starts
from flambeau.dialects.ir.extents import largest, may_exceed, unknown
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.families import REALS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Arrays = tuple[Array, Array, Array]
Values = tuple[SSAValue, SSAValue, SSAValue]


class UniqueOp(SchemaOp):
    """The different elements or slices, the index of each element or slice among them, and how often each occurs.

    The indices and counts of elements are empty unless requested; the indices and counts of slices are always computed.
    """

    takes = REALS

    @staticmethod
    def types(x: Tensor, dim: int | None, inverse: bool, counts: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the types of the results. Raises ValueError."""
        shape = shape_of(x)
        if dim is not None and not shape:
            raise IndexError(f"a tensor without dimensions has no dimension {dim}")
        axis = None if dim is None else normalize_dim(dim, len(shape))
        if axis is not None and 0 in (*shape[:axis], *shape[axis + 1 :]):
            raise ValueError(f"slices of a tensor of shape {list(shape)} have no elements that tell them apart")
        extent = math.prod(shape) if axis is None else shape[axis]
        found = unknown(0, largest(extent)) if may_exceed(extent, 0) else extent
        values = (found,) if axis is None else (*shape[:axis], found, *shape[axis + 1 :])
        places = shape if axis is None else (extent,)
        return tensor(element_of(x), values), tensor(i64, places if inverse else (0,)), tensor(i64, (found if counts else 0,))

    @staticmethod
    def ofrun_starts(order: Array, starts: Array, inverse: bool, counts: bool) -> Arrays:
        """Returns the places of the first of equals, and the other results, from an order and from where new values begin in it."""
        group = np.zeros(len(order), np.int64)
        group[order] = np.cumsum(starts) - 1
        begins = np.flatnonzero(starts)
        none = np.zeros(0, np.int64)
        return order[begins], group if inverse else none, np.diff(np.append(begins, len(order))) if counts else none


def _slices(x: Array, dim: int | None) -> Array:
    """Returns the slices along a dimension, or the elements, as rows."""
    return x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], x.size // max(x.shape[dim], 1))


def _unique(x: Array, dim: int | None, inverse: bool, counts: bool, in_order: bool) -> Arrays:
    rows = _slices(widened(x), dim)
    order = np.arange(len(rows))
    for column in reversed(range(rows.shape[1])) if in_order else ():
        order = order[order_along(rows[order, column], 0, False)]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (rows[order[1:]] != rows[order[:-1]]).any(1)
    places, group, found = UniqueOp.ofrun_starts(order, starts, inverse, counts)
    values = np.take(x if dim is not None else x.reshape(-1), places, dim or 0)
    return values, group.reshape(x.shape) if inverse and dim is None else group, found


def _ranks(values: SSAValue) -> SSAValue:
    """Returns for each element the number of different smaller elements in its line."""
    ordered, places = aten.sort.results(values, -1)
    steps = aten.sub.Scalar(aten.cumsum(run_starts(ordered), -1), 1)
    return aten.scatter.src(aten.full(shape_of(values), 0, i64), -1, places, steps)


def _keys(rows: SSAValue) -> SSAValue:
    """Returns one number per row, in the order of the rows and equal for equal rows: ranks of pairs of columns, then of pairs of pairs."""
    count, width = shape_of(rows)
    keys = aten.transpose.int(rows, 0, 1)
    if width == 1:
        return view(keys, (count,))
    keys = _ranks(keys)
    while width > 1:
        if width % 2:
            keys, width = aten.cat([aten.full((1, count), 0, i64), keys], 0), width + 1
        high, low = (aten.slice.Tensor(keys, 0, first, width, 2) for first in (0, 1))
        keys, width = aten.add.Tensor(aten.mul.Scalar(high, count), low), width // 2
        keys = _ranks(keys) if width > 1 else keys
    return view(keys, (count,))


def _decomposed(x: SSAValue, dim: int | None, inverse: bool, counts: bool, in_order: bool) -> Values:
    shape = shape_of(x)
    none = aten.full((0,), 0, i64)
    if is_empty(shape):
        return (
            aten.clone(x) if dim is not None else view(x, (0,)),
            aten.full(shape if dim is None else (0,), 0, i64) if inverse else none,
            none,
        )
    whole = x if dim is not None else view(x, (math.prod(shape),))
    axis = normalize_dim(dim or 0, len(shape_of(whole)))
    count = shape_of(whole)[axis]
    width = math.prod(extent for place, extent in enumerate(shape_of(whole)) if place != axis)
    rows = view(aten.transpose.int(whole, axis, 0), (count, width))
    rows = to_element(rows, ui8) if element_of(x) == i1 else rows
    order = aten.arange.start_step(0, count)
    if in_order:
        keys, order = aten.sort.results(_keys(rows), 0)
        starts = run_starts(keys)
    else:
        starts = aten.any.dim(run_starts(aten.transpose.int(rows, 0, 1)), 0)
    group = aten.sub.Scalar(aten.cumsum(starts, 0), 1)
    tally = aten.scatter_add(aten.full((count,), 0, i64), 0, group, aten.full((count,), 1, i64))
    values = aten.index.Tensor(whole, [*[None] * axis, aten.masked_select(order, starts)])
    places = aten.scatter.src(aten.full((count,), 0, i64), 0, order, group)
    return (
        values,
        view(places, shape if dim is None else (count,)) if inverse else none,
        aten.masked_select(tally, aten.gt.Scalar(tally, 0)) if counts else none,
    )


@aten("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)")
class Unique2Op(UniqueOp):
    """The different elements in ascending order, the index of each element among them, and how often each occurs."""

    @staticmethod
    def infer(x: Tensor, /, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
        return UniqueOp.types(x, None, return_inverse, return_counts)

    @staticmethod
    def numpy(x: Array, /, return_inverse: bool, return_counts: bool) -> Arrays:
        return _unique(x, None, return_inverse, return_counts, True)

    @staticmethod
    def decompose(x: SSAValue, /, return_inverse: bool, return_counts: bool) -> Values:
        return _decomposed(x, None, return_inverse, return_counts, True)


@aten("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)")
class UniqueDimOp(UniqueOp):
    """The different slices along `dim` in lexicographic order, the index of each slice among them, and how often each occurs."""

    @staticmethod
    def infer(x: Tensor, /, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        return UniqueOp.types(x, dim, True, True)

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Arrays:
        return _unique(x, dim, True, True, True)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int) -> Values:
        return _decomposed(x, dim, True, True, True)


@aten("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)")
class UniqueConsecutiveOp(UniqueOp):
    """The elements, or slices along `dim`, that differ from their predecessor, the index of each among them, and the lengths of runs."""

    @staticmethod
    def infer(x: Tensor, /, dim: int | None, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
        return UniqueOp.types(x, dim, dim is not None or return_inverse, dim is not None or return_counts)

    @staticmethod
    def numpy(x: Array, /, dim: int | None, return_inverse: bool, return_counts: bool) -> Arrays:
        return _unique(x, dim, dim is not None or return_inverse, dim is not None or return_counts, False)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int | None, return_inverse: bool, return_counts: bool) -> Values:
        return _decomposed(x, dim, dim is not None or return_inverse, dim is not None or return_counts, False)
