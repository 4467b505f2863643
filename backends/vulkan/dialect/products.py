"""Products of matrices and convolutions, with a bias and a function of each element of the result."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f16, f32, i8
from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect.elementwise import FUNCTIONS
from flambeau.backends.vulkan.dialect.kernels import (
    GROUP,
    MOST_GROUPS,
    Dispatch,
    KernelOp,
    Numbers,
    broadcast_strides,
    like,
    require_alike,
    vulkan,
    word,
)
from flambeau.dialects.aten.layers.convolution import cross_correlate, transposed_convolve
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of
from flambeau.support.lazy import Array, np

_EPILOGUE = "str function='', float first=0.0, float second=0.0"
EACH = 8
"""The most rows, and the columns, of a product that an invocation computes, and the most outputs of a convolution."""
PLACES = 4
"""The most places of each output of a convolution that an invocation computes."""
TILE = 64
"""The columns of a product that a workgroup computes, and its rows unless it has few."""


class ProductKernelOp(KernelOp):
    """A product, of whose elements a function is the result: the one of the name `function` in this dialect, with up to two parameters.

    A weight may be of int8. Then `scales` has what a step of it is, in float32, for each of its outputs.
    """

    takes = frozenset((f32, f16, i8))

    @property
    def epilogue(self) -> tuple[int, tuple[int, int]]:
        """The number of the function, and the words of its parameters."""
        name = self.argument("function")
        return FUNCTIONS[name].number if name else 0, (word(self.argument("first")), word(self.argument("second")))


def check_function(function: str) -> None:
    """Raises ValueError if the dialect has no function of a name."""
    if function and function not in FUNCTIONS:
        raise ValueError(f"there is no function {function!r}")


def applied(result: Array, function: str, first: float, second: float) -> Array:
    """Returns a function of each element."""
    if not function:
        return result
    kind = FUNCTIONS[function]
    return kind.call("numpy", [result, *(first, second)[: len(kind.schema.arguments) - 1]])


def check_scales(weight: Tensor, scales: Tensor | None, outputs: int) -> None:
    """Raises TypeError unless a weight has scales if and only if it is of int8, and ValueError unless there is one for each output."""
    if (element_of(weight) == i8) != (scales is not None) or (scales is not None and element_of(scales) != f32):
        raise TypeError(f"a weight of i8, and no other, has scales, which are of f32; this one is of {element_of(weight)}")
    if scales is not None and shape_of(scales) != (outputs,):
        raise ValueError(f"the scales {list(shape_of(scales))} are not one for each of {outputs} outputs")


def _scaled(weight: Array, scales: Array | None, axis: int) -> Array:
    """Returns the numbers of a weight, whose outputs are in a dimension."""
    return weight if scales is None else weight * scales.reshape([-1 if dim == axis % weight.ndim else 1 for dim in range(weight.ndim)])


def _grouped(weight: Array, scales: Array | None, groups: int) -> Array:
    """Returns the numbers of a weight [inputs of all groups, outputs of a group, height, width]."""
    if scales is None:
        return weight
    inputs, outputs, *kernel = weight.shape
    split = weight.reshape(groups, inputs // groups, outputs, *kernel) * scales.reshape(groups, 1, outputs, 1, 1)
    return split.reshape(weight.shape)


def _shader(name: str, scales: SSAValue | None) -> str:
    """Returns the name of a shader, compiled for a weight of int8 if there are scales."""
    return name if scales is None else f"{name}_i8"


def _is_one(shape: Numbers) -> bool:
    return prod(shape) == 1


@vulkan(f"gemm(Tensor a, Tensor b, Tensor? bias=None, Tensor? scales=None, *, bool transpose_b=False, {_EPILOGUE}) -> Tensor")
class GemmKernelOp(ProductKernelOp):
    """a @ b, or a @ bᵀ, plus a bias that is broadcast to rows and columns, of each matrix of a batch. A factor may be the same for all.

    One factor may be a weight of int8. Its outputs are the rows of a, or the columns of the product with b.
    """

    @staticmethod
    def infer(a: Tensor, b: Tensor, bias: Tensor | None, scales: Tensor | None, /, transpose_b: bool, function: str) -> Tensor:
        check_function(function)
        left, right = shape_of(a), shape_of(b)
        if len(left) < 2 or len(right) < 2:
            raise ValueError(f"both factors must have 2 dimensions or more, got {list(left)} and {list(right)}")
        inner, columns = right[:-3:-1] if transpose_b else right[-2:]
        is_left = element_of(a) == i8
        x, weight = (b, a) if is_left else (a, b)
        check_scales(weight, scales, left[-2] if is_left else columns)
        require_alike(x, bias, None if scales is not None else weight)
        batches = (left[:-2], right[:-2])
        if left[-1] != inner or not (batches[0] == batches[1] or any(map(_is_one, batches))):
            raise ValueError(f"factors {list(left)} and {list(right)} do not fit each other")
        batch = broadcast(*batches)
        if prod(batch) > MOST_GROUPS:
            raise ValueError(f"a batch has {prod(batch)} products, and every device computes {MOST_GROUPS}")
        if bias is not None and broadcast(shape_of(bias), (left[-2], columns)) != (left[-2], columns):
            raise ValueError(f"the bias {list(shape_of(bias))} does not fit the product [{left[-2]}, {columns}]")
        return like(x, (*batch, left[-2], columns))

    @staticmethod
    def numpy(
        a: Array, b: Array, bias: Array | None, scales: Array | None, /, transpose_b: bool, function: str, first: float, second: float
    ) -> Array:
        if a.dtype == np.int8:
            a = _scaled(a, scales, -2)
        else:
            b = _scaled(b, scales, -2 if transpose_b else -1)
        product = np.matmul(a, b.swapaxes(-1, -2) if transpose_b else b)
        return applied(product if bias is None else product + bias, function, first, second)

    def dispatches(self) -> list[Dispatch]:
        a, b, bias, scales, transpose_b = self.arguments()[:5]
        *batch, rows, columns = shape_of(self.result)
        inner, count = shape_of(a)[-1], prod(batch)
        strides = (1, inner) if transpose_b else (columns, 1)
        number, parameters = self.epilogue
        pushed = (
            rows,
            columns,
            inner,
            *(0 if _is_one(shape_of(factor)[:-2]) else prod(shape_of(factor)[-2:]) for factor in (a, b)),
            *strides,
            *((0, 0) if bias is None else broadcast_strides(bias, (rows, columns))),
            *parameters,
        )
        buffers: tuple[SSAValue, ...] = (a, b, b if bias is None else bias, b if scales is None else scales, self.result)
        height = min(rows, EACH)
        across, down = (GROUP, 1) if rows <= EACH else (GROUP // 8, 8)
        grid = (-(-columns // (EACH * across)), -(-rows // (height * down)), count)
        return [
            Dispatch(
                _shader("gemm", scales),
                (number, int(bias is not None), height, across, down, int(element_of(a) == i8)),
                pushed,
                buffers,
                grid,
            )
        ]


_IMAGES = "Tensor x, Tensor weight, Tensor? bias=None, Tensor? scales=None, *, int[] stride, int[] padding, int[] dilation, int groups=1"


class ConvolutionKernelOp(ProductKernelOp):
    """A convolution of images, in groups of channels."""

    @staticmethod
    def check(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scales: Tensor | None,
        channels: int,
        outputs: int,
        windows: tuple[Numbers, ...],
    ) -> None:
        """Raises ValueError or TypeError unless images of so many channels fit the other tensors, and lists are of two numbers."""
        check_scales(weight, scales, outputs)
        require_alike(x, bias, None if scales is not None else weight)
        if len(shape_of(x)) != 4 or len(shape_of(weight)) != 4 or shape_of(x)[1] != channels:
            raise ValueError(f"the image {list(shape_of(x))} has not the channels of the weight {list(shape_of(weight))}")
        if bias is not None and shape_of(bias) != (outputs,):
            raise ValueError(f"the bias {list(shape_of(bias))} is not one number for each of {outputs} outputs")
        stride, padding, dilation = windows[:3]
        if any(len(numbers) != 2 for numbers in windows) or min(*stride, *dilation) < 1 or min(padding) < 0:
            raise ValueError(f"stride {list(stride)}, padding {list(padding)} and dilation {list(dilation)} are no window of an image")

    def convolved(self, is_transposed: bool) -> list[Dispatch]:
        """Returns the dispatch of a convolution."""
        x, weight, bias, scales, stride, padding, dilation, groups = self.arguments()[:8]
        (count, channels, height, width), (_, outputs, *new) = shape_of(x), shape_of(self.result)
        kernel, inputs, each = shape_of(weight)[2:], channels // groups, outputs // groups
        number, parameters = self.epilogue
        places = min(-(-prod(new) // GROUP), PLACES)
        quads = 0 if each == 1 else min(-(-each // 4), 2)
        steps = (prod(kernel) * (each if is_transposed else 1), prod(kernel) * (1 if is_transposed else inputs))
        constants = (number, bias is not None, quads, *kernel, *stride, *padding, *dilation, is_transposed, places)
        pushed = (groups, inputs, each, height, width, *new, *steps, *parameters)
        grid = (-(-prod(new) // (GROUP * places)), groups * (-(-each // max(4 * quads, 1))), count)
        buffers = (x, weight, x if bias is None else bias, x if scales is None else scales, self.result)
        return [Dispatch(_shader("convolution", scales), tuple(map(int, constants)), pushed, buffers, grid)]


@vulkan(f"conv2d({_IMAGES}, {_EPILOGUE}) -> Tensor")
class Conv2dKernelOp(ConvolutionKernelOp):
    """A convolution of images by a weight [outputs, inputs of a group, height, width]."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scales: Tensor | None,
        /,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        groups: int,
        function: str,
    ) -> Tensor:
        check_function(function)
        outputs, inputs, *kernel = shape_of(weight)
        if groups < 1 or outputs % groups:
            raise ValueError(f"{outputs} outputs are not in {groups} groups")
        cls.check(x, weight, bias, scales, inputs * groups, outputs, (stride, padding, dilation))
        numbers = zip(shape_of(x)[2:], kernel, stride, padding, dilation, strict=True)
        return like(x, (shape_of(x)[0], outputs, *(window_count(size, each, step, pad, gap) for size, each, step, pad, gap in numbers)))

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array | None,
        scales: Array | None,
        /,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        groups: int,
        function: str,
        first: float,
        second: float,
    ) -> Array:
        product = cross_correlate(x, _scaled(weight, scales, 0), stride, padding, dilation, groups)
        return applied(product if bias is None else product + bias[:, None, None], function, first, second)

    def dispatches(self) -> list[Dispatch]:
        return self.convolved(False)


