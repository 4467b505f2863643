"""Elements in order. NaN counts as the largest."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.numerics import widened
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Pair = tuple[Array, Array]


def order_along(x: Array, dim: int, descending: bool) -> Array:
    """The places of the elements in order along `dim`; equal ones keep theirs."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # The order of the reversed tensor, reversed, keeps equal elements in place.
    places = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(places, dim)


def sorted_along(x: Array, /, dim: int, descending: bool) -> Pair:
    """The elements in order along `dim`, and their places."""
    if not x.ndim:
        return x, np.zeros((), np.int64)
    places = order_along(widened(x), dim, descending).astype(np.int64)
    return np.take_along_axis(x, places, dim), places


def sorted_types(x: Tensor, /, dim: int) -> tuple[Tensor, Tensor]:
    """The types of the elements in order and of their places. Raises IndexError."""
    normalize_dim(dim, len(shape_of(x)))
    return tensor(element_of(x), shape_of(x)), tensor(i64, shape_of(x))


@aten("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", core=True)
class SortOp(SchemaOp):
    """The elements in order along `dim`, and their places."""

    infer = staticmethod(sorted_types)
    numpy = staticmethod(sorted_along)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, descending: bool) -> Sequence[SSAValue]:
        shape = shape_of(x)
        count = shape[normalize_dim(dim, len(shape))] if shape else 1
        if count == DYNAMIC_INDEX:
            raise ValueError(f"the number of entries of dimension {dim} must be known")
        return aten.topk.results(x, count, dim, descending)


@aten("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
class SortStableOp(SchemaOp):
    """The elements in order along `dim`, equal ones as they were, and their places."""

    infer = staticmethod(sorted_types)
    numpy = staticmethod(sorted_along)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, descending: bool) -> Sequence[SSAValue]:
        return aten.sort.results(x, dim, descending)


@aten("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", core=True)
class TopkOp(SchemaOp):
    """The k largest or smallest elements along `dim`, in order, and their places."""

    @staticmethod
    def infer(x: Tensor, /, k: int, dim: int) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape))
        extent = shape[dim] if shape else 1
        if k < 0 or (extent != DYNAMIC_INDEX and k > extent):
            raise ValueError(f"k = {k} is out of range for dimension {dim} of size {extent}")
        result = (*shape[:dim], k, *shape[dim + 1 :]) if shape else ()
        return tensor(element_of(x), result), tensor(i64, result)

    @staticmethod
    def numpy(x: Array, /, k: int, dim: int, largest: bool) -> Pair:
        values, indices = sorted_along(x, dim, largest)
        if not x.ndim:
            return values, indices
        return np.take(values, range(k), dim), np.take(indices, range(k), dim)


@aten("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
@aten("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
class ArgsortOp(SchemaOp):
    """The places of the elements in order along `dim`; equal ones keep theirs."""

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
    """The elements in order along dimension 0."""

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
    """The k-th smallest element along `dim`, counted from 1, and its place."""

    @staticmethod
    def infer(x: Tensor, /, k: int, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        dim = normalize_dim(dim, len(shape))
        extent = shape[dim] if shape else 1
        if k < 1 or (extent != DYNAMIC_INDEX and k > extent):
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
        parts = aten.topk.results(x, k, dim, False)
        if keepdim:
            values, indices = (aten.slice.Tensor(part, dim, k - 1, k) for part in parts)
        else:
            values, indices = (aten.select.int(part, dim, k - 1) for part in parts)
        return values, indices
