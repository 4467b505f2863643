"""Products of matrices."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, constant, limited, operands_of, ranked, rescale, reshaped
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.products import MatmulOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_LARGEST_FACTOR = 255
"""The greatest distance of an int8 from its zero point."""


def _batched(value: SSAValue) -> SSAValue:
    """Returns matrices with one dimension for the batch."""
    *batch, rows, columns = shape_of(value)
    return reshaped(value, (prod(batch), rows, columns))


def product(a: SSAValue, b: SSAValue, a_zp: int = 0, b_zp: int = 0) -> SSAValue:
    """Returns the product of matrices, whose dimensions before the last two are those of a batch."""
    found = MatmulOp(_batched(a), _batched(b), a_zp, b_zp).result
    return reshaped(found, (*shape_of(a)[:-1], shape_of(b)[-1]))


def integer_sums(op: SchemaOp, a: Quantized, b: Quantized, most: float = 0.0) -> SSAValue:
    """Returns the sums of products in int32. Raises RefusedError where they, plus a number of up to `most`, may not fit."""
    if _LARGEST_FACTOR**2 * shape_of(a.value)[-1] + most > 2**31 - 1:
        raise RefusedError({op: "its sums of products and bias may not fit int32"})
    return product(a.value, b.value, a.type.zero_point, b.type.zero_point)


@CONVERTERS("mm", "bmm")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    a, b = op.operands
    return product(a, b)


@CONVERTERS("addmm")
def _sum_of_product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    bias, a, b = op.operands
    return e.BINARY["add"](product(a, b), ranked(bias, op.result)).result


@CONVERTERS.integers("mm", "bmm")
def _integer_product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (a, b) = operands_of(found, 2)
    ratio = a.type.scale * b.type.scale / found.to.scale
    return limited(rescale(integer_sums(op, a, b), ratio, 0, found.to.zero_point), found)


@CONVERTERS.integers("addmm")
def _integer_sum_of_product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (a, b) = operands_of(IntegerOperator(found.operator, found.inputs[1:], found.to, found.low, found.high), 2)
    array = constants.array(op.operands[0])
    assert array is not None
    scale = a.type.scale * b.type.scale
    whole = np.rint(array.astype(np.float64) / scale)
    sums = integer_sums(op, a, b, float(np.abs(whole).max(initial=0)))
    bias = constant(constants, f"{constants.name(op.operands[0])}.bias", whole.astype(np.int32), i32)
    total = e.BINARY["add"](sums, ranked(bias, op.result)).result
    return limited(rescale(total, scale / found.to.scale, 0, found.to.zero_point), found)
