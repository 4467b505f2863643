"""Operators that are a view, a permutation or an expansion under other names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from flambeau.dialects.aten.view import (
    ExpandOp,
    PermuteOp,
    SliceTensorOp,
    ViewOp,
    checked_permutation,
    expanded_shape,
    normalize_dims,
    resolve_size,
    squeezed_shape,
)
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, aten
from flambeau.support.lazy import Array, np


def sizes(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as the argument of an operator: -1 for a dynamic dimension."""
    return tuple(-1 if extent == DYNAMIC_INDEX else extent for extent in shape)


def view(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`x` under another shape, built detached; `x` itself when it has that shape."""
    return x if shape_of(x) == tuple(shape) else ViewOp(x, sizes(shape)).result


def permute(x: SSAValue, order: Sequence[int]) -> SSAValue:
    """`x` with its dimensions in another order, built detached; `x` itself when the order stays."""
    return x if list(order) == list(range(len(order))) else PermuteOp(x, tuple(order)).result


def expand(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`x` expanded, built detached; `x` itself when it has that shape. Raises ValueError for an extent that only the run knows."""
    old = (*(1 for _ in range(len(shape) - len(shape_of(x)))), *shape_of(x))
    if any(before == 1 and after == DYNAMIC_INDEX for before, after in zip(old, shape, strict=False)):
        raise ValueError(f"{list(shape_of(x))} is to be expanded to {list(shape)}, and how far only the run knows")
    return x if shape_of(x) == tuple(shape) else ExpandOp(x, sizes(shape)).result


class ViewFamilyOp(SchemaOp):
    """Operators that give the elements, in order, another shape."""

    @staticmethod
    def target(*args: Any, **kwargs: Any) -> tuple[int, ...]:
        """The result shape, from the operand's shape and the other arguments."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, *args: Any) -> Tensor:
        return tensor(element_of(x), cls.target(shape_of(x), *args))

    @classmethod
    def numpy(cls, x: Array, *args: Any) -> Array:
        return x.reshape(cls.target(x.shape, *args))

    @classmethod
    def decompose(cls, x: SSAValue, *args: Any) -> SSAValue:
        return view(x, cls.target(shape_of(x), *args))


@aten("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
class ReshapeOp(ViewFamilyOp):
    """The elements, in order, under another shape; one -1 is inferred."""

    target = staticmethod(resolve_size)


@aten("_unsafe_view(Tensor self, SymInt[] size) -> Tensor")
class UnsafeViewOp(ViewFamilyOp):
    """As `view`, of a tensor that nobody else uses."""

    target = staticmethod(resolve_size)


@aten("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
class FlattenUsingIntsOp(ViewFamilyOp):
    """Dimensions start_dim to end_dim as one."""

    @staticmethod
    def target(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...]:
        """The dimensions multiplied; a 0-d tensor becomes 1-d."""
        if not shape:
            return (1,)
        start, end = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
        if start > end:
            raise ValueError(f"start_dim {start_dim} comes after end_dim {end_dim}")
        flat = shape[start : end + 1]
        return (*shape[:start], DYNAMIC_INDEX if DYNAMIC_INDEX in flat else math.prod(flat), *shape[end + 1 :])


@aten("ravel(Tensor(a) self) -> Tensor(a)")
class RavelOp(ViewFamilyOp):
    """All elements in one dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """One dimension."""
        return FlattenUsingIntsOp.target(shape, 0, -1)


@aten("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
class UnflattenIntOp(ViewFamilyOp):
    """Dimension `dim` as several; one of `sizes` may be -1."""

    @staticmethod
    def target(shape: tuple[int, ...], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """`sizes` in the place of `dim`."""
        if not shape or not sizes:
            raise ValueError(f"a tensor of shape {list(shape)} cannot be unflattened to sizes {list(sizes)}")
        dim = normalize_dim(dim, len(shape))
        return (*shape[:dim], *resolve_size(shape[dim : dim + 1], sizes), *shape[dim + 1 :])


@aten("squeeze(Tensor(a) self) -> Tensor(a)")
class SqueezeOp(ViewFamilyOp):
    """Without the dimensions of size 1."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """The dimensions that are not 1."""
        return squeezed_shape(shape, range(len(shape)))


@aten("atleast_1d(Tensor self) -> Tensor")
class Atleast1dOp(ViewFamilyOp):
    """With at least one dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """One new dimension for a 0-d tensor."""
        return shape or (1,)


@aten("atleast_2d(Tensor self) -> Tensor")
class Atleast2dOp(ViewFamilyOp):
    """With at least two dimensions; new ones come in front."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """New dimensions in front."""
        return (1,) * (2 - len(shape)) + shape


@aten("atleast_3d(Tensor self) -> Tensor")
class Atleast3dOp(ViewFamilyOp):
    """With at least three dimensions: a vector becomes [1, n, 1], a matrix gets a last dimension."""

    @staticmethod
    def target(shape: tuple[int, ...]) -> tuple[int, ...]:
        """New dimensions around."""
        return (*Atleast2dOp.target(shape), 1) if len(shape) < 3 else shape


class SameShapeAsOp(SchemaOp):
    """A view of the shape of another tensor."""

    @staticmethod
    def infer(x: Tensor, other: Tensor) -> Tensor:
        return tensor(element_of(x), resolve_size(shape_of(x), shape_of(other)))

    @staticmethod
    def numpy(x: Array, other: Array) -> Array:
        return x.reshape(other.shape)

    @staticmethod
    def decompose(x: SSAValue, other: SSAValue) -> SSAValue:
        return view(x, shape_of(other))


@aten("view_as(Tensor(a) self, Tensor other) -> Tensor(a)")
class ViewAsOp(SameShapeAsOp):
    """The elements, in order, under the shape of `other`."""


@aten("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)")
class ReshapeAsOp(SameShapeAsOp):
    """The elements, in order, under the shape of `other`."""


@aten("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
class ExpandAsOp(SchemaOp):
    """Expanded to the shape of `other`."""

    @staticmethod
    def infer(x: Tensor, other: Tensor) -> Tensor:
        return tensor(element_of(x), expanded_shape(shape_of(x), shape_of(other)))

    @staticmethod
    def numpy(x: Array, other: Array) -> Array:
        return np.broadcast_to(x, other.shape)

    @staticmethod
    def decompose(x: SSAValue, other: SSAValue) -> SSAValue:
        return expand(x, shape_of(other))


@aten("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
class BroadcastToOp(SchemaOp):
    """Dimensions of size 1 repeated, and new ones in front; -1 keeps a dimension."""

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...]) -> Tensor:
        return tensor(element_of(x), expanded_shape(shape_of(x), size))

    @staticmethod
    def numpy(x: Array, size: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, expanded_shape(x.shape, size))

    @staticmethod
    def decompose(x: SSAValue, size: tuple[int, ...]) -> SSAValue:
        return expand(x, expanded_shape(shape_of(x), size))


class PermuteFamilyOp(SchemaOp):
    """Operators that put the dimensions in another order."""

    @staticmethod
    def order(*args: Any, **kwargs: Any) -> Sequence[int]:
        """The permutation from the rank and the other arguments, as `permute` takes it."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, *args: Any) -> Tensor:
        shape = shape_of(x)
        return tensor(element_of(x), [shape[dim] for dim in cls.order(len(shape), *args)])

    @classmethod
    def numpy(cls, x: Array, *args: Any) -> Array:
        return x.transpose(cls.order(x.ndim, *args))

    @classmethod
    def decompose(cls, x: SSAValue, *args: Any) -> SSAValue:
        return permute(x, cls.order(len(shape_of(x)), *args))


def swapped(rank: int, dim0: int, dim1: int) -> list[int]:
    """The order with two dimensions exchanged. Raises IndexError."""
    order = list(range(rank))
    first, second = normalize_dim(dim0, rank), normalize_dim(dim1, rank)
    if rank:
        order[first], order[second] = second, first
    return order


@aten("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
class TransposeIntOp(PermuteFamilyOp):
    """Two dimensions exchanged."""

    order = staticmethod(swapped)


@aten("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
class SwapaxesOp(PermuteFamilyOp):
    """Two dimensions exchanged."""

    order = staticmethod(swapped)


@aten("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
class SwapdimsOp(PermuteFamilyOp):
    """Two dimensions exchanged."""

    order = staticmethod(swapped)


@aten("t(Tensor(a) self) -> Tensor(a)")
class TOp(PermuteFamilyOp):
    """The transpose of a matrix; fewer dimensions stay."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """Both dimensions exchanged."""
        if rank > 2:
            raise ValueError(f"t takes at most 2 dimensions, got {rank}")
        return range(rank)[::-1]


@aten("mT(Tensor(a) self) -> Tensor(a)")
class MTOp(PermuteFamilyOp):
    """The last two dimensions exchanged."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """The last two exchanged."""
        if rank < 2:
            raise ValueError(f"mT takes at least 2 dimensions, got {rank}")
        return swapped(rank, -2, -1)


@aten("mH(Tensor(a) self) -> Tensor(a)")
class MHOp(MTOp):
    """As `mT`: the elements are real."""


@aten("adjoint(Tensor(a) self) -> Tensor(a)")
class AdjointOp(MTOp):
    """As `mT`: the elements are real."""


@aten("numpy_T(Tensor(a) self) -> Tensor(a)")
class NumpyTOp(PermuteFamilyOp):
    """The dimensions in reverse order."""

    @staticmethod
    def order(rank: int) -> Sequence[int]:
        """Reversed."""
        return range(rank)[::-1]


def moved(rank: int, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """The order after dimensions `source` moved to `destination`; the others keep theirs. Raises IndexError, ValueError."""
    if len(source) != len(destination):
        raise ValueError(f"source {list(source)} and destination {list(destination)} must be as many")
    places = dict(zip(normalize_dims(destination, rank), normalize_dims(source, rank), strict=True))
    rest = iter(dim for dim in range(rank) if dim not in places.values())
    return checked_permutation([places[dim] if dim in places else next(rest) for dim in range(rank)], rank)


@aten("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
class MovedimIntlistOp(PermuteFamilyOp):
    """Dimensions `source` at the places `destination`; the others keep their order."""

    order = staticmethod(moved)


@aten("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
class MoveaxisIntlistOp(PermuteFamilyOp):
    """Dimensions `source` at the places `destination`; the others keep their order."""

    order = staticmethod(moved)


@aten("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
class MovedimIntOp(PermuteFamilyOp):
    """Dimension `source` at the place `destination`; the others keep their order."""

    @staticmethod
    def order(rank: int, source: int, destination: int) -> Sequence[int]:
        """One dimension moved."""
        return moved(rank, (source,), (destination,)) if rank else ()


@aten("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
class MoveaxisIntOp(MovedimIntOp):
    """Dimension `source` at the place `destination`; the others keep their order."""


@aten("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
class NarrowOp(SchemaOp):
    """`length` entries from `start` of dimension `dim`."""

    @staticmethod
    def checked_start(shape: Sequence[int], dim: int, start: int, length: int) -> int:
        """`start` counted from the front. Raises ValueError when the entries are not there."""
        if not shape:
            raise ValueError("a 0-d tensor has no dimension to narrow")
        extent = shape[normalize_dim(dim, len(shape))]
        first = start + extent if start < 0 and extent != DYNAMIC_INDEX else start
        if length < 0 or first < 0 or (extent != DYNAMIC_INDEX and first + length > extent):
            raise ValueError(f"{length} entries from {start} are out of range for dimension {dim} of size {extent}")
        return first

    @staticmethod
    def infer(x: Tensor, dim: int, start: int, length: int) -> Tensor:
        shape = shape_of(x)
        NarrowOp.checked_start(shape, dim, start, length)
        dim = normalize_dim(dim, len(shape))
        return tensor(element_of(x), (*shape[:dim], length, *shape[dim + 1 :]))

    @staticmethod
    def numpy(x: Array, dim: int, start: int, length: int) -> Array:
        first = NarrowOp.checked_start(x.shape, dim, start, length)
        return SliceTensorOp.numpy(x, dim, first, first + length, 1)

    @staticmethod
    def decompose(x: SSAValue, dim: int, start: int, length: int) -> SSAValue:
        first = NarrowOp.checked_start(shape_of(x), dim, start, length)
        return SliceTensorOp(x, dim, first, first + length).result


@aten("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", keep=True)
class PixelShuffleOp(SchemaOp):
    """[…, C·r², H, W] to […, C, H·r, W·r]: channels become the places of an r × r block."""

    @staticmethod
    def shapes(shape: tuple[int, ...], factor: int) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
        """The shape with the blocks apart, the order that puts them in place, and the result shape. Raises ValueError."""
        if len(shape) < 3 or factor < 1 or shape[-3] % factor**2:
            raise ValueError(f"shape {list(shape)} does not fit upscale factor {factor}")
        *batch, channels, height, width = shape
        count, channels = len(batch), channels // factor**2
        order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
        return (*batch, channels, factor, factor, height, width), order, (*batch, channels, height * factor, width * factor)

    @staticmethod
    def infer(x: Tensor, upscale_factor: int) -> Tensor:
        return tensor(element_of(x), PixelShuffleOp.shapes(shape_of(x), upscale_factor)[2])

    @staticmethod
    def numpy(x: Array, upscale_factor: int) -> Array:
        apart, order, result = PixelShuffleOp.shapes(x.shape, upscale_factor)
        return x.reshape(apart).transpose(order).reshape(result)

    @staticmethod
    def decompose(x: SSAValue, upscale_factor: int) -> SSAValue:
        apart, order, result = PixelShuffleOp.shapes(shape_of(x), upscale_factor)
        return view(permute(view(x, apart), order), result)


@aten("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", keep=True)
class PixelUnshuffleOp(SchemaOp):
    """[…, C, H·r, W·r] to […, C·r², H, W]: the places of an r × r block become channels."""

    @staticmethod
    def shapes(shape: tuple[int, ...], factor: int) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
        """The shape with the blocks apart, the order that puts them in place, and the result shape. Raises ValueError."""
        if len(shape) < 3 or factor < 1 or shape[-2] % factor or shape[-1] % factor:
            raise ValueError(f"shape {list(shape)} does not fit downscale factor {factor}")
        *batch, channels, height, width = shape
        count, height, width = len(batch), height // factor, width // factor
        order = [*range(count + 1), count + 2, count + 4, count + 1, count + 3]
        return (*batch, channels, height, factor, width, factor), order, (*batch, channels * factor**2, height, width)

    @staticmethod
    def infer(x: Tensor, downscale_factor: int) -> Tensor:
        return tensor(element_of(x), PixelUnshuffleOp.shapes(shape_of(x), downscale_factor)[2])

    @staticmethod
    def numpy(x: Array, downscale_factor: int) -> Array:
        apart, order, result = PixelUnshuffleOp.shapes(x.shape, downscale_factor)
        return x.reshape(apart).transpose(order).reshape(result)

    @staticmethod
    def decompose(x: SSAValue, downscale_factor: int) -> SSAValue:
        apart, order, result = PixelUnshuffleOp.shapes(shape_of(x), downscale_factor)
        return view(permute(view(x, apart), order), result)


@aten("channel_shuffle(Tensor self, SymInt groups) -> Tensor")
class ChannelShuffleOp(SchemaOp):
    """Channel c of group g moves to place c · groups + g."""

    @staticmethod
    def apart(shape: tuple[int, ...], groups: int) -> tuple[int, ...]:
        """The shape with the groups apart. Raises ValueError."""
        if len(shape) < 3 or groups < 1 or shape[1] % groups:
            raise ValueError(f"shape {list(shape)} does not fit {groups} groups")
        return (shape[0], groups, shape[1] // groups, *shape[2:])

    @staticmethod
    def infer(x: Tensor, groups: int) -> Tensor:
        ChannelShuffleOp.apart(shape_of(x), groups)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, groups: int) -> Array:
        return x.reshape(ChannelShuffleOp.apart(x.shape, groups)).swapaxes(1, 2).reshape(x.shape)

    @staticmethod
    def decompose(x: SSAValue, groups: int) -> SSAValue:
        shape = shape_of(x)
        apart = ChannelShuffleOp.apart(shape, groups)
        return view(permute(view(x, apart), swapped(len(apart), 1, 2)), shape)
