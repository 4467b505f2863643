"""Operators that put or combine elements at the positions in an index tensor of full rank."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp, RealNumberOp
from flambeau.dialects.aten.indexing.embedding import require_in_range
from flambeau.dialects.aten.indexing.gather import check_gathered, places_along
from flambeau.dialects.aten.library.numerics import element_of_array, widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.aten.reductions.scan import strides
from flambeau.dialects.aten.reductions.sort import shifted
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_empty, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.families import require_category, require_number, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def check_scattered(x: Tensor, dim: int, index: Tensor, source: Tensor | None) -> None:
    """Raises ValueError or TypeError when the index tensor or the source does not fit."""
    check_gathered(shape_of(x), dim, index)
    if source is None:
        return
    if element_of(source) != element_of(x):
        raise TypeError(f"src must have the element type {dtype_of(element_of(x)).torch} of the tensor")
    own, other = shape_of(source) or (1,), shape_of(index) or (1,)
    if len(own) != len(other) or any(a > b >= 0 for a, b in zip(other, own, strict=True)):
        raise ValueError(f"index {list(other)} is larger than src {list(own)}")


def targets(x: Array, dim: int, index: Array) -> tuple[Array, tuple[Array, ...]]:
    """Returns a copy of the tensor to write to, with at least one dimension, and the coordinates to write."""
    result = x.reshape(x.shape or (1,)).copy()
    places = index.reshape(index.shape or (1,))
    axis = normalize_dim(dim, result.ndim)
    require_in_range(places, result.shape[axis])
    return result, places_along(places, axis)


def sources(source: Array, index: Array) -> Array:
    """Returns the part of the source that belongs to the index tensor."""
    own = source.reshape(source.shape or (1,))
    return own[tuple(slice(extent) for extent in index.shape or (1,))]


def neutral(reduce: str, element: Attribute) -> float:
    """Returns the number that changes no result of a reduction."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    dtype = dtype_of(element)
    bits = 8 * dtype.size if dtype.category else 1
    is_unsigned = dtype.name.startswith("u") or not dtype.category
    lowest, highest = (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if dtype.category == 2:
        lowest, highest = -math.inf, math.inf
    return lowest if reduce == "amax" else highest


def _combined(x: SSAValue, dim: int, index: SSAValue, source: SSAValue, reduce: str) -> SSAValue:
    """Returns the tensor whose elements along `dim` are combined with those of the source that have their index.

    The source is put in the order of the indices. What it has of an index is a run then, and the last of the run gets all of it in steps of
    powers of two. So no two elements are put at one place, whose order a backend may choose.
    """
    combine = {"prod": aten.mul.Tensor, "amax": aten.maximum, "amin": aten.minimum}[reduce]
    x, index, source = (aten.transpose.int(part, dim, -1) for part in (x, index, source))
    count, places = shape_of(index)[-1], shape_of(x)[-1]
    index, order = aten.topk.results(index, count, -1, False)
    total = aten.gather(source, -1, order)
    for stride in strides(count):
        is_same = aten.eq.Tensor(index, shifted(index, stride, -1))
        total = aten.where.self(is_same, combine(shifted(total, stride), total), total)
    total = combine(aten.gather(x, -1, index), total)
    # The others go to a place behind the last one.
    behind = aten.slice.Tensor(aten.constant_pad_nd(index, (0, 1), -1), -1, 1)
    ends = aten.where.self(aten.ne.Tensor(index, behind), index, as_operand(places, element_of(index)))
    result = aten.scatter.src(aten.constant_pad_nd(x, (0, 1), 0), -1, ends, total)
    return aten.transpose.int(aten.slice.Tensor(result, -1, 0, -1), dim, -1)


class ScatterOp(SchemaOp):
    """Operators that put elements at positions of another tensor, or combine them with the elements there."""

    @staticmethod
    def infer(x: Tensor, dim: int, index: Tensor, source: Tensor | float, /) -> Tensor:
        if isinstance(source, bool | int | float):
            require_number(source, element_of(x))
        check_scattered(x, dim, index, None if isinstance(source, bool | int | float) else source)
        return tensor(element_of(x), shape_of(x))


@aten("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", core=True)
class ScatterSrcOp(ScatterOp, PartwiseOp):
    """The tensor with element [i, j, …] of `src` put at [i, j, …] with coordinate `dim` replaced by index[i, j, …]."""

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, src: Array) -> Array:
        result, places = targets(x, dim, index)
        result[places] = sources(src, index)
        return result.reshape(x.shape)


@aten("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", core=True)
class ScatterValueOp(ScatterOp, RealNumberOp):
    """The tensor with a number put at the positions that the index tensor gives along `dim`."""

    @staticmethod
    def infer(x: Tensor, dim: int, index: Tensor, source: Tensor | float, /) -> Tensor:
        if isinstance(source, bool | int | float):
            require_number(source, element_of(x))
        return ScatterOp.infer(x, dim, index, source)

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, value: float) -> Array:
        result, places = targets(x, dim, index)
        result[places] = np.asarray(value).astype(x.dtype)
        return result.reshape(x.shape)


