"""Moves of elements. The integers of their results stand for what those of their operands stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from flambeau.backends.litert.dialect.operators import LiteRtOp, Numbers, Scales, check_scales, litert
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.move_types import (
    joined_type,
    padded_type,
    part_type,
    permuted_type,
    reshaped_type,
    whole_shape,
)
from flambeau.support.lazy import Array, np

EVERY = 2**31 - 1
"""An end behind all entries of a dimension, however many there are."""
_ANY: frozenset[Attribute] = frozenset((f32, i1, i8, i16, i32, i64))


class _MoveOp(LiteRtOp):
    keeps_type = True


@litert("reshape(Tensor input, int[] shape) -> Tensor")
class ReshapeOp(_MoveOp):
    """The same elements in another shape, of which one size may be -1: the rest."""

    takes = _ANY

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        return reshaped_type(x, whole_shape(x, shape))

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(tuple(shape))


@litert("transpose(Tensor input, int[] perm) -> Tensor")
class TransposeOp(_MoveOp):
    """The dimensions in another order."""

    takes = _ANY
    versions: ClassVar = {i8: 2, i16: 5}
    versions_of_ranks: ClassVar = {5: 4, 6: 6}

    @staticmethod
    def infer(x: Tensor, /, perm: Numbers) -> Tensor:
        return permuted_type(x, perm)

    @staticmethod
    def numpy(x: Array, /, perm: Numbers) -> Array:
        return x.transpose(tuple(perm))


@litert('concatenation(Tensor[] values, *, int axis, str fused_activation_function="NONE") -> Tensor')
class ConcatenationOp(_MoveOp):
    """The tensors one behind the other, along one dimension."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def infer(tensors: Sequence[Tensor], /, axis: int) -> Tensor:
        return joined_type(tensors, axis)

    @staticmethod
    def numpy(tensors: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(tensors, axis)


@litert("slice(Tensor input, int[] begin, int[] size) -> Tensor")
class SliceOp(_MoveOp):
    """A part of a tensor: in each dimension `size` entries, the first of them at `begin`.

    LiteRT cannot tell before the run how large a part is of a tensor that only the run knows; of `strided_slice`, it can.
    """

    versions: ClassVar = {i8: 2, i16: 4}
    versions_of_ranks: ClassVar = {5: 5}

    @staticmethod
    def infer(x: Tensor, /, begin: Numbers, size: Numbers) -> Tensor:
        return part_type(x, begin, size)

    @staticmethod
    def numpy(x: Array, /, begin: Numbers, size: Numbers) -> Array:
        return x[tuple(slice(first, first + count) for first, count in zip(begin, size, strict=True))]


@litert("pad(Tensor input, int[] padding, *, float[] scales=[], int[] zero_points=[]) -> Tensor")
class PadOp(_MoveOp):
    """A tensor with zeros around it: of integers, with their zero point. The padding has a pair for each dimension, as that of `padv2`."""

    versions: ClassVar = {i8: 2, i16: 3}
    versions_of_ranks: ClassVar = {5: 4}

    @staticmethod
    def infer(x: Tensor, padding: Numbers, /, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 1)
        return padded_type(x, padding)

    @staticmethod
    def numpy(x: Array, padding: Numbers, /, scales: Scales, zero_points: Numbers) -> Array:
        number = zero_points[0] if scales else 0
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), constant_values=number)


@litert("padv2(Tensor input, int[] padding, Tensor constant_values) -> Tensor")
class PadV2Op(_MoveOp):
    """A tensor with a number of its own type around it; the padding has a pair for each dimension, before and behind it."""

    versions: ClassVar = {i8: 2, i16: 3}
    versions_of_ranks: ClassVar = {5: 4}

    @staticmethod
    def infer(x: Tensor, padding: Numbers, number: Tensor, /) -> Tensor:
        if element_of(number) != element_of(x) or shape_of(number) not in ((), (1,)):
            raise ValueError(f"{number} is not one number of the type of {x}")
        return padded_type(x, padding)

    @staticmethod
    def numpy(x: Array, padding: Numbers, number: Array, /) -> Array:
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), constant_values=number.reshape(-1)[0])


