"""Elementwise operators of quantised numbers, in integers: sums, products, and any function of one tensor by its table."""

from __future__ import annotations

from flambeau.dialects.fused.quantized import RANGES, check_numbers
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np

SUM_BITS = 21
"""The multipliers of a sum have at most so many bits: the sum stays within int32."""
PRODUCT_BITS = 14
"""The multiplier of a product has at most so many bits: the scaled product stays within int32."""
NARROW_SHIFTS = (1, 30)
"""The least and the greatest shift of numbers in int32."""


def _check_operands(x: Tensor, other: Tensor) -> None:
    if element_of(x) not in RANGES or element_of(other) != element_of(x):
        given = ", ".join(dtype_of(element_of(item)).torch for item in (x, other))
        raise TypeError(f"the operands must be of int8 or uint8, both of one, got {given}")


def _check_scale(shift: int, bits: int, *multipliers: int) -> None:
    if not all(0 <= item <= 2**bits for item in multipliers):
        raise ValueError(f"a multiplier must be from 0 to {2**bits}, got {' and '.join(map(str, multipliers))}")
    if not NARROW_SHIFTS[0] <= shift <= NARROW_SHIFTS[1]:
        raise ValueError(f"shift must be from {NARROW_SHIFTS[0]} to {NARROW_SHIFTS[1]}, got {shift}")


@row(
    "fused",
    "flambeau",
    "quantized_add(Tensor input, Tensor other, int input_multiplier, int other_multiplier, int shift, int input_zero_point,"
    " int other_zero_point, int zero_point, int low, int high) -> Tensor",
)
class QuantizedAddOp(SchemaOp):
    """The sum of two quantised tensors of one shape, each times its multiplier / 2 ** shift, rounded as in `fused.quantized_linear`."""

    elementwise = True

    @staticmethod
    def infer(
        x: Tensor,
        other: Tensor,
        /,
        input_multiplier: int,
        other_multiplier: int,
        shift: int,
        input_zero_point: int,
        other_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Tensor:
        _check_operands(x, other)
        if shape_of(x) != shape_of(other):
            raise ValueError(f"the operands must have one shape, got {list(shape_of(x))} and {list(shape_of(other))}")
        check_numbers(x, low, high, input_zero_point, other_zero_point, zero_point)
        _check_scale(shift, SUM_BITS, input_multiplier, other_multiplier)
        return x

    @staticmethod
    def numpy(
        x: Array,
        other: Array,
        /,
        input_multiplier: int,
        other_multiplier: int,
        shift: int,
        input_zero_point: int,
        other_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Array:
        left = (x.astype(np.int32) - input_zero_point) * input_multiplier
        right = (other.astype(np.int32) - other_zero_point) * other_multiplier
        return np.clip((left + right + (1 << (shift - 1)) >> shift) + zero_point, low, high).astype(x.dtype)


@row(
    "fused",
    "flambeau",
    "quantized_mul(Tensor input, Tensor other, int multiplier, int shift, int input_zero_point, int other_zero_point, int zero_point,"
    " int low, int high) -> Tensor",
)
class QuantizedMulOp(SchemaOp):
    """The product of two quantised tensors, times multiplier / 2 ** shift, rounded as in `fused.quantized_linear`.

    `other` has the shape of `input`, or one number per channel of `input`: [batch, channels, 1, …].
    """

    elementwise = True

    @staticmethod
    def infer(
        x: Tensor,
        other: Tensor,
        /,
        multiplier: int,
        shift: int,
        input_zero_point: int,
        other_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Tensor:
        _check_operands(x, other)
        if shape_of(other) not in (shape_of(x), per_channel(shape_of(x))):
            expected = f"{list(shape_of(x))} or {list(per_channel(shape_of(x)))}"
            raise ValueError(f"other must have the shape {expected}, got {list(shape_of(other))}")
        check_numbers(x, low, high, input_zero_point, other_zero_point, zero_point)
        _check_scale(shift, PRODUCT_BITS, multiplier)
        return x

    @staticmethod
    def numpy(
        x: Array,
        other: Array,
        /,
        multiplier: int,
        shift: int,
        input_zero_point: int,
        other_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Array:
        product = (x.astype(np.int32) - input_zero_point) * (other.astype(np.int32) - other_zero_point) * multiplier
        return np.clip((product + (1 << (shift - 1)) >> shift) + zero_point, low, high).astype(x.dtype)


def per_channel(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of one number for each channel of each image of a batch."""
    return (*shape[:2], *(1,) * len(shape[2:]))


@row("fused", "flambeau", "quantized_table(Tensor input, Tensor table) -> Tensor")
class QuantizedTableOp(SchemaOp):
    """table[input]: entry i is the result for the byte i, so entry 255 is the result for the int8 -1. This is TOSA's TABLE."""

    elementwise = True

    @staticmethod
    def infer(x: Tensor, table: Tensor, /) -> Tensor:
        if element_of(x) not in RANGES or element_of(table) not in RANGES:
            given = ", ".join(dtype_of(element_of(item)).torch for item in (x, table))
            raise TypeError(f"the input and the table must be of int8 or uint8, got {given}")
        if shape_of(table) != (256,):
            raise ValueError(f"the table must have the shape [256], got {list(shape_of(table))}")
        return tensor(element_of(table), shape_of(x))

    @staticmethod
    def numpy(x: Array, table: Array, /) -> Array:
        return table[x.view(np.uint8)]
