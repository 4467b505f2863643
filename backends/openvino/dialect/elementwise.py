"""Functions of each element, alone or of two, and the softmax."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import BinaryLayerOp, LayerOp, UnaryLayerOp, openvino
from flambeau.dialects.aten.activation import SigmoidOp
from flambeau.dialects.ir.tensor_types import Tensor, f32, shape_of, tensor
from flambeau.support.lazy import Array, np


@openvino("ReLU(Tensor data) -> Tensor")
class ReLUOp(UnaryLayerOp):
    """x above 0, 0 elsewhere."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.maximum(x, np.float32(0))


@openvino("Sigmoid(Tensor data) -> Tensor")
class SigmoidLayerOp(UnaryLayerOp):
    """1 / (1 + exp(-x))."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return SigmoidOp.numpy(x)


@openvino("Clamp(Tensor data, *, float min, float max) -> Tensor")
class ClampOp(LayerOp):
    """x within limits."""

    @staticmethod
    def infer(x: Tensor, /, min: float, max: float) -> Tensor:
        if not min <= max:
            raise ValueError(f"the result is limited to [{min}, {max}], which holds nothing")
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, min: float, max: float) -> Array:
        return np.clip(x, np.float32(min), np.float32(max))


@openvino("Add(Tensor a, Tensor b) -> Tensor")
class AddOp(BinaryLayerOp):
    """a + b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a + b


@openvino("Multiply(Tensor a, Tensor b) -> Tensor")
class MultiplyOp(BinaryLayerOp):
    """a * b."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a * b
