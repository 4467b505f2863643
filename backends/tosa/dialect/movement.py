"""Moves of elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32

from flambeau.backends.tosa.dialect.operators import MOVED, Numbers, TosaOp, tosa
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


@tosa("reshape(Tensor input1, int[] shape) -> Tensor")
class ReshapeOp(TosaOp):
    """The same elements in another shape."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        if np.prod(shape, dtype=np.int64) != np.prod(shape_of(x), dtype=np.int64):
            raise ValueError(f"{list(shape_of(x))} does not have the elements of {list(shape)}")
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(tuple(shape))


@tosa("transpose(Tensor input1, *, int[] perms) -> Tensor")
class TransposeOp(TosaOp):
    """The dimensions in another order."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, perms: Numbers) -> Tensor:
        if sorted(perms) != list(range(len(shape_of(x)))):
            raise ValueError(f"{list(perms)} is no order of the dimensions of {x}")
        return tensor(element_of(x), [shape_of(x)[dim] for dim in perms])

    @staticmethod
    def numpy(x: Array, /, perms: Numbers) -> Array:
        return x.transpose(tuple(perms))


@tosa("concat(Tensor[] input1, *, int axis) -> Tensor")
class ConcatOp(TosaOp):
    """The tensors one behind the other, along one dimension."""

    takes = MOVED

    @staticmethod
    def infer(tensors: Sequence[Tensor], /, axis: int) -> Tensor:
        shapes = [list(shape_of(item)) for item in tensors]
        first = shapes[0] if shapes else []
        if not 0 <= axis < len(first) or any(shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for shape in shapes):
            raise ValueError(f"tensors {shapes} cannot be joined along dimension {axis}")
        return tensor(element_of(tensors[0]), [*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :]])

    @staticmethod
    def numpy(tensors: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(tensors, axis)


def _of_each_dimension(x: Tensor, what: str, *lists: Numbers) -> list[int]:
    """Returns the shape of a tensor. Raises ValueError unless each list has a number for each of its dimensions."""
    shape = list(shape_of(x))
    for numbers in lists:
        if len(numbers) != len(shape):
            raise ValueError(f"{what} of {len(numbers)} dimensions, of a tensor of {len(shape)}")
    return shape


@tosa("slice(Tensor input1, int[] start, int[] size) -> Tensor")
class SliceOp(TosaOp):
    """A part of a tensor: in each dimension `size` entries, the first of them at `start`."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, start: Numbers, size: Numbers) -> Tensor:
        for extent, first, count in zip(_of_each_dimension(x, "a part", start, size), start, size, strict=True):
            if first < 0 or count < 1 or first + count > extent:
                raise ValueError(f"there are no {count} entries from {first} on among {extent}")
        return tensor(element_of(x), size)

    @staticmethod
    def numpy(x: Array, /, start: Numbers, size: Numbers) -> Array:
        return x[tuple(slice(first, first + count) for first, count in zip(start, size, strict=True))]


@tosa("pad(Tensor input1, int[] padding, Scalar pad_const) -> Tensor")
class PadOp(TosaOp):
    """A tensor with `pad_const` around it; the padding has a pair of numbers for each dimension, before and behind it."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, padding: Numbers) -> Tensor:
        if len(padding) % 2 or min(padding, default=0) < 0:
            raise ValueError(f"the padding {list(padding)} is not a pair of numbers from 0 on for each dimension")
        shape = _of_each_dimension(x, "padding", padding[::2])
        return tensor(element_of(x), [sum(item) for item in zip(shape, padding[::2], padding[1::2], strict=True)])

    @staticmethod
    def numpy(x: Array, /, padding: Numbers, pad_const: float) -> Array:
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), constant_values=x.dtype.type(pad_const))


@tosa("tile(Tensor input1, int[] multiples) -> Tensor")
class TileOp(TosaOp):
    """A tensor `multiples` times one behind the other, along each dimension."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, multiples: Numbers) -> Tensor:
        shape = _of_each_dimension(x, "multiples", multiples)
        if min(multiples, default=1) < 1:
            raise ValueError(f"a tensor is not there {min(multiples)} times")
        return tensor(element_of(x), [extent * count for extent, count in zip(shape, multiples, strict=True)])

    @staticmethod
    def numpy(x: Array, /, multiples: Numbers) -> Array:
        return np.tile(x, tuple(multiples))


@tosa("reverse(Tensor input1, *, int axis) -> Tensor")
class ReverseOp(TosaOp):
    """The entries of one dimension, the last one first."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        if not 0 <= axis < len(shape_of(x)):
            raise ValueError(f"{x} has no dimension {axis}")
        return x

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return np.flip(x, axis)


@tosa("gather(Tensor values, Tensor indices) -> Tensor")
class GatherOp(TosaOp):
    """Of [batch, entries, numbers] those entries which int32 indices [batch, count] name; an index from 0 on, or no result is defined."""

    @staticmethod
    def infer(values: Tensor, indices: Tensor, /) -> Tensor:
        shape, places = shape_of(values), shape_of(indices)
        if len(shape) != 3 or len(places) != 2 or shape[0] != places[0] or element_of(indices) != i32:
            raise ValueError(f"values {values} and indices {indices} are not [batch, entries, numbers] and int32 [batch, count]")
        return tensor(element_of(values), (*places, shape[2]))

    @staticmethod
    def numpy(values: Array, indices: Array, /) -> Array:
        if (indices < 0).any():
            raise IndexError(f"there is no entry {indices.min()}")
        return np.take_along_axis(values, indices[:, :, None].astype(np.int64), 1)
