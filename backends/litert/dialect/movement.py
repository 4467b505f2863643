"""Moves of elements. The integers of their results stand for what those of their operands stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i8

from flambeau.backends.litert.dialect.operators import LiteRtOp, Numbers, litert
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of
from flambeau.dialects.schema.move_types import joined_type, padded_type, part_type, permuted_type, reshaped_type
from flambeau.support.lazy import Array, np


class _MoveOp(LiteRtOp):
    keeps_type = True


@litert("reshape(Tensor input, int[] shape) -> Tensor")
class ReshapeOp(_MoveOp):
    """The same elements in another shape."""

    @staticmethod
    def infer(x: Tensor, /, shape: Numbers) -> Tensor:
        return reshaped_type(x, shape)

    @staticmethod
    def numpy(x: Array, /, shape: Numbers) -> Array:
        return x.reshape(tuple(shape))


@litert("transpose(Tensor input, int[] perm) -> Tensor")
class TransposeOp(_MoveOp):
    """The dimensions in another order."""

    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(x: Tensor, /, perm: Numbers) -> Tensor:
        return permuted_type(x, perm)

    @staticmethod
    def numpy(x: Array, /, perm: Numbers) -> Array:
        return x.transpose(tuple(perm))


@litert('concatenation(Tensor[] values, *, int axis, str fused_activation_function="NONE") -> Tensor')
class ConcatenationOp(_MoveOp):
    """The tensors one behind the other, along one dimension."""

    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(tensors: Sequence[Tensor], /, axis: int) -> Tensor:
        return joined_type(tensors, axis)

    @staticmethod
    def numpy(tensors: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(tensors, axis)


@litert("slice(Tensor input, int[] begin, int[] size) -> Tensor")
class SliceOp(_MoveOp):
    """A part of a tensor: in each dimension `size` entries, the first of them at `begin`."""

    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(x: Tensor, /, begin: Numbers, size: Numbers) -> Tensor:
        return part_type(x, begin, size)

    @staticmethod
    def numpy(x: Array, /, begin: Numbers, size: Numbers) -> Array:
        return x[tuple(slice(first, first + count) for first, count in zip(begin, size, strict=True))]


@litert("padv2(Tensor input, int[] padding, Tensor constant_values) -> Tensor")
class PadV2Op(_MoveOp):
    """A tensor with a number of its own type around it; the padding has a pair for each dimension, before and behind it."""

    versions: ClassVar = {i8: 2}

    @staticmethod
    def infer(x: Tensor, padding: Numbers, number: Tensor, /) -> Tensor:
        if element_of(number) != element_of(x) or shape_of(number) != (1,):
            raise ValueError(f"{number} is not one number of the type of {x}")
        return padded_type(x, padding)

    @staticmethod
    def numpy(x: Array, padding: Numbers, number: Array, /) -> Array:
        return np.pad(x, list(zip(padding[::2], padding[1::2], strict=True)), constant_values=number.reshape(-1)[0])
