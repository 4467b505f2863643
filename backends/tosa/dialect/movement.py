"""Moves of elements."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.tosa.dialect.operators import Numbers, TosaOp, tosa
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


@tosa("reshape(Tensor input1, int[] shape) -> Tensor")
class ReshapeOp(TosaOp):
    """The same elements in another shape."""

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
