"""Operators that repeat a tensor or its elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.extents import differ, unknown
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, normalize_dim, same_shape, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def repeated(shape: Sequence[int], repeats: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape after `repeat`. Raises ValueError."""
    added = len(repeats) - len(shape)
    if added < 0:
        raise ValueError(f"{len(repeats)} repeats are fewer than the {len(shape)} dimensions")
    if any(count < 0 for count in repeats):
        raise ValueError(f"repeats {list(repeats)} must not be negative")
    padded = (1,) * added + tuple(shape)
    return tuple(extent * count for extent, count in zip(padded, repeats, strict=True))


@aten("repeat(Tensor self, SymInt[] repeats) -> Tensor", core=True)
class RepeatOp(PartwiseOp):
    """The tensor repeated repeats[i] times along dimension i; surplus counts add leading dimensions."""

    moves = True

    @staticmethod
    def infer(x: Tensor, /, repeats: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), repeated(shape_of(x), repeats))

    @staticmethod
    def numpy(x: Array, /, repeats: tuple[int, ...]) -> Array:
        repeated(x.shape, repeats)
        return np.tile(x, repeats)


@aten("tile(Tensor self, SymInt[] dims) -> Tensor")
class TileOp(SchemaOp):
    """`repeat`, where missing leading counts are 1."""

    stores = True

    @staticmethod
    def infer(x: Tensor, /, dims: tuple[int, ...]) -> Tensor:
        return RepeatOp.infer(x, (1,) * (len(shape_of(x)) - len(dims)) + dims)

    @staticmethod
    def numpy(x: Array, /, dims: tuple[int, ...]) -> Array:
        return RepeatOp.numpy(x, (1,) * (x.ndim - len(dims)) + dims)

    @staticmethod
    def decompose(x: SSAValue, /, dims: tuple[int, ...]) -> SSAValue:
        return aten.repeat(x, (1,) * (len(shape_of(x)) - len(dims)) + dims)


@aten("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")
class RepeatInterleaveSelfIntOp(SchemaOp):
    """Each entry of dimension `dim` repeated `repeats` times in a row; without `dim`, of the flattened tensor."""

    stores = True

    @staticmethod
    def plan(shape: tuple[int, ...], repeats: int, dim: int | None) -> tuple[tuple[int, ...], int]:
        """Returns the shape to work on and its dimension. Raises ValueError."""
        if repeats < 0:
            raise ValueError(f"repeats must not be negative, got {repeats}")
        if dim is None:
            return (math.prod(shape),), 0
        return shape or (1,), normalize_dim(dim, len(shape))

    @staticmethod
    def infer(x: Tensor, /, repeats: int, dim: int | None) -> Tensor:
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), repeats, dim)
        return tensor(element_of(x), (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))

    @staticmethod
    def numpy(x: Array, /, repeats: int, dim: int | None) -> Array:
        shape, axis = RepeatInterleaveSelfIntOp.plan(x.shape, repeats, dim)
        return np.repeat(x.reshape(shape), repeats, axis=axis)

    @staticmethod
    def decompose(x: SSAValue, /, repeats: int, dim: int | None) -> SSAValue:
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), repeats, dim)
        apart = aten.unsqueeze(view(x, shape), axis + 1)
        result = (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :])
        return view(expand(apart, (*shape[: axis + 1], repeats, *shape[axis + 1 :])), result)


def require_counts(repeats: Tensor) -> None:
    """Raises TypeError, ValueError unless a tensor says how often to repeat each of several entries."""
    if element_of(repeats) not in (i32, i64):
        raise TypeError(f"repeats must be of int32 or int64, got {dtype_of(element_of(repeats)).torch}")
    if len(shape_of(repeats)) != 1:
        raise ValueError(f"repeats must have one dimension, got {list(shape_of(repeats))}")


@aten("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", keep=True)
class RepeatInterleaveOp(SchemaOp):
    """Each index i repeated repeats[i] times in a row; the size depends on the content, and is `output_size` if that is given."""

    @staticmethod
    def infer(repeats: Tensor, output_size: int | None) -> Tensor:
        require_counts(repeats)
        return tensor(element_of(repeats), (unknown() if output_size is None else output_size,))

    @staticmethod
    def numpy(repeats: Array, output_size: int | None) -> Array:
        if (repeats < 0).any():
            raise ValueError(f"repeats must not be negative, got {repeats.min()}")
        if output_size not in (None, int(repeats.sum())):
            raise ValueError(f"output_size must be the sum of the repeats, {repeats.sum()}, got {output_size}")
        return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


@aten("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")
class RepeatInterleaveSelfTensorOp(SchemaOp):
    """Each entry i of dimension `dim` (or of the flattened tensor) repeated repeats[i] times in a row; a single count applies to all."""

    @staticmethod
    def infer(x: Tensor, /, repeats: Tensor, dim: int | None, output_size: int | None) -> Tensor:
        if dim is not None and not shape_of(x):
            raise IndexError(f"a 0-d tensor has no dimension {dim}")
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), 1, dim)
        counts = shape_of(repeats) or (1,)
        require_counts(tensor(element_of(repeats), counts))
        if differ(counts[0], 1) and differ(counts[0], shape[axis]):
            raise ValueError(f"{counts[0]} repeats do not fit the {shape[axis]} entries of dimension {axis}")
        return tensor(element_of(x), (*shape[:axis], unknown() if output_size is None else output_size, *shape[axis + 1 :]))

    @staticmethod
    def numpy(x: Array, /, repeats: Array, dim: int | None, output_size: int | None) -> Array:
        shape, axis = RepeatInterleaveSelfIntOp.plan(x.shape, 1, dim)
        counts = np.broadcast_to(repeats.reshape(-1), (shape[axis],))
        return np.take(x.reshape(shape), RepeatInterleaveOp.numpy(counts, output_size), axis)

    @staticmethod
    def decompose(x: SSAValue, /, repeats: SSAValue, dim: int | None, output_size: int | None) -> SSAValue:
        shape, axis = RepeatInterleaveSelfIntOp.plan(shape_of(x), 1, dim)
        counts = view(repeats, shape_of(repeats) or (1,))
        if not same_shape(shape_of(counts), shape[axis : axis + 1]):
            counts = expand(counts, shape[axis : axis + 1])
        return aten.index_select(view(x, shape), axis, aten.repeat_interleave.Tensor(counts, output_size=output_size))
