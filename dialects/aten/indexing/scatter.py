"""Operators that put or combine elements at the positions in an index tensor of full rank."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp, RealNumberOp
from flambeau.dialects.aten.indexing.embedding import require_in_range
from flambeau.dialects.aten.indexing.gather import check_gathered, places_along
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import require_category, require_number
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
            if result.dtype.kind == "f":
                lowest, highest = -np.inf, np.inf
            else:
                lowest, highest = (False, True) if result.dtype == np.bool_ else (np.iinfo(result.dtype).min, np.iinfo(result.dtype).max)
            result[places] = {"sum": 0, "mean": 0, "prod": 1, "amax": lowest, "amin": highest}[reduce]
        combine = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        combine.at(result, places, values)
        if reduce == "mean":
            divisor = np.maximum(counts, 1)
            result = result / divisor if result.dtype.kind == "f" else result // divisor
        return result.reshape(x.shape).astype(x.dtype)


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