@aten("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", core=True)
class ScatterAddOp(ScatterOp, PartwiseOp):
    """The tensor with the elements of `src` added at the positions that the index tensor gives along `dim`."""

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, src: Array) -> Array:
        return ScatterReduceTwoOp.numpy(x, dim, index, src, "sum", True)


@aten("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", core=True)
class ScatterReduceTwoOp(SchemaOp):
    """The tensor with the sum, prod, mean, amax or amin of the elements of `src` that the index tensor brings to each place.

    `include_self` counts the element that was there.
    """

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
        if reduce not in REDUCTIONS:
            raise ValueError(f'reduce must be one of {", ".join(REDUCTIONS)}, got "{reduce}"')
        if reduce == "mean":
            require_category("a mean", x, at_least=1)
        check_scattered(x, dim, index, src)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> Array:
        result, places = targets(widened(x), dim, index)
        values = widened(sources(src, index))
        counts = np.full(result.shape, int(include_self), np.int64)
        np.add.at(counts, places, 1)
        if not include_self:
            result[places] = neutral(reduce, element_of_array(result))
        combine = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        combine.at(result, places, values)
        if reduce == "mean":
            divisor = np.maximum(counts, 1)
            result = result / divisor if result.dtype.kind == "f" else result // divisor
        return result.reshape(x.shape).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, src: SSAValue, reduce: str, include_self: bool) -> SSAValue:
        shape, element = shape_of(x), element_of(x)
        if is_empty(shape_of(index)):
            return aten.clone(x)
        line, places, source = (part if shape_of(part) else view(part, (1,)) for part in (x, index, src))
        wide = ui8 if element == i1 else wide_element(element)
        line, source = to_element(line, wide), to_element(source, wide)
        if element == i1:
            reduce = {"sum": "amax", "prod": "amin"}.get(reduce, reduce)  # a count may be more than a byte has
        for axis, extent in enumerate(shape_of(places)):
            if differ(shape_of(source)[axis], extent):
                source = aten.slice.Tensor(source, axis, 0, extent)
        if not include_self:
            line = aten.scatter.value(line, dim, places, neutral(reduce, wide))
        if reduce in ("sum", "mean"):
            line = aten.scatter_add(line, dim, places, source)
        else:
            line = _combined(line, dim, places, source, reduce)
        if reduce == "mean":
            own, each = aten.full(shape_of(line), int(include_self), i64), aten.full(shape_of(places), 1, i64)
            counts = to_element(aten.clamp(aten.scatter_add(own, dim, places, each), 1), wide)
            is_float = dtype_of(element).category == 2
            line = aten.div.Tensor(line, counts) if is_float else aten.div.Tensor_mode(line, counts, rounding_mode="floor")
        return view(to_element(line, element), shape)


SPELLINGS = {"add": "sum", "multiply": "prod"}
"""The reductions of `scatter`, in the words of `scatter_reduce`."""


def reduction_of(reduce: str) -> str:
    """Returns the word of `scatter_reduce`. Raises ValueError."""
    if reduce not in SPELLINGS:
        raise ValueError(f'reduce must be "add" or "multiply", got "{reduce}"')
    return SPELLINGS[reduce]


@aten("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor")
class ScatterReduceOp(SchemaOp):
    """The tensor with its elements at the positions that the index tensor gives along `dim` increased or multiplied by those of `src`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
        return ScatterReduceTwoOp.infer(x, dim, index, src, reduction_of(reduce))

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, src: Array, reduce: str) -> Array:
        return ScatterReduceTwoOp.numpy(x, dim, index, src, reduction_of(reduce), True)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, src: SSAValue, reduce: str) -> SSAValue:
        if reduction_of(reduce) == "sum":
            return aten.scatter_add(x, dim, index, src)
        return aten.scatter_reduce.two(x, dim, index, src, "prod")


@aten("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor")
class ScatterValueReduceOp(SchemaOp):
    """The tensor with its elements at the positions that the index tensor gives along `dim` increased or multiplied by a number."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, index: Tensor, reduce: str) -> Tensor:
        return ScatterReduceOp.infer(x, dim, index, tensor(element_of(x), shape_of(index)), reduce)

    @staticmethod
    def numpy(x: Array, /, dim: int, index: Array, value: float, reduce: str) -> Array:
        return ScatterReduceOp.numpy(x, dim, index, np.full(index.shape, value, x.dtype), reduce)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, index: SSAValue, value: float, reduce: str) -> SSAValue:
        source = aten.full(shape_of(index), value, dtype=element_of(x))
        return aten.scatter.reduce(x, dim, index, source, reduce=reduce)
