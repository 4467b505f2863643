"""Linear layers of floats that the run quantizes, with the scale and zero point that it chooses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.fused.dynamic_quantized import DynamicQuantizedLinearOp
from flambeau.dialects.fused.packing import pack_quads
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES
from flambeau.dialects.ir.tensor_types import element_of, is_float, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorTensorOp, DequantizePerTokenOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.linear_layers import PRODUCTS, linear_parts
from flambeau.passes.quantization.weight_only_layers import IntegerWeight, integer_weight
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import np


@dataclass(frozen=True)
class DynamicInput:
    """Integers, and the tensors that say what they stand for: one scale and zero point, or one for each row."""

    integers: SSAValue
    scale: SSAValue
    zero_point: SSAValue


def dynamic_input(value: SSAValue) -> DynamicInput | None:
    """The integers that `value` is the float32 numbers of, where other tensors hold their parameters."""
    match value.owner:
        case DequantizePerTensorTensorOp() | DequantizePerTokenOp() as op if element_of(value) == f32:
            found = DynamicInput(*op.operands[:3])
        case _:
            return None
    zero_points = element_of(found.zero_point)
    if element_of(found.integers) not in RANGES or not is_float(element_of(found.scale)) or zero_points not in (i8, i32, i64):
        return decline("its input becomes floats: only int8 and uint8, with zero points of integers, have a kernel")
    return found


@dataclass(frozen=True)
class DynamicPattern(Pattern):
    """linear, mm or addmm of what the run quantized and a dequantized constant: products of integers."""

    target: Target
    constants: ModuleConstants
    roots = PRODUCTS
    counter = "dynamically quantized layers fused"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` at the edge level."""
        assert isinstance(op, SchemaOp)
        parts = linear_parts(op)
        if op.level() != "edge" or parts is None or (x := dynamic_input(parts.input)) is None:
            return None
        if (weight := integer_weight(parts, self.constants)) is None:
            return None
        if not self.target.has(DynamicQuantizedLinearOp):
            return decline(f"its input becomes floats: the target {self.target.name!r} has no kernel for {DynamicQuantizedLinearOp.name}")
        depth = weight.integers.shape[1]
        if depth > MOST_PRODUCTS or any(not is_row_major(value) for value in (x.integers, op.results[0])):
            return decline("its input becomes floats: only row-major tensors, and sums that fit int32, are multiplied as integers")
        return replace_with_values(op, [integer_product(x, weight, parts.bias, self.constants)], rewriter)


def integer_product(x: DynamicInput, weight: IntegerWeight, bias: SSAValue | None, constants: ModuleConstants) -> SSAValue:
    """The layer as one operator, with what it needs of its weight as constants."""
    packed, sums = pack_quads(weight.integers), weight.integers.sum(1, dtype=np.int32)
    load = constants.add(f"{weight.name}.packed", packed, tensor(i8, packed.shape))
    totals = constants.add(f"{weight.name}.sums", sums, tensor(i32, sums.shape))
    scales = constants.add(f"{weight.name}.scales", weight.scales, tensor(f32, weight.scales.shape))
    loads = (item.results[0] for item in (load, totals, scales))
    return DynamicQuantizedLinearOp(x.integers, x.scale, x.zero_point, *loads, bias, shape_of(scales.results[0])[0]).result
