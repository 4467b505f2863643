"""Nodes that compute elementwise functions of one or two tensors, and the softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.backends.xnnpack.dialect.nodes import ELEMENTS, LIMITS, BinaryNodeOp, NodeOp, UnaryNodeOp, limited, xnnpack
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, DivTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ExpOp, FloorOp, LogOp, NegOp, RsqrtOp, SinOp, SqrtOp
from flambeau.dialects.aten.layers.activation import EluOp, GeluOp, HardswishOp, LeakyReluOp, SigmoidOp, TanhOp
from flambeau.dialects.aten.library.numerics import cast_to
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

UNARY: dict[str, type[UnaryNodeOp]] = {
    row.schema.base: derived(xnnpack(f"{node}(Tensor input, int flags=0) -> Tensor"), f"{node}_node", UnaryNodeOp, row, __module__=__name__)
    for node, row in {
        "abs": AbsOp,
        "ceiling": CeilOp,
        "cos": CosOp,
        "exp": ExpOp,
        "floor": FloorOp,
        "gelu": GeluOp,
        "hardswish": HardswishOp,
        "log": LogOp,
        "negate": NegOp,
        "reciprocal_square_root": RsqrtOp,
        "sigmoid": SigmoidOp,
        "sin": SinOp,
        "square_root": SqrtOp,
        "tanh": TanhOp,
    }.items()
}
"""The nodes that compute what an operator does, by its name at the edge level. Converters, the table and samples follow from it."""


def _within_limits(row: type[SchemaOp]) -> Callable[..., Array]:
    compute = numpy_of(row)

    def numpy(a: Array, b: Array, /, output_min: float | None, output_max: float | None) -> Array:
        return limited(compute(a, b), output_min, output_max)

    return numpy


def _binary(node: str, row: type[SchemaOp], meaning: str, limits: str = "", **members: Any) -> type[BinaryNodeOp]:
    declare = xnnpack(f"{node}(Tensor input1, Tensor input2, int flags=0{limits}) -> Tensor")
    return derived(declare, f"{node}_node", BinaryNodeOp, row, __doc__=meaning, __module__=__name__, **members)


ARITHMETIC: dict[str, type[BinaryNodeOp]] = {
    row.schema.base: _binary(node, row, meaning, f", {LIMITS}", numpy=staticmethod(_within_limits(row)))
    for node, row, meaning in (
        ("add", AddTensorOp, "a + b."),
        ("subtract", SubTensorOp, "a - b."),
        ("multiply", MulTensorOp, "a * b."),
        ("div", DivTensorOp, "a / b."),
    )
}
"""The nodes of two tensors whose result may be limited, by the names of the operators of tensors and of a tensor and a number."""
BINARY: dict[str, type[BinaryNodeOp]] = {
    row.schema.base: _binary(node, row, meaning)
    for node, row, meaning in (("minimum", MinimumOp, "The smaller of a and b."), ("maximum", MaximumOp, "The larger of a and b."))
}
"""The other nodes that compute what an operator of two tensors does, by its name."""


@xnnpack("square(Tensor input, int flags=0) -> Tensor")
class SquareNodeOp(UnaryNodeOp):
    """x * x."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x * x


@xnnpack("copy(Tensor input, int flags=0) -> Tensor")
class CopyNodeOp(UnaryNodeOp):
    """The same elements."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x


@xnnpack("convert(ScalarType dtype, Tensor input, int flags=0) -> Tensor")
class ConvertNodeOp(NodeOp):
    """The elements converted to the type of the result, which the format has in place of an argument."""

    @classmethod
    def infer(cls, dtype: ElementType, x: Tensor, /, flags: int) -> Tensor:
        if dtype not in ELEMENTS:
            raise ValueError(f"there is no conversion to {dtype}")
        return tensor(dtype, shape_of(cls.typed([x], shape_of(x), flags)))

    @staticmethod
    def numpy(dtype: ElementType, x: Array, /) -> Array:
        return cast_to(x, dtype)


@xnnpack("elu(float alpha, Tensor input, int flags=0) -> Tensor")
class EluNodeOp(UnaryNodeOp):
    """x above 0, alpha * (exp(x) - 1) elsewhere."""

    @staticmethod
    def numpy(alpha: float, x: Array, /) -> Array:
        return EluOp.numpy(x, alpha, 1, 1)


@xnnpack("leaky_relu(float negative_slope, Tensor input, int flags=0) -> Tensor")
class LeakyReluNodeOp(UnaryNodeOp):
    """x above 0, negative_slope * x elsewhere."""

    @staticmethod
    def numpy(negative_slope: float, x: Array, /) -> Array:
        return LeakyReluOp.numpy(x, negative_slope)


@xnnpack(f"clamp(Tensor input, int flags=0, {LIMITS}) -> Tensor")
class ClampNodeOp(UnaryNodeOp):
    """x within the limits."""

    @staticmethod
    def numpy(x: Array, /, output_min: float | None, output_max: float | None) -> Array:
        return limited(x, output_min, output_max)


@xnnpack("softmax(Tensor input, int flags=0) -> Tensor")
class SoftmaxNodeOp(UnaryNodeOp):
    """exp(x) over its sum along the last dimension."""

    elementwise = False

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return SoftmaxOp.numpy(x, -1, False)


@xnnpack("prelu(Tensor input1, Tensor input2, int flags=0) -> Tensor")
class PreluNodeOp(BinaryNodeOp):
    """a above 0, a * b elsewhere."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.where(a > 0, a, a * b)
