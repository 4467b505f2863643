"""Operators that concatenate tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import element_of_array
from flambeau.dialects.aten.movement.shape import Atleast3dOp, expand, view
from flambeau.dialects.ir.extents import differ, provably_equal
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, normalize_dim, numpy_dtype, promote, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def _legacy_empty(shape: Sequence[int]) -> bool:
    """Returns whether a shape is [0], because `cat` ignores such tensors for any rank of the other tensors."""
    return len(shape) == 1 and provably_equal(shape[0], 0)


def _promoted(elements: Sequence[ElementType]) -> ElementType:
    """Returns the element type of all parts together: PyTorch promotes them as tensors of one kind."""
    result = elements[0]
    for element in elements[1:]:
        result = promote(result, element)
    return result


def concatenated_shape(shapes: Sequence[tuple[int, ...]], dim: int) -> tuple[int, ...]:
    """Returns the shape of parts beside each other along `dim`. Raises ValueError, IndexError."""
    if not shapes:
        raise ValueError("needs at least one tensor")
    parts = [shape for shape in shapes if not _legacy_empty(shape)] or list(shapes)
    first = parts[0]
    if not first:
        raise ValueError("0-d tensors have no dimension to concatenate")
    dim = normalize_dim(dim, len(first))
    for shape in parts:
        if len(shape) != len(first) or any(differ(a, b) for axis, (a, b) in enumerate(zip(first, shape, strict=True)) if axis != dim):
            raise ValueError(f"shapes {list(first)} and {list(shape)} differ outside dimension {dim}")
    extents = [shape[dim] for shape in parts]
    return (*first[:dim], sum(extents), *first[dim + 1 :])


@aten("cat(Tensor[] tensors, int dim=0) -> Tensor", core=True)
class CatOp(PartwiseOp):
    """The concatenation of tensors along `dim`, in their common type."""

    moves = True
    joins = "along"
    computes_in = "result"

    @staticmethod
    def infer(tensors: list[Tensor], dim: int) -> Tensor:
        shape = concatenated_shape([shape_of(x) for x in tensors], dim)
        return tensor(_promoted([element_of(x) for x in tensors]), shape)

    @staticmethod
    def numpy(tensors: list[Array], dim: int) -> Array:
        dtype = numpy_dtype(_promoted([element_of_array(x) for x in tensors]))
        parts = [x for x in tensors if not _legacy_empty(x.shape)] or tensors
        return np.concatenate([x.astype(dtype, copy=False) for x in parts], axis=dim)


@aten("stack(Tensor[] tensors, int dim=0) -> Tensor", keep=True)
class StackOp(PartwiseOp):
    """Tensors of the same shape, stacked along a new dimension `dim`."""

    moves = True
    joins = "across"
    computes_in = "result"

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
        return aten.cat([aten.unsqueeze(x, dim) for x in tensors], dim)


class StackFamilyOp(SchemaOp):
    """Concatenations of tensors that first get at least a certain rank."""

    @staticmethod
    def part(*args: Any, **kwargs: Any) -> tuple[int, ...]:
        """Returns the shape under which a part of a given shape takes place."""
        raise NotImplementedError

    @staticmethod
    def axis(rank: int) -> int:
        """Returns the dimension to concatenate, for parts of this rank."""
        raise NotImplementedError

    @classmethod
    def infer(cls, tensors: list[Tensor], /) -> Tensor:
        parts = [tensor(element_of(x), cls.part(shape_of(x))) for x in tensors]
        return CatOp.infer(parts, cls.axis(len(shape_of(parts[0]))) if parts else 0)

    @classmethod
    def numpy(cls, tensors: list[Array], /) -> Array:
        parts = [x.reshape(cls.part(x.shape)) for x in tensors]
        return CatOp.numpy(parts, cls.axis(parts[0].ndim))

    @classmethod
    def decompose(cls, tensors: list[SSAValue], /) -> SSAValue:
        parts = [view(x, cls.part(shape_of(x))) for x in tensors]
        return aten.cat(parts, cls.axis(len(shape_of(parts[0]))))


@aten("hstack(Tensor[] tensors) -> Tensor")
class HstackOp(StackFamilyOp):
    """The concatenation along dimension 1, or dimension 0 for 1-d tensors."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns at least one dimension."""
        return shape or (1,)

    @staticmethod
    def axis(rank: int) -> int:
        """Returns the second dimension where there is one."""
        return 0 if rank == 1 else 1


@aten("vstack(Tensor[] tensors) -> Tensor")
class VstackOp(StackFamilyOp):
    """The concatenation along dimension 0, with 1-d tensors as rows."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the tensor with at least two dimensions; new dimensions are leading."""
        return (1,) * (2 - len(shape)) + shape

    @staticmethod
    def axis(rank: int) -> int:
        """Returns the first dimension."""
        return 0


@aten("dstack(Tensor[] tensors) -> Tensor")
class DstackOp(StackFamilyOp):
    """The concatenation along dimension 2 of tensors that first get at least three dimensions."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns at least three dimensions."""
        return Atleast3dOp.target(shape)

    @staticmethod
    def axis(rank: int) -> int:
        """Returns the third dimension."""
        return 2


@aten("column_stack(Tensor[] tensors) -> Tensor")
class ColumnStackOp(StackFamilyOp):
    """The concatenation along dimension 1, with 1-d tensors as columns."""

    @staticmethod
    def part(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the tensor with at least two dimensions; new dimensions are last."""
        return shape if len(shape) > 1 else (*(shape or (1,)), 1)

    @staticmethod
    def axis(rank: int) -> int:
        """Returns the second dimension."""
        return 1


@aten("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")
class MeshgridIndexingOp(SchemaOp):
    """The coordinates of a grid: result i is tensor i along dimension i (`ij`), the first two dimensions exchanged for `xy`."""

    @staticmethod
    def places(shapes: Sequence[tuple[int, ...]], indexing: str) -> tuple[list[int], tuple[int, ...]]:
        """Returns the dimension along which each tensor lies, and the shape of the grid. Raises ValueError."""
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
        require_same_element(*tensors)
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
    """`meshgrid.indexing` with the indexing `ij`."""

    @staticmethod
    def infer(tensors: list[Tensor]) -> list[Tensor]:
        return MeshgridIndexingOp.infer(tensors, "ij")

    @staticmethod
    def numpy(tensors: list[Array]) -> list[Array]:
        return MeshgridIndexingOp.numpy(tensors, "ij")

    @staticmethod
    def decompose(tensors: list[SSAValue]) -> list[SSAValue]:
        return MeshgridIndexingOp.decompose(tensors, "ij")
