"""Layers that compute elementwise functions of one or more tensors, and the softmax."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import BinaryLayerOp, LayerOp, UnaryLayerOp, openvino, require_floats
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, DivTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, LogOp, NegOp, SinOp, SqrtOp
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.layers.activation import EluOp, GeluOp, HardsigmoidOp, HardswishOp, ReluOp, SigmoidOp, SiluOp, TanhOp
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, i1, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

UNARY: dict[str, type[UnaryLayerOp]] = {
    row.schema.base: derived(
        openvino(f"{layer}(Tensor data) -> Tensor"), f"{layer}Layer", UnaryLayerOp, row, opset=opset, __module__=__name__
    )
    for layer, row, opset in (
        ("Abs", AbsOp, 1),
        ("Ceiling", CeilOp, 1),
        ("Cos", CosOp, 1),
        ("Erf", ErfOp, 1),
        ("Exp", ExpOp, 1),
        ("Floor", FloorOp, 1),
        ("HSigmoid", HardsigmoidOp, 5),
        ("HSwish", HardswishOp, 4),
        ("Log", LogOp, 1),
        ("Negative", NegOp, 1),
        ("ReLU", ReluOp, 1),
        ("Sigmoid", SigmoidOp, 1),
        ("Sin", SinOp, 1),
        ("Sqrt", SqrtOp, 1),
        ("Swish", SiluOp, 4),
        ("Tanh", TanhOp, 1),
    )
}
"""The layers that compute what an operator does, by its name at the edge level. Converters, the table and samples follow from it."""


def _binary(layer: str, row: type[SchemaOp], meaning: str) -> type[BinaryLayerOp]:
    declare = openvino(f"{layer}(Tensor a, Tensor b) -> Tensor")
    return derived(declare, f"{layer}Layer", BinaryLayerOp, row, __doc__=meaning, __module__=__name__)


ARITHMETIC: dict[str, type[BinaryLayerOp]] = {
    row.schema.base: _binary(layer, row, meaning)
    for layer, row, meaning in (
        ("Add", AddTensorOp, "a + b."),
        ("Subtract", SubTensorOp, "a - b."),
        ("Multiply", MulTensorOp, "a * b."),
        ("Divide", DivTensorOp, "a / b."),
    )
}
"""The layers of two tensors, by the names of the operators of tensors and of a tensor and a number."""
BINARY: dict[str, type[BinaryLayerOp]] = {
    row.schema.base: _binary(layer, row, meaning)
    for layer, row, meaning in (("Maximum", MaximumOp, "The larger of a and b."), ("Minimum", MinimumOp, "The smaller of a and b."))
}
"""The other layers that compute what an operator of two tensors does, by its name."""
PowerLayerOp = _binary("Power", PowTensorTensorOp, "a to the power of b.")


@openvino("Clamp(Tensor data, *, float min, float max) -> Tensor")
class ClampLayerOp(LayerOp):
    """x, limited to the range from `min` to `max`."""

    @staticmethod
    def infer(x: Tensor, /, min: float, max: float) -> Tensor:
        if not min <= max:
            raise ValueError(f"the result is limited to [{min}, {max}], which holds nothing")
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, min: float, max: float) -> Array:
        return np.minimum(np.maximum(x, np.float32(min)), np.float32(max))


@openvino("Elu(Tensor data, *, float alpha) -> Tensor")
class EluLayerOp(UnaryLayerOp):
    """x where x is above 0, alpha * (exp(x) - 1) elsewhere."""

    @staticmethod
    def numpy(x: Array, /, alpha: float) -> Array:
        return EluOp.numpy(x, alpha, 1, 1)


@openvino("Gelu(Tensor data, *, str approximation_mode) -> Tensor")
class GeluLayerOp(LayerOp):
    """x times the normal distribution function of x, computed by erf (`ERF`), or approximated by tanh (`TANH`)."""

    opset = 7

    @staticmethod
    def infer(x: Tensor, /, approximation_mode: str) -> Tensor:
        if approximation_mode not in ("ERF", "TANH"):
            raise ValueError(f"approximation_mode is ERF or TANH, not {approximation_mode!r}")
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, approximation_mode: str) -> Array:
        return GeluOp.numpy(x, "tanh" if approximation_mode == "TANH" else "none")


@openvino("PReLU(Tensor data, Tensor slope) -> Tensor")
class PReLULayerOp(LayerOp):
    """x where x is above 0, slope * x elsewhere, with one slope for all elements."""

    @staticmethod
    def infer(x: Tensor, slope: Tensor, /) -> Tensor:
        require_floats(slope)
        if shape_of(slope) != (1,):
            raise ValueError(f"slope must have the shape [1], got {list(shape_of(slope))}")
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, slope: Array, /) -> Array:
        return np.where(x > 0, x, x * slope)


@openvino("Select(Tensor cond, Tensor then, Tensor otherwise) -> Tensor")
class SelectLayerOp(LayerOp):
    """Elements of the second input where the first input is true, elements of the third input elsewhere."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(cond: Tensor, a: Tensor, b: Tensor, /) -> Tensor:
        require_floats(a, b)
        return tensor(f32, broadcast(shape_of(cond), shape_of(a), shape_of(b)))

    @staticmethod
    def numpy(cond: Array, a: Array, b: Array, /) -> Array:
        return np.where(cond, a, b)


@openvino("SoftMax(Tensor data, *, int axis=1) -> Tensor")
class SoftMaxLayerOp(LayerOp):
    """exp(x) divided by the sum of exp(x) along a dimension."""

    opset = 8

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        normalize_dim(axis, len(shape_of(x)))
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return SoftmaxOp.numpy(x, axis, False)
