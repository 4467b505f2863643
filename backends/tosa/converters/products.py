"""Products of matrices."""

from __future__ import annotations

from math import ceil, log2, prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import (
    CONVERTERS,
    check_sums,
    constant,
    in_type_of,
    largest,
    limited,
    operands_of,
    quantized,
    ranked,
    rescale,
    reshaped,
)
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.operators import wide
from flambeau.backends.tosa.dialect.products import MatmulOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_SUM_BITS = 28
"""The bits of a sum to which a bias is added."""


def _batched(value: SSAValue) -> SSAValue:
    """Returns matrices with one dimension for the batch."""
    *batch, rows, columns = shape_of(value)
    return reshaped(value, (prod(batch), rows, columns))


def product(a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns the product of matrices, whose dimensions before the last two are those of a batch; of float16 it is of float32."""
    return reshaped(MatmulOp(_batched(a), _batched(b), 0, 0).result, _shape_of_product(a, b))


def _shape_of_product(a: SSAValue, b: SSAValue) -> tuple[int, ...]:
    return *shape_of(a)[:-1], shape_of(b)[-1]


def _largest_sum(a: Quantized, b: Quantized) -> float:
    return float(largest(a.type)) * largest(b.type) * shape_of(a.value)[-1]


def _integer_sums(a: Quantized, b: Quantized) -> SSAValue:
    """Returns the sums of products of matrices, of one batch: int48 is not reshaped."""
    return MatmulOp(_batched(a.value), _batched(b.value), a.type.zero_point, b.type.zero_point).result


@CONVERTERS("mm", "bmm")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return in_type_of(product(*op.operands), op.result)


@CONVERTERS("addmm")
def _sum_of_product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    bias, a, b = op.operands
    sums = product(a, b)
    return in_type_of(e.BINARY["add"](sums, in_type_of(ranked(bias, op.result), sums)).result, op.result)


@CONVERTERS.integers("mm", "bmm")
def _integer_product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (a, b) = operands_of(found, 2)
    ratio = a.type.scale * b.type.scale / found.to.scale
    check_sums(op, wide(element_of(a.value)), _largest_sum(a, b), ratio)
    results = quantized(_integer_sums(a, b), ratio, found.to)
    return limited(reshaped(results, _shape_of_product(a.value, b.value)), found)


@CONVERTERS.integers("addmm")
def _integer_sum_of_product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Converts a product and a bias. No bias is added to int48: these sums lose bits until the bias and they fit int32."""
    op, (a, b) = operands_of(IntegerOperator(found.operator, found.inputs[1:], found.to, found.low, found.high), 2)
    array = constants.array(op.operands[0])
    assert array is not None
    sums, scale = _integer_sums(a, b), a.type.scale * b.type.scale
    most = _largest_sum(a, b) + float(np.abs(array).max(initial=0)) / scale
    if element_of(sums) != i32:
        unit = 2.0 ** max(0, ceil(log2(most)) - _SUM_BITS)
        check_sums(op, element_of(sums), most, 1 / unit)
        sums, most, scale = rescale(sums, 1 / unit, 0, 0, i32), most / unit, scale * unit
    check_sums(op, i32, most, scale / found.to.scale)
    whole = np.rint(array.astype(np.float64) / scale)
    bias = constant(constants, f"{constants.name(op.operands[0])}.bias", whole.astype(np.int32), i32)
    total = e.BINARY["add"](reshaped(sums, _shape_of_product(a.value, b.value)), ranked(bias, op.result)).result
    return limited(quantized(total, scale / found.to.scale, found.to), found)
