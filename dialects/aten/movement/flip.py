"""Operators that flip, roll or rotate elements along dimensions."""

from __future__ import annotations

import math
from typing import cast

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.movement.permute import permute, swapped
from flambeau.dialects.aten.movement.shape import normalize_dims, view
from flambeau.dialects.ir.extents import maximum, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("flip(Tensor self, int[] dims) -> Tensor", core=True)
class FlipOp(PartwiseOp):
    """The entries of each of `dims` in reverse order."""

    moves = True

    @staticmethod
    def infer(x: Tensor, /, dims: tuple[int, ...]) -> Tensor:
        normalize_dims(dims, len(shape_of(x)))
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dims: tuple[int, ...]) -> Array:
        return np.flip(x, dims) if x.ndim else x


class FlipFamilyOp(SchemaOp):
    """Flips of one fixed dimension."""

    moves = True
    dimension = 0

    @classmethod
    def infer(cls, x: Tensor, /) -> Tensor:
        if len(shape_of(x)) <= cls.dimension:
            raise ValueError(f"needs more than {cls.dimension} dimensions")
        return tensor(element_of(x), shape_of(x))

    @classmethod
    def numpy(cls, x: Array, /) -> Array:
        return np.flip(x, cls.dimension)

    @classmethod
    def decompose(cls, x: SSAValue, /) -> SSAValue:
        return aten.flip(x, (cls.dimension,))


@aten("flipud(Tensor self) -> Tensor")
class FlipudOp(FlipFamilyOp):
    """Dimension 0 in reverse order."""


@aten("fliplr(Tensor self) -> Tensor")
class FliplrOp(FlipFamilyOp):
    """Dimension 1 in reverse order."""

    dimension = 1


@aten("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", keep=True)
class RollOp(PartwiseOp):
    """The entries of each of `dims` shifted cyclically towards higher indices; without `dims`, shifts the flattened tensor."""

    stores = True

    @staticmethod
    def checked(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> list[tuple[int, int]]:
        """Returns each dimension with its shift, which lies within it. Raises ValueError."""
        if not dims and len(shifts) == 1:
            return []
        if len(dims) != len(shifts):
            raise ValueError(f"shifts {list(shifts)} and dims {list(dims)} must be as many")
        pairs = [(normalize_dim(dim, len(shape)), shift) for dim, shift in zip(dims, shifts, strict=True)]
        return [(dim, shift % maximum(shape[dim], 1)) for dim, shift in pairs if shape and not provably_equal(shape[dim], 0)]

    @staticmethod
    def infer(x: Tensor, /, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
        RollOp.checked(shape_of(x), shifts, dims)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Array:
        pairs = RollOp.checked(x.shape, shifts, dims)
        if not dims:
            return np.roll(x, shifts[0])
        for dim, shift in pairs:
            x = np.roll(x, shift, dim)
        return x

    @staticmethod
    def decompose(x: SSAValue, /, shifts: tuple[int, ...], dims: tuple[int, ...]) -> SSAValue:
        shape = shape_of(x)
        if not dims:
            return view(RollOp.decompose(view(x, (math.prod(shape),)), shifts, (0,)), shape)
        for dim, shift in RollOp.checked(shape, shifts, dims):
            if not provably_equal(shift, 0):
                cut = maximum(shape[dim] - shift, 0)
                x = aten.cat([aten.slice.Tensor(x, dim, cut), aten.slice.Tensor(x, dim, 0, cut)], dim)
        return x


@aten("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
class Rot90Op(SchemaOp):
    """The plane of two dimensions turned by `k` right angles, from the first towards the second."""

    @staticmethod
    def infer(x: Tensor, /, k: int, dims: tuple[int, ...]) -> Tensor:
        shape = list(shape_of(x))
        first, second = normalize_dims(dims, len(shape))
        if k % 2:
            shape[first], shape[second] = shape[second], shape[first]
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, /, k: int, dims: tuple[int, ...]) -> Array:
        return np.rot90(x, k, cast("tuple[int, int]", dims))

    @staticmethod
    def decompose(x: SSAValue, /, k: int, dims: tuple[int, ...]) -> SSAValue:
        first, second = normalize_dims(dims, len(shape_of(x)))
        turns = k % 4
        if turns == 2:
            return aten.flip(x, (first, second))
        order = swapped(len(shape_of(x)), first, second)
        if turns == 1:
            return permute(aten.flip(x, (second,)), order)
        return aten.flip(permute(x, order), (second,)) if turns == 3 else x
