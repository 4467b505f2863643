"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f16, f32, i8
from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect.kernels import (
    Dispatch,
    KernelOp,
    Numbers,
    elements,
    like,
    merged,
    over,
    padded,
    require_alike,
    row_major,
    signed,
    vulkan,
    word,
)
from flambeau.dialects.ir.tensor_types import Tensor, shape_of
from flambeau.support.lazy import Array, np


def moved(
    x: SSAValue, result: SSAValue, shape: Sequence[int], places: tuple[int, Sequence[int]], goals: tuple[int, Sequence[int]]
) -> Dispatch:
    """Returns the dispatch that copies elements of `x` into `result`: a shape, and the first place and the strides of each in it."""
    sizes, (steps, goal_steps) = merged(shape, places[1], goals[1])
    pushed = (
        prod(shape),
        signed(places[0]),
        signed(goals[0]),
        *padded(sizes),
        *padded([signed(step) for step in steps]),
        *padded([signed(step) for step in goal_steps]),
    )
    return Dispatch("copy", (len(sizes),), pushed, (x, result), over(prod(shape)))


@vulkan("reshape(Tensor x, int[] shape) -> Tensor")
class ReshapeKernelOp(KernelOp):
    """x in another shape: the same bytes, so that nothing is dispatched."""

    takes = frozenset((f32, f16, i8))

    @staticmethod
    def infer(x: Tensor, shape: Numbers, /) -> Tensor:
        if prod(shape_of(x)) != prod(shape) or any(size < 0 for size in shape):
            raise ValueError(f"{list(shape_of(x))} cannot have the shape {list(shape)}")
        return like(x, shape)

    @staticmethod
    def numpy(x: Array, shape: Numbers, /) -> Array:
        return x.reshape(shape)

    def dispatches(self) -> list[Dispatch]:
        return []


@vulkan("strided(Tensor x, *, int[] sizes, int[] strides, int offset=0) -> Tensor")
class StridedKernelOp(KernelOp):
    """Elements of x by strides: element i, j, … of the result is number `offset` + i * strides[0] + j * strides[1] + … of x."""

    @staticmethod
    def infer(x: Tensor, /, sizes: Numbers, strides: Numbers, offset: int) -> Tensor:
        if len(sizes) != len(strides) or min(sizes, default=1) < 1:
            raise ValueError(f"sizes {list(sizes)} and strides {list(strides)} are as many, and sizes are positive")
        reach = [(size - 1) * step for size, step in zip(sizes, strides, strict=True)]
        low, high = offset + sum(min(step, 0) for step in reach), offset + sum(max(step, 0) for step in reach)
        if low < 0 or high >= prod(shape_of(x)):
            raise ValueError(f"it reads elements {low} to {high} of {prod(shape_of(x))}")
        return like(x, sizes)

    @staticmethod
    def numpy(x: Array, /, sizes: Numbers, strides: Numbers, offset: int) -> Array:
        places = np.full((), offset)
        for dim, (size, step) in enumerate(zip(sizes, strides, strict=True)):
            places = places + (np.arange(size) * step).reshape((size,) + (1,) * (len(sizes) - dim - 1))
        return x.reshape(-1)[places]

    def dispatches(self) -> list[Dispatch]:
        sizes, strides, offset = self.arguments()[1:]
        return [moved(self.operands[0], self.result, sizes, (offset, strides), (0, row_major(sizes)))]


@vulkan("concat(Tensor[] parts, *, int axis) -> Tensor")
class ConcatKernelOp(KernelOp):
    """Tensors one after the other along a dimension."""

    writes_apart = True

    @staticmethod
    def infer(parts: Sequence[Tensor], /, axis: int) -> Tensor:
        require_alike(parts[0], *parts)
        shapes = [shape_of(part) for part in parts]
        rests = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
        if not 0 <= axis < len(shapes[0]) or len(rests) > 1:
            raise ValueError(f"{', '.join(str(list(shape)) for shape in shapes)} do not fit behind each other in dimension {axis}")
        return like(parts[0], (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]))

    @staticmethod
    def numpy(parts: Sequence[Array], /, axis: int) -> Array:
        return np.concatenate(parts, axis)

    def dispatches(self) -> list[Dispatch]:
        axis: int = self.argument("axis")
        steps = row_major(shape_of(self.result))
        found: list[Dispatch] = []
        start = 0
        for part in self.operands:
            shape = shape_of(part)
            found.append(moved(part, self.result, shape, (0, row_major(shape)), (start * steps[axis], steps)))
            start += shape[axis]
        return found


@vulkan("pad(Tensor x, *, int[] before, int[] behind, float value) -> Tensor")
class PadKernelOp(KernelOp):
    """x with a number before and behind the elements of each dimension."""

    @staticmethod
    def infer(x: Tensor, /, before: Numbers, behind: Numbers) -> Tensor:
        shape = shape_of(x)
        if not len(before) == len(behind) == len(shape) or min((*before, *behind), default=0) < 0:
            raise ValueError(f"the pads {list(before)} and {list(behind)} of {list(shape)} are one for each dimension, and not negative")
        return like(x, [low + size + high for low, size, high in zip(before, shape, behind, strict=True)])

    @staticmethod
    def numpy(x: Array, /, before: Numbers, behind: Numbers, value: float) -> Array:
        return np.pad(x, list(zip(before, behind, strict=True)), constant_values=np.float32(value))

    def dispatches(self) -> list[Dispatch]:
        x, shape, steps = self.operands[0], shape_of(self.operands[0]), row_major(shape_of(self.result))
        count = elements(self.result)
        start = sum(low * step for low, step in zip(self.argument("before"), steps, strict=True))
        return [
            Dispatch("fill", (), (count, word(self.argument("value"))), (self.result,), over(count)),
            moved(x, self.result, shape, (0, row_major(shape)), (start, steps)),
        ]
