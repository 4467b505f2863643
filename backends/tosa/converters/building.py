"""What the converters share: shapes, constants, and integers of another quantized type."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.choices import CastOp
from flambeau.backends.tosa.dialect.movement import ReshapeOp
from flambeau.backends.tosa.dialect.operators import RANGES, i48
from flambeau.dialects.fused.quantized import fixed_point
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("tosa")


def reshaped(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Returns the same elements in another shape."""
    return value if shape_of(value) == tuple(shape) else ReshapeOp(value, tuple(shape)).result


def ranked(value: SSAValue, like: SSAValue) -> SSAValue:
    """Returns a value with as many dimensions as another has."""
    return reshaped(value, (*(1,) * (len(shape_of(like)) - len(shape_of(value))), *shape_of(value)))


def in_type_of(value: SSAValue, like: SSAValue) -> SSAValue:
    """Returns numbers in the element type of others."""
    return value if element_of(value) == element_of(like) else CastOp(value, dtype=element_of(like)).result


def constant(constants: ModuleConstants, name: str, array: Array, element: Attribute) -> SSAValue:
    """Returns an array as a constant."""
    return constants.add(name, np.asarray(array, order="C"), tensor(element, array.shape)).result


def rescale(x: SSAValue, ratios: Array | float, input_zp: int, output_zp: int, dtype: Attribute) -> SSAValue:
    """Returns (x - input_zp) * ratio + output_zp, rounded, with one ratio or one for each entry of the last dimension."""
    bits = 15 if element_of(x) == i48 else 31
    multipliers, shifts = fixed_point(np.atleast_1d(np.asarray(ratios, np.float64)), bits)
    return e.RescaleOp(x, tuple(map(int, multipliers)), tuple(map(int, shifts)), input_zp, output_zp, dtype=dtype).result


def quantized(x: SSAValue, ratios: Array | float, to: QuantizedType, input_zp: int = 0) -> SSAValue:
    """Returns (x - input_zp) * ratio, rounded, as integers of a quantized type."""
    return rescale(x, ratios, input_zp, to.zero_point, to.storage)


def largest(kind: QuantizedType) -> int:
    """Returns the greatest distance of an integer of a quantized type from its zero point."""
    low, high = RANGES[kind.storage]
    return max(kind.zero_point - low, high - kind.zero_point)


def check_sums(op: SchemaOp, element: Attribute, most: float, ratio: float) -> None:
    """Raises RefusedError where sums of up to `most` may not fit their element type, or may not be multiplied by a ratio.

    Source: `apply_scale_32`, for numbers of less bits than the shift, and `apply_scale_16`, for results in int32.
    """
    if most > RANGES[element][1]:
        raise RefusedError({op: f"its sums may not fit int{48 if element == i48 else 32}"})
    if 4 * most * ratio > RANGES[i32][1] or 4 * ratio >= RANGES[i16][1]:
        raise RefusedError({op: f"its sums may not fit int32 when they are multiplied by {ratio:.6g}, the ratio of the scales"})


def limited(value: SSAValue, found: IntegerOperator) -> SSAValue:
    """Returns the result of an operator between integers within the limits of its clamps."""
    return value if (found.low, found.high) == RANGES[found.to.storage] else e.ClampOp(value, min_val=found.low, max_val=found.high).result


def same(x: Quantized, to: QuantizedType) -> SSAValue:
    """Returns integers as integers of another type."""
    return x.value if x.type.stands_for_same(to) else quantized(x.value, x.type.scale / to.scale, to, x.type.zero_point)


def operands_of(found: IntegerOperator, count: int) -> tuple[SchemaOp, list[Quantized]]:
    """Returns an operator between integers, and its first operands, which are dequantized."""
    operands = [item for item in found.inputs[:count] if item is not None]
    assert found.operator is not None and len(operands) == count
    return found.operator, operands
