"""Sums and products of two quantized tensors, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

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
from flambeau.dialects.ir.tensor_types import is_static, shape_of
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import Quantized, QuantizedType, before_clamp, dequantized, quantized_type
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.targets.interface import Target


def _operands(
    op: SchemaOp, to: QuantizedType, form: type[SchemaOp], target: Target, constants: ModuleConstants
) -> tuple[Quantized, Quantized] | None:
    """Returns the integers of the two dequantized operands; None, with a reason, where `form` cannot compute them."""
    if not target.has(form):
        return decline(f"stays in floats: the target {target.name!r} has no kernel for {form.name}")
    if len(op.operands) != 2:
        return None
    x, y = (dequantized(operand, constants) for operand in op.operands)
    if x is None or y is None or x.type.axis is not None or y.type.axis is not None:
        return decline("stays in floats: an operand is not dequantized with one constant scale")
    if to.storage not in RANGES or {x.type.storage, y.type.storage} != {to.storage}:
        return decline(f"stays in floats: {x.type.storage} and {y.type.storage} as {to.storage} have no kernel")
    if not is_static(x.value, y.value):
        return decline("stays in floats: its operands have dynamic sizes")
    return x, y


def _shift(ratio: float, bits: int) -> int | None:
    """Returns the shift that gives a ratio a multiplier of so many bits; None, with a reason, where it is too large."""
    shift = min(bits - math.frexp(ratio)[1], NARROW_SHIFTS[1])
    return shift if shift >= NARROW_SHIFTS[0] else decline(f"stays in floats: the ratio of scales {ratio} is too large")


@dataclass(frozen=True)
class SumPattern(Pattern):
    """quantize(clamp(dequantize(x) + dequantize(y))): the sum in integers."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "sums fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand is a sum."""
        assert isinstance(op, QuantizePerTensorOp)
        to = quantized_type(op)
        value, low, high = before_clamp(op.operands[0], to)
        total = value.owner
        if not isinstance(total, AddTensorOp) or total.level() != "edge" or total.argument("alpha") != 1 or not value.has_one_use():
            return None
        if (operands := _operands(total, to, QuantizedAddOp, self.target, self.constants)) is None:
            return None
        x, y = operands
        if x.value.type != y.value.type:
            return decline("stays in floats: its operands have different sizes or layouts")
        ratios = (x.type.scale / to.scale, y.type.scale / to.scale)
        if (shift := _shift(max(ratios), SUM_BITS)) is None:
            return None
        multipliers = (round(ratio * 2**shift) for ratio in ratios)
        zero_points = x.type.zero_point, y.type.zero_point, to.zero_point
        return replace_with_values(op, [QuantizedAddOp(x.value, y.value, *multipliers, shift, *zero_points, low, high).result], rewriter)


@dataclass(frozen=True)
class ProductPattern(Pattern):
    """quantize(clamp(dequantize(x) * dequantize(y))): the product in integers, where y is like x or a number for each channel."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    counter = "products fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, whose operand is a product."""
        assert isinstance(op, QuantizePerTensorOp)
        to = quantized_type(op)
        value, low, high = before_clamp(op.operands[0], to)
        product = value.owner
        if not isinstance(product, MulTensorOp) or product.level() != "edge" or not value.has_one_use():
            return None
        if (operands := _operands(product, to, QuantizedMulOp, self.target, self.constants)) is None:
            return None
        shape = shape_of(value)
        x, y = operands if shape_of(operands[0].value) == shape else reversed(operands)
        if shape_of(x.value) != shape or shape_of(y.value) not in (shape, per_channel(shape)):
            return decline("stays in floats: of products, only those of equal shapes, or with a number for each channel, have a kernel")
        ratio = x.type.scale * y.type.scale / to.scale
        if (shift := _shift(ratio, PRODUCT_BITS)) is None:
            return None
        zero_points = x.type.zero_point, y.type.zero_point, to.zero_point
        fused = QuantizedMulOp(x.value, y.value, round(ratio * 2**shift), shift, *zero_points, low, high)
        return replace_with_values(op, [fused.result], rewriter)
