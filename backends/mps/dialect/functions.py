"""Functions of the elements of tensors, and of rows."""

from __future__ import annotations

from typing import Any

from flambeau.backends.mps.dialect.nodes import ELEMENTWISE, OF_TWO, BinaryNodeOp, FunctionNodeOp, NodeOp, Numbers, mps, require_floats
from flambeau.dialects.aten.elementwise import arithmetic, comparison, math
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.layers import activation
from flambeau.dialects.aten.layers.norm import moments, scale_and_shift
from flambeau.dialects.aten.reductions.softmax import LogSoftmaxOp, SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, i1, normalize_dim, shape_of, tensor
from flambeau.dialects.schema import families
from flambeau.dialects.schema.derived_rows import derived
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def _derived(schema: str, base: type[NodeOp], row: type[SchemaOp], meaning: str | None = None) -> Any:
    said = {} if meaning is None else {"__doc__": meaning}
    return derived(mps(schema), f"{schema.partition('(')[0]}Node", base, row, __module__=__name__, **said)


UNARY: dict[str, type[FunctionNodeOp]] = {
    row.schema.base: _derived(f"{name}{ELEMENTWISE}", FunctionNodeOp, row)
    for name, row in (
        ("Abs", math.AbsOp),
        ("Ceil", math.CeilOp),
        ("Cos", math.CosOp),
        ("Erf", math.ErfOp),
        ("Exp", math.ExpOp),
        ("Floor", math.FloorOp),
        ("Log", math.LogOp),
        ("Neg", math.NegOp),
        ("ReLU", activation.ReluOp),
        ("Reciprocal", math.ReciprocalOp),
        ("Rsqrt", math.RsqrtOp),
        ("Sigmoid", activation.SigmoidOp),
        ("Sin", math.SinOp),
        ("Sqrt", math.SqrtOp),
        ("Tanh", activation.TanhOp),
    )
}
"""The nodes that compute what an operator does, by its name at the edge level. Converters, the table and samples follow from it."""
BINARY: dict[str, type[BinaryNodeOp]] = {
    "minimum": _derived(f"Minimum{OF_TWO}", BinaryNodeOp, comparison.MinimumOp, "The smaller of input1 and input2."),
}
"""The nodes of two tensors that compute what an operator does, by its name."""
ARITHMETIC: dict[str, type[BinaryNodeOp]] = {
    "mul": _derived(f"Mul{OF_TWO}", BinaryNodeOp, arithmetic.MulTensorOp, "input1 * input2."),
    "div": _derived(f"Div{OF_TWO}", BinaryNodeOp, arithmetic.DivTensorOp, "input1 / input2."),
}
"""The nodes of two tensors, by the names of the operators of tensors and of a tensor and a number."""
PowNodeOp: type[BinaryNodeOp] = _derived(f"Pow{OF_TWO}", BinaryNodeOp, PowTensorTensorOp, "input1 to the power of input2.")


@mps("Add(Tensor input1, Tensor input2, *, float alpha=1.0) -> Tensor")
class AddNodeOp(BinaryNodeOp):
    """input1 + alpha * input2."""

    @staticmethod
    def numpy(x: Array, y: Array, /, alpha: float) -> Array:
        return x + y * np.float32(alpha)


@mps("Sub(Tensor input1, Tensor input2, *, float alpha=1.0) -> Tensor")
class SubNodeOp(BinaryNodeOp):
    """input1 - alpha * input2."""

    @staticmethod
    def numpy(x: Array, y: Array, /, alpha: float) -> Array:
        return x - y * np.float32(alpha)


class LimitsNodeOp(NodeOp):
    """input1, limited to the range from `min_value` to `max_value`."""

    @staticmethod
    def infer(x: Tensor, /, min_value: float, max_value: float) -> Tensor:
        if not min_value <= max_value:
            raise ValueError(f"the result is limited to [{min_value}, {max_value}], which holds nothing")
        return x

    @staticmethod
    def numpy(x: Array, /, min_value: float, max_value: float) -> Array:
        return np.minimum(np.maximum(x, np.float32(min_value)), np.float32(max_value))


@mps("HardTanh(Tensor input1, *, float min_value, float max_value) -> Tensor")
class HardTanhNodeOp(LimitsNodeOp):
    """input1, limited to the range from `min_value` to `max_value`."""


