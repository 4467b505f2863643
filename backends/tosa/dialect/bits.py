"""Shifts of integers, and counts of their bits."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i16, i32

from flambeau.backends.tosa.dialect.operators import OfTwoOp, TosaOp, tosa
from flambeau.dialects.ir.tensor_types import Tensor
from flambeau.support.lazy import Array, np

_INTEGERS = frozenset((i8, i16, i32))


class _ShiftOp(OfTwoOp):
    """A shift of each element of the first tensor by one of the second, from 0 to one less than its bits."""

    takes = _INTEGERS


@tosa("arithmetic_right_shift(Tensor input1, Tensor input2, *, bool round) -> Tensor")
class ArithmeticRightShiftOp(_ShiftOp):
    """The numbers divided by powers of two, rounded down, or to the nearest with halves upwards."""

    @staticmethod
    def numpy(a: Array, b: Array, /, round: bool) -> Array:
        half = (a >> np.maximum(b - 1, 0)) & (b > 0) if round else np.zeros((), a.dtype)
        return ((a >> b) + half).astype(a.dtype)


@tosa("logical_left_shift(Tensor input1, Tensor input2) -> Tensor")
class LogicalLeftShiftOp(_ShiftOp):
    """The numbers times powers of two, without the bits that do not fit."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return a << b


@tosa("clz(Tensor input1) -> Tensor")
class ClzOp(TosaOp):
    """The number of bits before the first that is 1: 32 of 0, none of negative numbers."""

    takes = frozenset((i32,))
    elementwise = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        _, bits = np.frexp(x.astype(np.uint32).astype(np.float64))  # the exponent is the number of bits
        return np.where(x == 0, 32, 32 - bits).astype(np.int32)