@vulkan(f"conv_transpose2d({_IMAGES}, {_EPILOGUE}, int[] output_padding) -> Tensor")
class ConvTranspose2dKernelOp(ConvolutionKernelOp):
    """A transposed convolution of images by a weight [inputs, outputs of a group, height, width]."""

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scales: Tensor | None,
        /,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        groups: int,
        function: str,
        output_padding: Numbers,
    ) -> Tensor:
        check_function(function)
        inputs, outputs, *kernel = shape_of(weight)
        if groups < 1 or inputs % groups:
            raise ValueError(f"{inputs} inputs are not in {groups} groups")
        cls.check(x, weight, bias, scales, inputs, outputs * groups, (stride, padding, dilation, output_padding))
        numbers = zip(shape_of(x)[2:], kernel, stride, padding, dilation, output_padding, strict=True)
        sizes = [(size - 1) * step - 2 * pad + gap * (each - 1) + 1 + more for size, each, step, pad, gap, more in numbers]
        return like(x, (shape_of(x)[0], outputs * groups, *sizes))

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array | None,
        scales: Array | None,
        /,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        groups: int,
        function: str,
        first: float,
        second: float,
        output_padding: Numbers,
    ) -> Array:
        product = transposed_convolve(x, _grouped(weight, scales, groups), stride, padding, dilation, output_padding, groups)
        return applied(product if bias is None else product + bias[:, None, None], function, first, second)

    def dispatches(self) -> list[Dispatch]:
        return self.convolved(True)