@mps("Clamp(Tensor input1, *, float min_value, float max_value) -> Tensor")
class ClampNodeOp(LimitsNodeOp):
    """input1, limited to the range that stands beside the node, whose ends may be infinite."""


@mps("GELU(Tensor input1, *, str approximate='none') -> Tensor")
class GeluNodeOp(NodeOp):
    """input1 times the normal distribution function of input1."""

    @staticmethod
    def infer(x: Tensor, /, approximate: str) -> Tensor:
        if approximate != "none":
            raise ValueError(f"approximate is {approximate!r}, and 'none' is supported here")
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return activation.GeluOp.numpy(x, "none")


@mps("LeakyReLU(Tensor input1, *, float negative_slope) -> Tensor")
class LeakyReluNodeOp(FunctionNodeOp):
    """input1 where it is above 0, negative_slope * input1 elsewhere."""

    @staticmethod
    def numpy(x: Array, /, negative_slope: float) -> Array:
        return activation.LeakyReluOp.numpy(x, negative_slope)


@mps("Where(Tensor input1, Tensor input2, Tensor input3) -> Tensor")
class WhereNodeOp(NodeOp):
    """Elements of input2 where input1 is true, elements of input3 elsewhere."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(cond: Tensor, a: Tensor, b: Tensor, /) -> Tensor:
        require_floats(a, b)
        return tensor(f32, broadcast(*map(shape_of, (cond, a, b))))

    @staticmethod
    def numpy(cond: Array, a: Array, b: Array, /) -> Array:
        return np.where(cond, a, b)


class RowNodeOp(NodeOp):
    """A function of the rows along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, half_to_float: bool) -> Tensor:
        normalize_dim(dim, len(shape_of(x)))
        if half_to_float:
            raise ValueError("half_to_float is true, and its tensors are of f32")
        return x


@mps("Softmax(Tensor input1, *, int dim, bool half_to_float=False) -> Tensor")
class SoftmaxNodeOp(RowNodeOp):
    """exp(input1) divided by its sum along a dimension."""

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return SoftmaxOp.numpy(x, dim, False)


@mps("LogSoftmax(Tensor input1, *, int dim, bool half_to_float=False) -> Tensor")
class LogSoftmaxNodeOp(RowNodeOp):
    """The logarithm of the softmax along a dimension."""

    @staticmethod
    def numpy(x: Array, /, dim: int) -> Array:
        return LogSoftmaxOp.numpy(x, dim, False)


@mps("Mean(Tensor input1, *, int[] dims, bool keep_dims) -> Tensor")
class MeanNodeOp(NodeOp):
    """The mean over dimensions."""

    @staticmethod
    def infer(x: Tensor, /, dims: Numbers, keep_dims: bool) -> Tensor:
        shape = shape_of(x)
        gone = families.reduced_dims(dims, len(shape)) if dims else ()
        return tensor(f32, [1 if dim in gone else size for dim, size in enumerate(shape) if keep_dims or dim not in gone])

    @staticmethod
    def numpy(x: Array, /, dims: Numbers, keep_dims: bool) -> Array:
        return x.mean(dims, keepdims=keep_dims)


@mps("LayerNorm(Tensor input1, Tensor weight, Tensor bias, *, int[] normalized_shape, float eps) -> Tensor")
class LayerNormNodeOp(NodeOp):
    """input1 without its mean, divided by its deviation, over the last dimensions, then times a weight, plus a bias."""

    @staticmethod
    def infer(x: Tensor, weight: Tensor, bias: Tensor, /, normalized_shape: Numbers) -> Tensor:
        require_floats(weight, bias)
        sizes = tuple(normalized_shape)
        if not sizes or any(found != sizes for found in (shape_of(x)[-len(sizes) :], shape_of(weight), shape_of(bias))):
            raise ValueError(f"{list(sizes)} are not the last sizes of {list(shape_of(x))}, the weight and the bias")
        return x

    @staticmethod
    def numpy(x: Array, weight: Array, bias: Array, /, normalized_shape: Numbers, eps: float) -> Array:
        mean, deviation = moments(x, tuple(range(-len(normalized_shape), 0)), eps)
        return scale_and_shift((x - mean) * deviation, weight, bias)
