"""Layers that compute elementwise functions of one or more tensors, and the softmax."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import BinaryLayerOp, LayerOp, UnaryLayerOp, openvino, require_floats
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, LogOp, NegOp, SinOp, SqrtOp
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.layers.activation import EluOp, GeluOp, HardsigmoidOp, HardswishOp, ReluOp, SigmoidOp, SiluOp, TanhOp
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, f32, i1, normalize_dim, shape_of, tensor
from flambeau.support.lazy import Array, np


@openvino("Abs(Tensor data) -> Tensor")
class AbsLayerOp(UnaryLayerOp):
    """The absolute value."""

    numpy = staticmethod(AbsOp.numpy)


@openvino("Ceiling(Tensor data) -> Tensor")
class CeilingLayerOp(UnaryLayerOp):
    """The smallest integer that is not below x."""

    numpy = staticmethod(CeilOp.numpy)


@openvino("Cos(Tensor data) -> Tensor")
class CosLayerOp(UnaryLayerOp):
    """The cosine."""

    numpy = staticmethod(CosOp.numpy)


@openvino("Erf(Tensor data) -> Tensor")
class ErfLayerOp(UnaryLayerOp):
    """The error function."""

    numpy = staticmethod(ErfOp.numpy)


@openvino("Exp(Tensor data) -> Tensor")
class ExpLayerOp(UnaryLayerOp):
    """The exponential."""

    numpy = staticmethod(ExpOp.numpy)


@openvino("Floor(Tensor data) -> Tensor")
class FloorLayerOp(UnaryLayerOp):
    """The largest integer that is not above x."""

    numpy = staticmethod(FloorOp.numpy)


@openvino("HSigmoid(Tensor data) -> Tensor")
class HSigmoidLayerOp(UnaryLayerOp):
    """clamp(x + 3, 0, 6) / 6."""

    opset = 5
    numpy = staticmethod(HardsigmoidOp.numpy)


@openvino("HSwish(Tensor data) -> Tensor")
class HSwishLayerOp(UnaryLayerOp):
    """x * clamp(x + 3, 0, 6) / 6."""

    opset = 4
    numpy = staticmethod(HardswishOp.numpy)


@openvino("Log(Tensor data) -> Tensor")
class LogLayerOp(UnaryLayerOp):
    """The natural logarithm."""

    numpy = staticmethod(LogOp.numpy)


@openvino("Negative(Tensor data) -> Tensor")
class NegativeLayerOp(UnaryLayerOp):
    """A change of sign."""

    numpy = staticmethod(NegOp.numpy)


@openvino("ReLU(Tensor data) -> Tensor")
class ReLULayerOp(UnaryLayerOp):
    """x where x is above 0, 0 elsewhere."""

    numpy = staticmethod(ReluOp.numpy)


@openvino("Sigmoid(Tensor data) -> Tensor")
class SigmoidLayerOp(UnaryLayerOp):
    """1 / (1 + exp(-x))."""

    numpy = staticmethod(SigmoidOp.numpy)


@openvino("Sin(Tensor data) -> Tensor")
class SinLayerOp(UnaryLayerOp):
    """The sine."""

    numpy = staticmethod(SinOp.numpy)


@openvino("Sqrt(Tensor data) -> Tensor")
class SqrtLayerOp(UnaryLayerOp):
    """The square root."""

    numpy = staticmethod(SqrtOp.numpy)


@openvino("Swish(Tensor data) -> Tensor")
class SwishLayerOp(UnaryLayerOp):
    """x / (1 + exp(-x))."""

    opset = 4
    numpy = staticmethod(SiluOp.numpy)


@openvino("Tanh(Tensor data) -> Tensor")
class TanhLayerOp(UnaryLayerOp):
    """The hyperbolic tangent."""

    numpy = staticmethod(TanhOp.numpy)


@openvino("Add(Tensor a, Tensor b) -> Tensor")
class AddLayerOp(BinaryLayerOp):
    """a + b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a + b


@openvino("Subtract(Tensor a, Tensor b) -> Tensor")
class SubtractLayerOp(BinaryLayerOp):
    """a - b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a - b


@openvino("Multiply(Tensor a, Tensor b) -> Tensor")
class MultiplyLayerOp(BinaryLayerOp):
    """a * b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a * b


@openvino("Divide(Tensor a, Tensor b) -> Tensor")
class DivideLayerOp(BinaryLayerOp):
    """a / b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a / b


@openvino("Maximum(Tensor a, Tensor b) -> Tensor")
class MaximumLayerOp(BinaryLayerOp):
    """The larger of a and b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.maximum(a, b)


@openvino("Minimum(Tensor a, Tensor b) -> Tensor")
class MinimumLayerOp(BinaryLayerOp):
    """The smaller of a and b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.minimum(a, b)


@openvino("Power(Tensor a, Tensor b) -> Tensor")
class PowerLayerOp(BinaryLayerOp):
    """a to the power of b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return PowTensorTensorOp.numpy(a, b)


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
