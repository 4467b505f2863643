"""Operators that put tensors, or copies of one, beside each other, or move their entries around."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from flambeau.dialects.aten.numerics import element_of_array
from flambeau.dialects.aten.shape import Atleast3dOp, expand, permute, swapped, view
from flambeau.dialects.aten.view import SliceTensorOp, UnsqueezeOp, normalize_dims, selected_index
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, normalize_dim, numpy_dtype, promote, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, aten
from flambeau.support.lazy import Array, np


def _legacy_empty(shape: Sequence[int]) -> bool:
    """A 1-d tensor without elements, which `cat` leaves out whatever the rank of the others."""
    return tuple(shape) == (0,)


def _promoted(elements: Sequence[ElementType]) -> ElementType:
    """The element type of all parts together: PyTorch promotes them as tensors of one kind."""
    result = elements[0]
    for element in elements[1:]:
        result = promote(result, element)
    return result


def concatenated_shape(shapes: Sequence[tuple[int, ...]], dim: int) -> tuple[int, ...]:
    """The shape of parts beside each other along `dim`. Raises ValueError, IndexError."""
    if not shapes:
        raise ValueError("needs at least one tensor")
    parts = [shape for shape in shapes if not _legacy_empty(shape)] or list(shapes)
    first = parts[0]
    if not first:
        raise ValueError("0-d tensors have no dimension to concatenate")
    dim = normalize_dim(dim, len(first))
    for shape in parts:
        same = len(shape) == len(first) and all(
            a == b or DYNAMIC_INDEX in (a, b) for axis, (a, b) in enumerate(zip(first, shape, strict=True)) if axis != dim
        )
        if not same:
            raise ValueError(f"shapes {list(first)} and {list(shape)} differ outside dimension {dim}")
    extents = [shape[dim] for shape in parts]
    return (*first[:dim], DYNAMIC_INDEX if DYNAMIC_INDEX in extents else sum(extents), *first[dim + 1 :])


@aten("cat(Tensor[] tensors, int dim=0) -> Tensor", core=True)
class CatOp(SchemaOp):
    """Tensors beside each other along `dim`, in their common type."""

    @staticmethod
    def infer(tensors: list[Tensor], dim: int) -> Tensor:
        shape = concatenated_shape([shape_of(x) for x in tensors], dim)
        return tensor(_promoted([element_of(x) for x in tensors]), shape)

    @staticmethod
    def numpy(tensors: list[Array], dim: int) -> Array:
        dtype = numpy_dtype(_promoted([element_of_array(x) for x in tensors]))
        parts = [x for x in tensors if not _legacy_empty(x.shape)] or tensors
        return np.concatenate([x.astype(dtype, copy=False) for x in parts], axis=dim)


class SameAsCatOp(SchemaOp):
    """Other spellings of `cat`."""

    infer = staticmethod(CatOp.infer)
    numpy = staticmethod(CatOp.numpy)

    @staticmethod
    def decompose(tensors: list[SSAValue], dim: int) -> SSAValue:
        return CatOp(tensors, dim).result


@aten("concat(Tensor[] tensors, int dim=0) -> Tensor")
class ConcatOp(SameAsCatOp):
    """As `cat`."""


@aten("concatenate(Tensor[] tensors, int dim=0) -> Tensor")
class ConcatenateOp(SameAsCatOp):
    """As `cat`."""


@aten("stack(Tensor[] tensors, int dim=0) -> Tensor", keep=True)
class StackOp(SchemaOp):
    """Tensors of one shape along a new dimension `dim`."""

    @staticmethod
    def infer(tensors: list[Tensor], dim: int) -> Tensor:
        if not tensors:
            raise ValueError("needs at least one tensor")
        shape = shape_of(tensors[0])
        for other in tensors:
            if shape_of(other) != shape:
                raise ValueError(f"shapes {list(shape)} and {list(shape_of(other))} differ")
        dim = normalize_dim(dim, len(shape) + 1)
        return tensor(_promoted([element_of(x) for x in tensors]), (*shape[:dim], len(tensors), *shape[dim:]))

    @staticmethod
    def numpy(tensors: list[Array], dim: int) -> Array:
        return CatOp.numpy([np.expand_dims(x, normalize_dim(dim, x.ndim + 1)) for x in tensors], normalize_dim(dim, tensors[0].ndim + 1))

    @staticmethod
    def decompose(tensors: list[SSAValue], dim: int) -> SSAValue:
        dim = normalize_dim(dim, len(shape_of(tensors[0])) + 1)
        return CatOp([UnsqueezeOp(x, dim).result for x in tensors], dim).result


class StackFamilyOp(SchemaOp):
    """`cat` of parts that first get a minimal rank."""

    @staticmethod
    def part(*args: Any, **kwargs: Any) -> tuple[int, ...]:
        """The shape under which a part of a given shape takes place."""
        raise NotImplementedError

    @staticmethod
    def axis(rank: int) -> int:
        """The dimension to concatenate, for parts of this rank."""
        raise NotImplementedError

    @classmethod
    def infer(cls, tensors: list[Tensor]) -> Tensor:
        parts = [tensor(element_of(x), cls.part(shape_of(x))) for x in tensors]
        return CatOp.infer(parts, cls.axis(len(shape_of(parts[0]))) if parts else 0)

    @classmethod
    def numpy(cls, tensors: list[Array]) -> Array:
        parts = [x.reshape(cls.part(x.shape)) for x in tensors]
        return CatOp.numpy(parts, cls.axis(parts[0].ndim))

    @classmethod
    def decompose(cls, tensors: list[SSAValue]) -> SSAValue:
        parts = [view(x, cls.part(shape_of(x))) for x in tensors]
        return CatOp(parts, cls.axis(len(shape_of(parts[0])))).result


@aten("hstack(Tensor[] tensors) -> Tensor")
class HstackOp(StackFamilyOp):
    """Along dimension 1, or 0 for 1-d tensors."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """At least one dimension."""
        return shape or (1,)

    @staticmethod
    def axis(rank: int) -> int:
        """The second dimension where there is one."""
        return 0 if rank == 1 else 1


@aten("vstack(Tensor[] tensors) -> Tensor")
class VstackOp(StackFamilyOp):
    """Along dimension 0, 1-d tensors as rows."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """At least two dimensions, new ones in front."""
        return (1,) * (2 - len(shape)) + shape

    @staticmethod
    def axis(rank: int) -> int:
        """The first dimension."""
        return 0


@aten("dstack(Tensor[] tensors) -> Tensor")
class DstackOp(StackFamilyOp):
    """Along dimension 2, with at least three dimensions."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """At least three dimensions."""
        return Atleast3dOp.target(shape)

    @staticmethod
    def axis(rank: int) -> int:
        """The third dimension."""
        return 2


@aten("column_stack(Tensor[] tensors) -> Tensor")
class ColumnStackOp(StackFamilyOp):
    """Along dimension 1, 1-d tensors as columns."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """At least two dimensions, new ones last."""
        return shape if len(shape) > 1 else (*(shape or (1,)), 1)

    @staticmethod
    def axis(rank: int) -> int:
        """The second dimension."""
        return 1


def repeated(shape: Sequence[int], repeats: Sequence[int]) -> tuple[int, ...]:
    """The shape after `repeat`. Raises ValueError."""
    added = len(repeats) - len(shape)
    if added < 0:
        raise ValueError(f"{len(repeats)} repeats are fewer than the {len(shape)} dimensions")
    if any(count < 0 for count in repeats):
        raise ValueError(f"repeats {list(repeats)} must not be negative")
    padded = (1,) * added + tuple(shape)
    return tuple(DYNAMIC_INDEX if extent == DYNAMIC_INDEX else extent * count for extent, count in zip(padded, repeats, strict=True))


@aten("repeat(Tensor self, SymInt[] repeats) -> Tensor", core=True)
class RepeatOp(SchemaOp):
    """Copies of the tensor beside each other, repeats[i] along dimension i; new dimensions come in front."""

    @staticmethod
    def infer(x: Tensor, repeats: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), repeated(shape_of(x), repeats))

    @staticmethod
    def numpy(x: Array, repeats: tuple[int, ...]) -> Array:
        repeated(x.shape, repeats)
        return np.tile(x, repeats)


@aten("tile(Tensor self, SymInt[] dims) -> Tensor")
class TileOp(SchemaOp):
    """As `repeat`; missing counts in front are 1."""

    @staticmethod
    def infer(x: Tensor, dims: tuple[int, ...]) -> Tensor:
        return RepeatOp.infer(x, (1,) * (len(shape_of(x)) - len(dims)) + dims)

    @staticmethod
    def numpy(x: Array, dims: tuple[int, ...]) -> Array:
        return RepeatOp.numpy(x, (1,) * (x.ndim - len(dims)) + dims)

    @staticmethod
    def decompose(x: SSAValue, dims: tuple[int, ...]) -> SSAValue:
        return RepeatOp(x, (1,) * (len(shape_of(x)) - len(dims)) + dims).result


@aten("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")
class RepeatInterleaveSelfIntOp(SchemaOp):
    """Each entry of dimension `dim` (of the flat tensor without one) `repeats` times in a row."""

    @staticmethod
    def plan(shape: tuple[int, ...], repeats: int, dim: int | None) -> tuple[tuple[int, ...], int]:
        """The shape to work on and its dimension. Raises ValueError."""
        if repeats < 0:
            raise ValueError(f"repeats must not be negative, got {repeats}")
        if dim is None:
            return (math.prod(shape),), 0
        return shape or (1,), normalize_dim(dim, len(shape))

    @staticmethod
    def infer(x: Tensor, repeats: int, dim: int | None, output_size: int | None) -> Tensor:
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), repeats, dim)
        return tensor(element_of(x), (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))

    @staticmethod
    def numpy(x: Array, repeats: int, dim: int | None, output_size: int | None) -> Array:
        shape, axis = RepeatInterleaveSelfIntOp.plan(x.shape, repeats, dim)
        return np.repeat(x.reshape(shape), repeats, axis=axis)

    @staticmethod
    def decompose(x: SSAValue, repeats: int, dim: int | None, output_size: int | None) -> SSAValue:
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), repeats, dim)
        apart = UnsqueezeOp(view(x, shape), axis + 1).result
        result = (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :])
        return view(expand(apart, (*shape[: axis + 1], repeats, *shape[axis + 1 :])), result)


@aten("flip(Tensor self, int[] dims) -> Tensor", core=True)
class FlipOp(SchemaOp):
    """The entries of each of `dims` in reverse order."""

    @staticmethod
    def infer(x: Tensor, dims: tuple[int, ...]) -> Tensor:
        normalize_dims(dims, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, dims: tuple[int, ...]) -> Array:
        return np.flip(x, dims) if x.ndim else x


class FlipFamilyOp(SchemaOp):
    """`flip` of one dimension."""

    dimension = 0

    @classmethod
    def infer(cls, x: Tensor) -> Tensor:
        if len(shape_of(x)) <= cls.dimension:
            raise ValueError(f"needs more than {cls.dimension} dimensions")
        return tensor(element_of(x), shape_of(x))

    @classmethod
    def numpy(cls, x: Array) -> Array:
        return np.flip(x, cls.dimension)

    @classmethod
    def decompose(cls, x: SSAValue) -> SSAValue:
        return FlipOp(x, (cls.dimension,)).result


@aten("flipud(Tensor self) -> Tensor")
class FlipudOp(FlipFamilyOp):
    """Dimension 0 in reverse order."""


@aten("fliplr(Tensor self) -> Tensor")
class FliplrOp(FlipFamilyOp):
    """Dimension 1 in reverse order."""

    dimension = 1


@aten("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", keep=True)
class RollOp(SchemaOp):
    """The entries of each of `dims` moved up by its shift, those that leave coming in at the start; without `dims`, of the flat tensor."""

    @staticmethod
    def checked(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> list[tuple[int, int]]:
        """Each dimension with its shift, which lies within it. Raises ValueError."""
        if not dims and len(shifts) == 1:
            return []
        if len(dims) != len(shifts):
            raise ValueError(f"shifts {list(shifts)} and dims {list(dims)} must be as many")
        pairs = [(normalize_dim(dim, len(shape)), shift) for dim, shift in zip(dims, shifts, strict=True)]
        return [(dim, shift % shape[dim]) for dim, shift in pairs if shape and shape[dim] > 0]

    @staticmethod
    def infer(x: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
        RollOp.checked(shape_of(x), shifts, dims)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Array:
        pairs = RollOp.checked(x.shape, shifts, dims)
        if not dims:
            return np.roll(x, shifts[0])
        for dim, shift in pairs:
            x = np.roll(x, shift, dim)
        return x

    @staticmethod
    def decompose(x: SSAValue, shifts: tuple[int, ...], dims: tuple[int, ...]) -> SSAValue:
        shape = shape_of(x)
        if not dims:
            return view(RollOp.decompose(view(x, (math.prod(shape),)), shifts, (0,)), shape)
        for dim, shift in RollOp.checked(shape, shifts, dims):
            if shift:
                cut = shape[dim] - shift
                x = CatOp([SliceTensorOp(x, dim, cut).result, SliceTensorOp(x, dim, 0, cut).result], dim).result
        return x


@aten("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
class Rot90Op(SchemaOp):
    """The plane of two dimensions turned by `k` right angles, from the first towards the second."""

    @staticmethod
    def infer(x: Tensor, k: int, dims: tuple[int, ...]) -> Tensor:
        shape = list(shape_of(x))
        first, second = normalize_dims(dims, len(shape))
        if k % 2:
            shape[first], shape[second] = shape[second], shape[first]
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, k: int, dims: tuple[int, ...]) -> Array:
        return np.rot90(x, k, cast("tuple[int, int]", dims))

    @staticmethod
    def decompose(x: SSAValue, k: int, dims: tuple[int, ...]) -> SSAValue:
        first, second = normalize_dims(dims, len(shape_of(x)))
        turns = k % 4
        if turns == 2:
            return FlipOp(x, (first, second)).result
        order = swapped(len(shape_of(x)), first, second)
        if turns == 1:
            return permute(FlipOp(x, (second,)).result, order)
        return FlipOp(permute(x, order), (second,)).result if turns == 3 else x


@aten("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")
class MeshgridIndexingOp(SchemaOp):
    """The coordinates of a grid: result i is tensor i along dimension i (`ij`), the first two dimensions exchanged for `xy`."""

    @staticmethod
    def places(shapes: Sequence[tuple[int, ...]], indexing: str) -> tuple[list[int], tuple[int, ...]]:
        """The dimension along which each tensor lies, and the shape of the grid. Raises ValueError."""
        if indexing not in ("ij", "xy"):
            raise ValueError(f'indexing must be "ij" or "xy", got "{indexing}"')
        if any(len(shape) > 1 for shape in shapes):
            raise ValueError("tensors must have at most one dimension")
        axes = list(range(len(shapes)))
        if indexing == "xy" and len(axes) > 1:
            axes[:2] = [1, 0]
        grid = [0] * len(shapes)
        for axis, shape in zip(axes, shapes, strict=True):
            grid[axis] = math.prod(shape)
        return axes, tuple(grid)

    @staticmethod
    def infer(tensors: list[Tensor], indexing: str) -> list[Tensor]:
        _, grid = MeshgridIndexingOp.places([shape_of(x) for x in tensors], indexing)
        return [tensor(element_of(x), grid) for x in tensors]

    @staticmethod
    def numpy(tensors: list[Array], indexing: str) -> list[Array]:
        axes, grid = MeshgridIndexingOp.places([x.shape for x in tensors], indexing)
        return [
            np.broadcast_to(x.reshape([-1 if d == axis else 1 for d in range(len(grid))]), grid)
            for axis, x in zip(axes, tensors, strict=True)
        ]

    @staticmethod
    def decompose(tensors: list[SSAValue], indexing: str) -> list[SSAValue]:
        axes, grid = MeshgridIndexingOp.places([shape_of(x) for x in tensors], indexing)
        return [
            expand(view(x, [grid[axis] if d == axis else 1 for d in range(len(grid))]), grid) for axis, x in zip(axes, tensors, strict=True)
        ]


@aten("meshgrid(Tensor[] tensors) -> Tensor[]")
class MeshgridOp(SchemaOp):
    """As `meshgrid.indexing` with `ij`."""

    @staticmethod
    def infer(tensors: list[Tensor]) -> list[Tensor]:
        return MeshgridIndexingOp.infer(tensors, "ij")

    @staticmethod
    def numpy(tensors: list[Array]) -> list[Array]:
        return MeshgridIndexingOp.numpy(tensors, "ij")

    @staticmethod
    def decompose(tensors: list[SSAValue]) -> list[SSAValue]:
        return MeshgridIndexingOp.decompose(tensors, "ij")


def _inserted(x: Array, source: Array) -> tuple[Array, Array]:
    """A copy of `x` to write to, and `source` in its type."""
    return x.copy(), source.astype(x.dtype, copy=False)


@aten("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", core=True)
class SliceScatterOp(SchemaOp):
    """The tensor with `src` in the place of a slice."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
        place = shape_of(SliceTensorOp.infer(x, dim, start, end, step))
        if DYNAMIC_INDEX not in place and shape_of(src) != place:
            raise ValueError(f"src has shape {list(shape_of(src))}, the slice {list(place)}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, src: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
        result, source = _inserted(x, src)
        SliceTensorOp.numpy(result, dim, start, end, step)[...] = source
        return result


@aten("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", core=True)
class SelectScatterOp(SchemaOp):
    """The tensor with `src` in the place of entry `index` of dimension `dim`."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
        shape = shape_of(x)
        selected_index(shape, dim, index)
        dim = normalize_dim(dim, len(shape))
        place = (*shape[:dim], *shape[dim + 1 :])
        if DYNAMIC_INDEX not in place and shape_of(src) != place:
            raise ValueError(f"src has shape {list(shape_of(src))}, the entry {list(place)}")
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, src: Array, dim: int, index: int) -> Array:
        result, source = _inserted(x, src)
        np.moveaxis(result, dim, 0)[index] = source
        return result
