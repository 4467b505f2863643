"""What the converters share: shapes, constants, and integers of another quantized type."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.movement import ReshapeOp
from flambeau.backends.tosa.dialect.operators import HIGH, LOW
from flambeau.dialects.fused.quantized import fixed_point
from flambeau.dialects.ir.tensor_types import shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
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


def constant(constants: ModuleConstants, name: str, array: Array, element: Attribute) -> SSAValue:
    """Returns an array as a constant."""
    return constants.add(name, np.asarray(array, order="C"), tensor(element, array.shape)).result


def rescale(x: SSAValue, ratios: Array | float, input_zp: int, output_zp: int, dtype: Attribute = i8) -> SSAValue:
    """Returns (x - input_zp) * ratio + output_zp, rounded, with one ratio or one for each entry of the last dimension."""
    multipliers, shifts = fixed_point(np.atleast_1d(np.asarray(ratios, np.float64)))
    return e.RescaleOp(x, tuple(map(int, multipliers)), tuple(map(int, shifts)), input_zp, output_zp, dtype=dtype).result


def limited(value: SSAValue, found: IntegerOperator) -> SSAValue:
    """Returns the result of an operator between integers within the limits of its clamps."""
    return value if (found.low, found.high) == (LOW, HIGH) else e.ClampOp(value, min_val=found.low, max_val=found.high).result


def same(x: Quantized, to: QuantizedType) -> SSAValue:
    """Returns integers as integers of another type."""
    if (x.type.scale, x.type.zero_point) == (to.scale, to.zero_point):
        return x.value
    return rescale(x.value, x.type.scale / to.scale, x.type.zero_point, to.zero_point)


def operands_of(found: IntegerOperator, count: int) -> tuple[SchemaOp, list[Quantized]]:
    """Returns an operator between integers, and its first operands, which are dequantized."""
    operands = [item for item in found.inputs[:count] if item is not None]
    assert found.operator is not None and len(operands) == count
    return found.operator, operands
