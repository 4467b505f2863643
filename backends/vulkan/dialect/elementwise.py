"""Functions of the elements of one or two tensors."""

from __future__ import annotations

from typing import ClassVar

from flambeau.backends.vulkan.dialect.kernels import (
    Dispatch,
    KernelOp,
    broadcast_strides,
    elements,
    like,
    merged,
    over,
    padded,
    require_alike,
    vulkan,
    word,
)
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, DivTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, ErfOp, ExpOp, FloorOp, LogOp, NegOp, ReciprocalOp, RsqrtOp, SqrtOp
from flambeau.dialects.aten.layers.activation import EluOp, GeluOp, HardsigmoidOp, HardswishOp, ReluOp, SigmoidOp, SiluOp, TanhOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, shape_of
from flambeau.dialects.schema.derived_rows import derived
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class FunctionKernelOp(KernelOp):
    """A function of one number, of each element."""

    elementwise = True
    number: ClassVar[int]
    """The number of the function in `runtime/shaders/functions.glsl`."""

    @property
    def parameters(self) -> tuple[float, float]:
        """The two parameters that the function has in the shader."""
        given = [float(value) for value in self.arguments()[1:]]
        return (*given, 0.0, 0.0)[0], (*given, 0.0, 0.0)[1]

    def dispatches(self) -> list[Dispatch]:
        count = elements(self.result)
        pushed = (count, *map(word, self.parameters))
        return [Dispatch("unary", (self.number,), pushed, (self.operands[0], self.result), over(count))]


class UnaryKernelOp(FunctionKernelOp):
    """A function that takes any parameters."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return like(x, shape_of(x))


UNARY: dict[str, type[UnaryKernelOp]] = {
    row.schema.base: derived(
        vulkan(f"{row.schema.base}(Tensor x) -> Tensor"),
        f"{row.schema.base}_kernel",
        UnaryKernelOp,
        row,
        number=number,
        __module__=__name__,
    )
    for number, row in enumerate(
        (
            AbsOp,
            CeilOp,
            ErfOp,
            ExpOp,
            FloorOp,
            LogOp,
            NegOp,
            ReciprocalOp,
            RsqrtOp,
            SqrtOp,
            HardsigmoidOp,
            HardswishOp,
            ReluOp,
            SigmoidOp,
            SiluOp,
            TanhOp,
        ),
        1,
    )
}
"""The functions that compute what an operator does, by its name at the edge level. Converters, the table and samples follow from it."""


@vulkan("gelu(Tensor x) -> Tensor")
class GeluKernelOp(UnaryKernelOp):
    """x times the normal distribution function of x."""

    number = 17

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return GeluOp.numpy(x, "none")


@vulkan("gelu_tanh(Tensor x) -> Tensor")
class GeluTanhKernelOp(UnaryKernelOp):
    """x times the normal distribution function of x, approximated by tanh."""

    number = 18

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return GeluOp.numpy(x, "tanh")


@vulkan("clamp(Tensor x, *, float low, float high) -> Tensor")
class ClampKernelOp(FunctionKernelOp):
    """x, limited to the range from `low` to `high`."""

    number = 19

    @staticmethod
    def infer(x: Tensor, /, low: float, high: float) -> Tensor:
        if not low <= high:
            raise ValueError(f"the result is limited to [{low}, {high}], which holds nothing")
        return like(x, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, low: float, high: float) -> Array:
        return np.minimum(np.maximum(x, np.float32(low)), np.float32(high))


@vulkan("leaky_relu(Tensor x, *, float slope) -> Tensor")
class LeakyReluKernelOp(UnaryKernelOp):
    """x where x is above 0, slope * x elsewhere."""

    number = 20

    @staticmethod
    def numpy(x: Array, /, slope: float) -> Array:
        return np.where(x > 0, x, x * np.float32(slope))


@vulkan("elu(Tensor x, *, float alpha) -> Tensor")
class EluKernelOp(UnaryKernelOp):
    """x where x is above 0, alpha * (exp(x) - 1) elsewhere."""

    number = 21

    @staticmethod
    def numpy(x: Array, /, alpha: float) -> Array:
        return EluOp.numpy(x, alpha, 1, 1)


FUNCTIONS: dict[str, type[FunctionKernelOp]] = {
    **{kind.schema.base: kind for kind in UNARY.values()},
    **{kind.schema.base: kind for kind in (GeluKernelOp, GeluTanhKernelOp, ClampKernelOp, LeakyReluKernelOp, EluKernelOp)},
}
"""The functions by their names in this dialect."""


class BinaryKernelOp(KernelOp):
    """A function of two numbers, of the elements of tensors that are broadcast to one shape."""

    number: ClassVar[int]
    """The number of the function in `runtime/shaders/binary.comp`."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        require_alike(a, b)
        return like(a, broadcast(shape_of(a), shape_of(b)))

    def dispatches(self) -> list[Dispatch]:
        shape = shape_of(self.result)
        sizes, (a, b) = merged(shape, *(broadcast_strides(value, shape) for value in self.operands))
        count = elements(self.result)
        pushed = (count, *padded(sizes), *padded(a), *padded(b))
        return [Dispatch("binary", (self.number, len(sizes)), pushed, (*self.operands, self.result), over(count))]


def _binary(number: int, name: str, row: type[SchemaOp], meaning: str) -> type[BinaryKernelOp]:
    declare = vulkan(f"{name}(Tensor a, Tensor b) -> Tensor")
    return derived(declare, f"{name}_kernel", BinaryKernelOp, row, number=number, __doc__=meaning, __module__=__name__)


ARITHMETIC: dict[str, type[BinaryKernelOp]] = {
    name: _binary(number, name, row, meaning)
    for number, (name, row, meaning) in enumerate(
        (("add", AddTensorOp, "a + b."), ("sub", SubTensorOp, "a - b."), ("mul", MulTensorOp, "a * b."), ("div", DivTensorOp, "a / b."))
    )
}
"""The functions of operators of two tensors, and of a tensor and a number, by the names of these operators."""
BINARY: dict[str, type[BinaryKernelOp]] = {
    name: _binary(number, name, row, meaning)
    for number, (name, row, meaning) in enumerate(
        (("maximum", MaximumOp, "The larger of a and b."), ("minimum", MinimumOp, "The smaller of a and b.")), 4
    )
}
"""The other functions of two tensors, by the names of their operators."""
