"""Convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flambeau.backends.onnxruntime.dialect.operators import NUMBERS, Numbers, OnnxOp, onnx, require_one_type
from flambeau.dialects.aten.layers.convolution import ConvolutionOp, convolved_shape
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_only, require_rank
from flambeau.support.lazy import Array, np

_WINDOW = "str auto_pad='NOTSET', int[] dilations, int group=1, int[] kernel_shape"


def symmetric(pads: Sequence[int]) -> Numbers:
    """Returns the padding at both ends of each dimension. Raises ValueError where the ends differ."""
    half = len(pads) // 2
    if list(pads[:half]) != list(pads[half:]):
        raise ValueError(f"pads {list(pads)} differ before and behind a dimension")
    return tuple(pads[:half])


class ConvolutionOnnxOp(OnnxOp):
    """A convolution, by the arguments of PyTorch's."""

    transposed: ClassVar[bool]

    @classmethod
    def torch(cls, kernel: Numbers, pads: Numbers, strides: Numbers, dilations: Numbers, group: int, more: Numbers) -> tuple[Any, ...]:
        """Returns the arguments of `convolution` behind the bias. Raises ValueError."""
        if any(len(numbers) != len(kernel) for numbers in (strides, dilations, more)) or len(pads) != 2 * len(kernel):
            raise ValueError(f"each list of a window has a number for each of the {len(kernel)} dimensions of an image")
        if min(pads, default=0) < 0 or min((*strides, *dilations), default=1) < 1 or group < 1:
            raise ValueError("pads must not be negative, and strides, dilations and group must be positive")
        return tuple(strides), symmetric(pads), tuple(dilations), cls.transposed, tuple(more), group

    @classmethod
    def shape(cls, x: Tensor, w: Tensor, b: Tensor | None, auto_pad: str, kernel: Numbers, numbers: Sequence[Any]) -> Tensor:
        """Returns the type of the result."""
        require_only("auto_pad", auto_pad, "NOTSET")
        require_one_type(x, w, b)
        if shape_of(w)[2:] != tuple(kernel):
            raise ValueError(f"kernel_shape {list(kernel)} is not that of the weight {list(shape_of(w))}")
        result = convolved_shape(shape_of(x), shape_of(w), *numbers)
        if b is not None and shape_of(b) != (result[1],):
            raise ValueError(f"the bias {list(shape_of(b))} is not one of {result[1]} channels")
        return tensor(element_of(x), result)


@onnx(f"Conv(Tensor x, Tensor w, Tensor? b=None, *, {_WINDOW}, int[] pads, int[] strides) -> Tensor")
class ConvOp(ConvolutionOnnxOp):
    """A convolution by a weight [outputs, inputs of a group, height, width]."""

    transposed = False

    @classmethod
    def infer(
        cls,
        x: Tensor,
        w: Tensor,
        b: Tensor | None,
        /,
        auto_pad: str,
        dilations: Numbers,
        group: int,
        kernel_shape: Numbers,
        pads: Numbers,
        strides: Numbers,
    ) -> Tensor:
        numbers = cls.torch(kernel_shape, pads, strides, dilations, group, (0,) * len(kernel_shape))
        return cls.shape(x, w, b, auto_pad, kernel_shape, numbers)

    @classmethod
    def numpy(
        cls, x: Array, w: Array, b: Array | None, /, dilations: Numbers, group: int, kernel_shape: Numbers, pads: Numbers, strides: Numbers
    ) -> Array:
        return ConvolutionOp.numpy(x, w, b, *cls.torch(kernel_shape, pads, strides, dilations, group, (0,) * len(kernel_shape)))


@onnx(f"ConvTranspose(Tensor x, Tensor w, Tensor? b=None, *, {_WINDOW}, int[] output_padding, int[] pads, int[] strides) -> Tensor")
class ConvTransposeOp(ConvolutionOnnxOp):
    """A transposed convolution by a weight [inputs, outputs of a group, height, width]."""

    transposed = True

    @classmethod
    def infer(
        cls,
        x: Tensor,
        w: Tensor,
        b: Tensor | None,
        /,
        auto_pad: str,
        dilations: Numbers,
        group: int,
        kernel_shape: Numbers,
        output_padding: Numbers,
        pads: Numbers,
        strides: Numbers,
    ) -> Tensor:
        numbers = cls.torch(kernel_shape, pads, strides, dilations, group, output_padding)
        return cls.shape(x, w, b, auto_pad, kernel_shape, numbers)

    @classmethod
    def numpy(
        cls,
        x: Array,
        w: Array,
        b: Array | None,
        /,
        dilations: Numbers,
        group: int,
        kernel_shape: Numbers,
        output_padding: Numbers,
        pads: Numbers,
        strides: Numbers,
    ) -> Array:
        return ConvolutionOp.numpy(x, w, b, *cls.torch(kernel_shape, pads, strides, dilations, group, output_padding))


@onnx("Gemm(Tensor a, Tensor b, Tensor? c=None, *, float alpha=1.0, float beta=1.0, bool transA=False, bool transB=False) -> Tensor")
class GemmOp(OnnxOp):
    """alpha * a @ b + beta * c, of matrices, which may be transposed; c is broadcast."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, c: Tensor | None, /, transA: bool, transB: bool) -> Tensor:
        require_one_type(a, b, c)
        left, right = list(shape_of(a)), list(shape_of(b))
        require_rank("a", left, 2)
        require_rank("b", right, 2)
        (rows, inner), (other, columns) = left[:: -1 if transA else 1], right[:: -1 if transB else 1]
        if differ(inner, other):
            raise ValueError(f"factors {left} and {right} do not fit each other")
        if c is not None and broadcast(shape_of(c), (rows, columns)) != (rows, columns):
            raise ValueError(f"c {list(shape_of(c))} is not broadcast to {[rows, columns]}")
        return tensor(element_of(a), (rows, columns))

    @staticmethod
    def numpy(a: Array, b: Array, c: Array | None, /, alpha: float, beta: float, transA: bool, transB: bool) -> Array:
        product = np.matmul(a.T if transA else a, b.T if transB else b)
        scaled = product if alpha == 1 else product * a.dtype.type(alpha)
        return scaled if c is None else scaled + (c if beta == 1 else c * a.dtype.type(beta))


@onnx("MatMul(Tensor a, Tensor b) -> Tensor")
class MatMulOp(OnnxOp):
    """a @ b over the last two dimensions."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_one_type(a, b)
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {list(left)} and {list(right)}")
        if differ(left[-1], right[-2]):
            raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
        return tensor(element_of(a), (*broadcast(left[:-2], right[:-2]), left[-2], right[-1]))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.matmul(a, b)