@litert("strided_slice(Tensor input, int[] begin, int[] end, int[] strides) -> Tensor")
class StridedSliceOp(_MoveOp):
    """Every so many entries of each dimension, from `begin` on and before `end`, or all if that is `EVERY`."""

    versions: ClassVar = {i8: 2}
    versions_of_ranks: ClassVar = {5: 4}

    @staticmethod
    def infer(x: Tensor, /, begin: Numbers, end: Numbers, strides: Numbers) -> Tensor:
        shape = shape_of(x)
        if not len(begin) == len(end) == len(strides) == len(shape) or min(strides, default=1) < 1:
            raise ValueError(f"{list(begin)}, {list(end)} and {list(strides)} are no steps along each of the {len(shape)} dimensions")
        wholes = [item == (0, EVERY, 1) for item in zip(begin, end, strides, strict=True)]
        sides = zip(wholes, begin, end, shape, strict=True)
        if any(not is_whole and not 0 <= first < last <= size for is_whole, first, last, size in sides):
            raise ValueError(f"there is nothing from {list(begin)} to {list(end)} of {list(shape)}")
        counts = [len(range(*item)) for item in zip(begin, end, strides, strict=True)]
        return tensor(element_of(x), [size if whole else count for whole, count, size in zip(wholes, counts, shape, strict=True)])

    @staticmethod
    def numpy(x: Array, /, begin: Numbers, end: Numbers, strides: Numbers) -> Array:
        return x[tuple(slice(*item) for item in zip(begin, end, strides, strict=True))]


@litert("tile(Tensor input, int[] multiples) -> Tensor")
class TileOp(_MoveOp):
    """A tensor repeated along its dimensions."""

    @staticmethod
    def infer(x: Tensor, /, multiples: Numbers) -> Tensor:
        if len(multiples) != len(shape_of(x)) or min(multiples, default=1) < 1:
            raise ValueError(f"{list(multiples)} is not how often to repeat {list(shape_of(x))}")
        return tensor(element_of(x), [size * count for size, count in zip(shape_of(x), multiples, strict=True)])

    @staticmethod
    def numpy(x: Array, /, multiples: Numbers) -> Array:
        return np.tile(x, tuple(multiples))


@litert("mirror_pad(Tensor input, int[] padding, *, str mode) -> Tensor")
class MirrorPadOp(_MoveOp):
    """A tensor reflected at its borders; the padding has a pair for each dimension, before and behind it."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def infer(x: Tensor, padding: Numbers, /, mode: str) -> Tensor:
        sides = zip(shape_of(x), padding[::2], padding[1::2], strict=False)
        if mode != "REFLECT" or any(max(before, behind) >= size for size, before, behind in sides):
            raise ValueError(f"{list(shape_of(x))} cannot be reflected by {list(padding)}, {mode}")
        return padded_type(x, padding)

    @staticmethod
    def numpy(x: Array, padding: Numbers, /) -> Array:
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), "reflect")


@litert("reverse_v2(Tensor tensor, int[] axis) -> Tensor")
class ReverseV2Op(_MoveOp):
    """The entries of a dimension in the opposite order."""

    versions: ClassVar = {i8: 3}

    @staticmethod
    def infer(x: Tensor, axis: Numbers, /) -> Tensor:
        if len(axis) != 1 or not 0 <= axis[0] < len(shape_of(x)):
            raise ValueError(f"{list(axis)} is not one of the {len(shape_of(x))} dimensions")
        return x

    @staticmethod
    def numpy(x: Array, axis: Numbers, /) -> Array:
        return np.flip(x, axis[0])


@litert("gather(Tensor params, Tensor indices, *, int axis, int batch_dims=0) -> Tensor")
class GatherOp(_MoveOp):
    """The entries of a dimension at some places."""

    takes = frozenset((f32, i8, i16, i32, i64))
    versions: ClassVar = {i8: 2, i16: 4}

    @staticmethod
    def infer(x: Tensor, indices: Tensor, /, axis: int, batch_dims: int) -> Tensor:
        if element_of(indices) not in (i32, i64) or batch_dims or not 0 <= axis < len(shape_of(x)):
            raise ValueError(f"{indices} are no places along dimension {axis} of {x}, or {batch_dims} dimensions are of a batch")
        return tensor(element_of(x), (*shape_of(x)[:axis], *shape_of(indices), *shape_of(x)[axis + 1 :]))

    @staticmethod
    def numpy(x: Array, indices: Array, /, axis: int) -> Array:
        return x.take(indices, axis)
