"""Sums and products of the elements of two tensors of integers, in int32."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, check_sums, largest, limited, operands_of, quantized, ranked, rescale
from flambeau.backends.tosa.dialect import elements as e
from flambeau.passes.analysis.quantized_types import IntegerOperator
from flambeau.passes.rewriting.constants import ModuleConstants

_SUM_BITS: Mapping[Attribute, int] = {i8: 20, i16: 15}
"""By how many bits the larger operand of a sum is shifted, as in TOSA's own lowering of quantized additions, and by Ethos-U."""


@CONVERTERS.integers("add.Tensor", "sub.Tensor")
def _sum(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, operands = operands_of(found, 2)
    most, unit = 2 * max(x.type.scale for x in operands), 2.0 ** _SUM_BITS[found.to.storage]
    ratios = [x.type.scale / most * unit for x in operands]
    check_sums(op, i32, sum(largest(x.type) * ratio for x, ratio in zip(operands, ratios, strict=True)), most / (found.to.scale * unit))
    shifted = [rescale(x.value, ratio, x.type.zero_point, 0, i32) for x, ratio in zip(operands, ratios, strict=True)]
    total = e.BINARY[op.schema.base](*(ranked(value, op.result) for value in shifted)).result
    return limited(quantized(total, most / (found.to.scale * unit), found.to), found)


@CONVERTERS.integers("mul.Tensor")
def _product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, operands = operands_of(found, 2)
    factors = [ranked(rescale(x.value, 1.0, x.type.zero_point, 0, i32), op.result) for x in operands]
    ratio = operands[0].type.scale * operands[1].type.scale / found.to.scale
    check_sums(op, i32, prod(largest(x.type) for x in operands), ratio)
    return limited(quantized(e.MulOp(*factors).result, ratio, found.to), found)
