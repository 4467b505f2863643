"""Logical and bitwise operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import truth
from flambeau.dialects.aten.complex_numbers.complex_families import TruthOperandsOp
from flambeau.dialects.aten.library.numerics import cast_operands
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.ir.tensor_types import Tensor
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import CompareOp, IntegerBinaryOp, UnaryOp, UnaryPredicateOp, promote_values, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


@aten("logical_not(Tensor self) -> Tensor", core=True)
class LogicalNotOp(UnaryPredicateOp):
    """Whether x is 0, as bool."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.asarray(x == 0)

    @staticmethod
    def on_parts(x: Parts, /) -> SSAValue:
        return aten.logical_not(truth(x))


@aten("logical_and(Tensor self, Tensor other) -> Tensor", core=True)
class LogicalAndOp(CompareOp, TruthOperandsOp):
    """Whether both a and b differ from 0, as bool."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return (a != 0) & (b != 0)


@aten("logical_or(Tensor self, Tensor other) -> Tensor", core=True)
class LogicalOrOp(CompareOp, TruthOperandsOp):
    """Whether a or b differs from 0, as bool."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return (a != 0) | (b != 0)


@aten("logical_xor(Tensor self, Tensor other) -> Tensor", core=True)
class LogicalXorOp(CompareOp, TruthOperandsOp):
    """Whether exactly one of a and b differs from 0, as bool."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return (a != 0) ^ (b != 0)


@aten("bitwise_not(Tensor self) -> Tensor", core=True)
class BitwiseNotOp(UnaryOp):
    """x with each bit inverted; for bools, the logical negation."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("bitwise_not", x, at_most=1)
        return UnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.invert(x)


def bitwise(function: Callable[..., Any], a: Any, b: Any) -> Array:
    """Returns a bitwise function in the operands' common type."""
    return np.asarray(function(*cast_operands(a, b)))


@aten("bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class BitwiseAndTensorOp(IntegerBinaryOp):
    """a & b; for bools, the logical conjunction."""

    @staticmethod
    def numpy(a: Array, b: Array | int, /) -> Array:
        return bitwise(np.bitwise_and, a, b)


@aten("bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class BitwiseOrTensorOp(IntegerBinaryOp):
    """a | b; for bools, the logical disjunction."""

    @staticmethod
    def numpy(a: Array, b: Array | int, /) -> Array:
        return bitwise(np.bitwise_or, a, b)


@aten("bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
@aten("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
class BitwiseXorTensorOp(IntegerBinaryOp):
    """a ^ b; for bools, the logical inequality."""

    @staticmethod
    def numpy(a: Array, b: Array | int, /) -> Array:
        return bitwise(np.bitwise_xor, a, b)


class ShiftOp(IntegerBinaryOp):
    """Bit shifts of integers; bools are not supported."""

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        require_category("a shift", a, b, at_least=1, at_most=1)
        return IntegerBinaryOp.infer(a, b)


@aten("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", keep=True)
class BitwiseLeftShiftTensorOp(ShiftOp):
    """a << b."""

    @staticmethod
    def numpy(a: Array, b: Array | int, /) -> Array:
        return bitwise(np.left_shift, a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        element = promote_values(a, b)
        return aten.mul.Tensor(a, aten.pow.Tensor_Tensor(as_operand(2, element), as_operand(b, element)))


@aten("bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", keep=True)
class BitwiseLeftShiftTensorScalarOp(ShiftOp):
    """a << b for a number b."""

    numpy = staticmethod(BitwiseLeftShiftTensorOp.numpy)

    @staticmethod
    def decompose(a: SSAValue, b: int, /) -> SSAValue:
        return aten.mul.Scalar(a, 1 << b)


@aten("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", keep=True)
class BitwiseRightShiftTensorOp(ShiftOp):
    """a >> b: a / 2**b rounded down."""

    @staticmethod
    def numpy(a: Array, b: Array | int, /) -> Array:
        return bitwise(np.right_shift, a, b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        element = promote_values(a, b)
        return aten.div.Tensor_mode(a, aten.pow.Tensor_Tensor(as_operand(2, element), as_operand(b, element)), "floor")


@aten("bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", keep=True)
class BitwiseRightShiftTensorScalarOp(ShiftOp):
    """a >> b for a number b: a / 2**b rounded down."""

    numpy = staticmethod(BitwiseRightShiftTensorOp.numpy)

    @staticmethod
    def decompose(a: SSAValue, b: int, /) -> SSAValue:
        return aten.div.Scalar_mode(a, 1 << b, "floor")
