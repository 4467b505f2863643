"""Copies of a tensor, or of its elements, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.shape import expand, view
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def repeated(shape: Sequence[int], repeats: Sequence[int]) -> tuple[int, ...]:
    """The shape after `repeat`. Raises ValueError."""
    added = len(repeats) - len(shape)
    if added < 0:
        raise ValueError(f"{len(repeats)} repeats are fewer than the {len(shape)} dimensions")
    if any(count < 0 for count in repeats):
        raise ValueError(f"repeats {list(repeats)} must not be negative")
    padded = (1,) * added + tuple(shape)
    return tuple(extent * count for extent, count in zip(padded, repeats, strict=True))


@aten("repeat(Tensor self, SymInt[] repeats) -> Tensor", core=True)
class RepeatOp(SchemaOp):
    """Copies of the tensor beside each other, repeats[i] along dimension i; new dimensions come in front."""

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
    """As `repeat`; missing counts in front are 1."""

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
