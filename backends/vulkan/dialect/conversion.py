"""Operators whose results have other elements than their operands."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import f16, f32, i8

from flambeau.backends.vulkan.dialect.kernels import Dispatch, KernelOp, elements, over, vulkan
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


@vulkan("to_half(Tensor x) -> Tensor")
class ToHalfKernelOp(KernelOp):
    """x in float16. Devices differ in how they round, and in whether a number beyond float16 becomes infinite."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(f16, shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        with np.errstate(over="ignore"):
            return x.astype(np.float16)

    def dispatches(self) -> list[Dispatch]:
        return _cast(self)


@vulkan("to_float(Tensor x) -> Tensor")
class ToFloatKernelOp(KernelOp):
    """x in float32."""

    takes = frozenset((f16,))
    widens = False

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x.astype(np.float32)

    def dispatches(self) -> list[Dispatch]:
        return _cast(self)


def _cast(op: KernelOp) -> list[Dispatch]:
    count = elements(op.result)
    return [Dispatch("cast", (), (count,), (op.operands[0], op.result), over(count))]


@vulkan("dequantize(Tensor x, Tensor scales, *, int axis) -> Tensor")
class DequantizeKernelOp(KernelOp):
    """Integers of int8 times the scales of the entries of a dimension, in float32."""

    takes = frozenset((i8,))

    @staticmethod
    def infer(x: Tensor, scales: Tensor, /, axis: int) -> Tensor:
        shape = shape_of(x)
        if element_of(scales) != f32:
            raise TypeError(f"scales are of f32, not of {element_of(scales)}")
        if not 0 <= axis < len(shape) or shape_of(scales) != (shape[axis],):
            raise ValueError(f"the scales {list(shape_of(scales))} are not one for each entry of {list(shape)} in dimension {axis}")
        return tensor(f32, shape)

    @staticmethod
    def numpy(x: Array, scales: Array, /, axis: int) -> Array:
        return x * scales.reshape([-1 if dim == axis else 1 for dim in range(x.ndim)])

    def dispatches(self) -> list[Dispatch]:
        (x, scales), axis = self.operands, cast(int, self.argument("axis"))
        shape, count = shape_of(x), elements(x)
        pushed = (count, shape[axis], prod(shape[axis + 1 :]))
        return [Dispatch("dequantize", (), pushed, (x, scales, self.result), over(count))]
