"""The dialect `abacus`: a row for each operator of the device. A row's `numpy` gives the device's numbers exactly."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from flambeau import row
from flambeau.dialects.ir.tensor_types import Tensor, broadcast
from flambeau.passes.kit import SchemaOp, shape_of, tensor
from xdsl.dialects.builtin import f32

from .blocks import Floats, aligned, block, numbers

MOST_TERMS = 1 << 14
"""The most products that the device adds up: the sum has 62 bits."""


class ElementsOp(SchemaOp):
    """An elementwise function, which `computed` computes on integers; tensors are broadcast to one shape."""

    takes = frozenset((f32,))
    computed: ClassVar[Callable[..., Any]]

    @staticmethod
    def infer(*operands: Tensor) -> Tensor:
        return tensor(f32, broadcast(*map(shape_of, operands)))

    @classmethod
    def numpy(cls, *operands: Floats) -> Floats:
        whole, power = aligned(*operands)
        return numbers(cls.computed(*whole), power)


@row("abacus", "abacus", "negate(Tensor x) -> Tensor")
class NegateOp(ElementsOp):
    """-x."""

    computed = np.negative


@row("abacus", "abacus", "absolute(Tensor x) -> Tensor")
class AbsoluteOp(ElementsOp):
    """|x|."""

    computed = np.abs


@row("abacus", "abacus", "relu(Tensor x) -> Tensor")
class ReluOp(ElementsOp):
    """The larger of x and 0."""

    computed = partial(np.maximum, 0)


@row("abacus", "abacus", "add(Tensor x, Tensor y) -> Tensor")
class AddOp(ElementsOp):
    """x + y."""

    computed = np.add


@row("abacus", "abacus", "subtract(Tensor x, Tensor y) -> Tensor")
class SubtractOp(ElementsOp):
    """x - y."""

    computed = np.subtract


@row("abacus", "abacus", "maximum(Tensor x, Tensor y) -> Tensor")
class MaximumOp(ElementsOp):
    """The larger of x and y."""

    computed = np.maximum


@row("abacus", "abacus", "minimum(Tensor x, Tensor y) -> Tensor")
class MinimumOp(ElementsOp):
    """The smaller of x and y."""

    computed = np.minimum


@row("abacus", "abacus", "multiply(Tensor x, Tensor y) -> Tensor")
class MultiplyOp(ElementsOp):
    """x · y, element by element."""

    @classmethod
    def numpy(cls, *operands: Floats) -> Floats:
        (a, power_of_a), (b, power_of_b) = map(block, operands)
        return numbers(a * b, power_of_a + power_of_b)


@row("abacus", "abacus", "multiply_matrices(Tensor x, Tensor y) -> Tensor")
class MultiplyMatricesOp(SchemaOp):
    """The matrix product of x and y: each sum of products is rounded once."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, y: Tensor) -> Tensor:
        a, b = shape_of(x), shape_of(y)
        if len(a) != 2 or len(b) != 2 or a[1] != b[0] or a[1] > MOST_TERMS:
            raise ValueError(f"there is no product of {list(a)} and {list(b)} with sums of up to {MOST_TERMS} terms")
        return tensor(f32, (a[0], b[1]))

    @staticmethod
    def numpy(x: Floats, y: Floats) -> Floats:
        (a, power_of_a), (b, power_of_b) = block(x), block(y)
        return numbers(a @ b, power_of_a + power_of_b)
