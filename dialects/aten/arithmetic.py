"""Elementwise arithmetic on two operands."""

from __future__ import annotations

from flambeau.dialects.aten.families import BinaryOp
from flambeau.dialects.aten.numerics import cast_operands
from flambeau.dialects.lazy import Array
from flambeau.dialects.row import aten


@aten("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", core=True)
class AddTensorOp(BinaryOp):
    """a + alpha * b."""

    @staticmethod
    def numpy(a: Array, b: Array, alpha: float) -> Array:
        a, b = cast_operands(a, b)
        return a + b if alpha == 1 else a + b.dtype.type(alpha) * b


@aten("mul.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class MulTensorOp(BinaryOp):
    """a * b."""

    @staticmethod
    def numpy(a: Array, b: Array) -> Array:
        a, b = cast_operands(a, b)
        return a * b
