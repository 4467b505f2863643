"""Activations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.families import FloatUnaryOp, UnaryOp
from flambeau.dialects.lazy import Array, np
from flambeau.dialects.row import aten


@aten("relu(Tensor self) -> Tensor", core=True)
class ReluOp(UnaryOp):
    """The larger of x and 0; NaN stays NaN."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return np.maximum(x, np.zeros((), x.dtype))


@aten("sigmoid(Tensor self) -> Tensor", core=True)
class SigmoidOp(FloatUnaryOp):
    """1 / (1 + exp(-x))."""

    @staticmethod
    def numpy(x: Array) -> Array:
        from flambeau.dialects.aten.numerics import to_float

        x = to_float(x)
        positive = np.exp(-np.abs(x))
        return np.where(x >= 0, 1 / (1 + positive), positive / (1 + positive)).astype(x.dtype)


@aten("silu(Tensor self) -> Tensor", keep=True)
class SiluOp(UnaryOp):
    """The sigmoid-weighted unit: x * sigmoid(x)."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return (x * SigmoidOp.numpy(x)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        from flambeau.dialects.aten.arithmetic import MulTensorOp

        return MulTensorOp(x, SigmoidOp(x).result).result
