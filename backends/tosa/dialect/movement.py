"""Moves of elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32

from flambeau.backends.tosa.dialect.operators import MOVED, Numbers, TosaOp, tosa
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.move_types import joined_type, of_each_dimension, padded_type, part_type, permuted_type, reshaped_type
from flambeau.support.lazy import Array, np


@tosa("reshape(Tensor input1, int[] shape) -> Tensor")
class ReshapeOp(TosaOp):
    """The same elements in another shape."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        return reshaped_type(x, shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(tuple(shape))


@tosa("transpose(Tensor input1, *, int[] perms) -> Tensor")
class TransposeOp(TosaOp):
    """The dimensions in another order."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, perms: Numbers) -> Tensor:
        return permuted_type(x, perms)

    @staticmethod
    def numpy(x: Array, /, perms: Numbers) -> Array:
        return x.transpose(tuple(perms))


@tosa("concat(Tensor[] input1, *, int axis) -> Tensor")
class ConcatOp(TosaOp):
    """The tensors one behind the other, along one dimension."""

    takes = MOVED

    @staticmethod
    def infer(tensors: Sequence[Tensor], /, axis: int) -> Tensor:
        return joined_type(tensors, axis)

    @staticmethod
    def numpy(tensors: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(tensors, axis)


@tosa("slice(Tensor input1, int[] start, int[] size) -> Tensor")
class SliceOp(TosaOp):
    """A part of a tensor: in each dimension `size` entries, the first of them at `start`."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, start: Numbers, size: Numbers) -> Tensor:
        return part_type(x, start, size)

    @staticmethod
    def numpy(x: Array, /, start: Numbers, size: Numbers) -> Array:
        return x[tuple(slice(first, first + count) for first, count in zip(start, size, strict=True))]


@tosa("pad(Tensor input1, int[] padding, Scalar pad_const) -> Tensor")
class PadOp(TosaOp):
    """A tensor with `pad_const` around it; the padding has a pair of numbers for each dimension, before and behind it."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, padding: Numbers) -> Tensor:
        return padded_type(x, padding)

    @staticmethod
    def numpy(x: Array, /, padding: Numbers, pad_const: float) -> Array:
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), constant_values=x.dtype.type(pad_const))


@tosa("tile(Tensor input1, int[] multiples) -> Tensor")
class TileOp(TosaOp):
    """A tensor `multiples` times one behind the other, along each dimension."""

    takes = MOVED

    @staticmethod
    def infer(x: Tensor, /, multiples: Numbers) -> Tensor:
        shape = of_each_dimension(x, "multiples", multiples)
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
