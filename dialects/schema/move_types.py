"""The types of moves that the dialects of backends have in common, each with its errors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.extents import may_equal as extents_may_equal
from flambeau.dialects.ir.tensor_types import Tensor, element_of, may_equal, shape_of, tensor


def reshaped_type(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns the type of the same elements in another shape. Raises ValueError where there are more of them, or fewer."""
    if not extents_may_equal(prod(shape), prod(shape_of(x))):
        raise ValueError(f"{list(shape_of(x))} does not have the elements of {list(shape)}")
    return tensor(element_of(x), shape)


def whole_shape(x: Tensor, shape: Sequence[int]) -> Sequence[int]:
    """Returns a shape with the rest of a tensor's elements in place of the size -1. Raises ValueError for several of them."""
    rests = [dim for dim, size in enumerate(shape) if is_known(size) and size == -1]
    if len(rests) > 1:
        raise ValueError(f"{list(shape)} says several sizes to be the rest of {list(shape_of(x))}")
    others = prod(size for dim, size in enumerate(shape) if dim not in rests)
    if rests and others == 0:
        raise ValueError(f"{list(shape)} has no elements, whatever the rest is")
    return [prod(shape_of(x)) // others if dim in rests else size for dim, size in enumerate(shape)]


def permuted_type(x: Tensor, order: Sequence[int]) -> Tensor:
    """Returns the type with dimension `order[i]` as dimension i. Raises ValueError unless each is there once."""
    if sorted(order) != list(range(len(shape_of(x)))):
        raise ValueError(f"{list(order)} is no order of the dimensions of {x}")
    return tensor(element_of(x), [shape_of(x)[dim] for dim in order])


def joined_type(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Returns the type of tensors one behind the other. Raises ValueError where their other dimensions differ."""
    shapes = [list(shape_of(item)) for item in tensors]
    first = shapes[0] if shapes else []
    others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if not 0 <= axis < len(first) or not all(may_equal(shape, others[0]) for shape in others):
        raise ValueError(f"tensors {shapes} cannot be joined along dimension {axis}")
    return tensor(element_of(tensors[0]), [*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :]])


def of_each_dimension(x: Tensor, what: str, *lists: Sequence[int]) -> list[int]:
    """Returns the shape of a tensor. Raises ValueError unless each list has a number for each of its dimensions."""
    shape = list(shape_of(x))
    for numbers in lists:
        if len(numbers) != len(shape):
            raise ValueError(f"{what} of {len(numbers)} dimensions, of a tensor of {len(shape)}")
    return shape


def part_type(x: Tensor, begin: Sequence[int], size: Sequence[int]) -> Tensor:
    """Returns the type of a part: in each dimension `size` entries, the first at `begin`. Raises ValueError for others than are there."""
    for extent, first, count in zip(of_each_dimension(x, "a part", begin, size), begin, size, strict=True):
        if first < 0 or count < 1 or first + count > extent:
            raise ValueError(f"there are no {count} entries from {first} on among {extent}")
    return tensor(element_of(x), size)


def padded_type(x: Tensor, padding: Sequence[int]) -> Tensor:
    """Returns the type with a pair of margins for each dimension, before and behind it. Raises ValueError for other lists."""
    if len(padding) % 2 or min(padding, default=0) < 0:
        raise ValueError(f"the padding {list(padding)} is not a pair of numbers from 0 on for each dimension")
    shape = of_each_dimension(x, "padding", padding[::2])
    return tensor(element_of(x), [sum(item) for item in zip(shape, padding[::2], padding[1::2], strict=True)])
