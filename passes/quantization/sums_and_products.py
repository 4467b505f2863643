"""Sums and products of two quantized tensors, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import SSAValue

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, MulTensorOp
from flambeau.dialects.fused.quantized import RANGES
from flambeau.dialects.fused.quantized_elementwise import (
    NARROW_SHIFTS,
    PRODUCT_BITS,
    SUM_BITS,
    QuantizedAddOp,
    QuantizedMulOp,
    per_channel,
)
from flambeau.dialects.ir.tensor_types import same_shape, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.quantization.integer_pattern import IntegerPattern
from flambeau.passes.rewriting.explanation import decline


def _shift(ratio: float, bits: int) -> int | None:
    """Returns the shift that gives a ratio a multiplier of so many bits; None, with a reason, where it is too large."""
    shift = min(bits - math.frexp(ratio)[1], NARROW_SHIFTS[1])
    return shift if shift >= NARROW_SHIFTS[0] else decline(f"stays in floats: the ratio of scales {ratio} is too large")


@dataclass(frozen=True)
class PairPattern(IntegerPattern):
    """Two dequantized tensors."""

    def pair(self, found: IntegerOperator, form: type[SchemaOp]) -> tuple[Quantized, Quantized] | None:
        """Returns the integers of the two operands; None, with a reason, where `form` cannot compute them."""
        if not self.has(form) or len(found.inputs) != 2:
            return None
        (x, y), to = found.inputs, found.to
        if x is None or y is None or x.type.axis is not None or y.type.axis is not None:
            return decline("stays in floats: an operand is not dequantized with one constant scale")
        if to.storage not in RANGES or {x.type.storage, y.type.storage} != {to.storage}:
            return decline(f"stays in floats: {x.type.storage} and {y.type.storage} as {to.storage} have no kernel")
        return x, y


@dataclass(frozen=True)
class SumPattern(PairPattern):
    """quantize(clamp(dequantize(x) + dequantize(y))): the sum in integers."""

    operators = (AddTensorOp,)
    counter = "sums fused"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a sum; None, with a reason, where no kernel computes them."""
        if op.argument("alpha") != 1 or (operands := self.pair(found, QuantizedAddOp)) is None:
            return None
        (x, y), to = operands, found.to
        # Equal types may have sizes of which nothing is known.
        if x.value.type != y.value.type or not same_shape(shape_of(x.value), shape_of(y.value)):
            return decline("stays in floats: its operands have different sizes or layouts")
        ratios = (x.type.scale / to.scale, y.type.scale / to.scale)
        if (shift := _shift(max(ratios), SUM_BITS)) is None:
            return None
        multipliers = (round(ratio * 2**shift) for ratio in ratios)
        zero_points = x.type.zero_point, y.type.zero_point, to.zero_point
        return QuantizedAddOp(x.value, y.value, *multipliers, shift, *zero_points, found.low, found.high).result


@dataclass(frozen=True)
class ProductPattern(PairPattern):
    """quantize(clamp(dequantize(x) * dequantize(y))): the product in integers, where y is like x or a number for each channel."""

    operators = (MulTensorOp,)
    counter = "products fused"

    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns the integers of a product; None, with a reason, where no kernel computes them."""
        if (operands := self.pair(found, QuantizedMulOp)) is None:
            return None
        shape, to = shape_of(op.results[0]), found.to
        x, y = operands if shape_of(operands[0].value) == shape else reversed(operands)
        if shape_of(x.value) != shape or shape_of(y.value) not in (shape, per_channel(shape)):
            return decline("stays in floats: of products, only those of equal shapes, or with a number for each channel, have a kernel")
        ratio = x.type.scale * y.type.scale / to.scale
        if (shift := _shift(ratio, PRODUCT_BITS)) is None:
            return None
        zero_points = x.type.zero_point, y.type.zero_point, to.zero_point
        return QuantizedMulOp(x.value, y.value, round(ratio * 2**shift), shift, *zero_points, found.low, found.high).result
