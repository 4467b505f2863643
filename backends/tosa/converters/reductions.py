"""Sums, means, extremes and products over dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import (
    CONVERTERS,
    check_sums,
    constant,
    largest,
    limited,
    quantized,
    rescale,
    reshaped,
    same,
)
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.reductions import ReduceMaxOp, ReduceMinOp, ReduceProductOp, ReduceSumOp, ReductionOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.normalized import reduced_dims
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_EXTREMES: dict[str, type[ReductionOp]] = {
    "amax": ReduceMaxOp,
    "amin": ReduceMinOp,
    "max.dim": ReduceMaxOp,
    "min.dim": ReduceMinOp,
}


def reduced(node: type[ReductionOp], x: SSAValue, dims: Iterable[int]) -> SSAValue:
    """Returns a reduction over dimensions, which stay with one entry."""
    for axis in dims:
        if shape_of(x)[axis] != 1:
            x = node(x, axis=axis).result
    return x


def count_of(x: SSAValue, dims: Iterable[int]) -> int:
    """Returns the number of elements of a reduction."""
    return prod(shape_of(x)[dim] for dim in dims)


def float_mean(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Returns a mean of floats: the sum times the reciprocal of the number of elements."""
    x, dims = op.operands[0], reduced_dims(op)
    total = reduced(ReduceSumOp, x, dims)
    share = constant(constants, "share", np.full((1,) * len(shape_of(x)), 1 / count_of(x, dims), np.float32), f32)
    return reshaped(e.MulOp(total, share).result, shape_of(op.result))


def integer_sum(found: IntegerOperator, divisor: int = 1) -> SSAValue:
    """Returns a sum of integers, divided; it is rounded once. Raises RefusedError where the sums may not fit."""
    op, x, to = found.operator, found.x, found.to
    assert op is not None
    dims, ratio = reduced_dims(op), x.type.scale / to.scale / divisor
    check_sums(op, i32, largest(x.type) * count_of(x.value, dims), ratio)
    total = reduced(ReduceSumOp, rescale(x.value, 1.0, x.type.zero_point, 0, i32), dims)
    return limited(reshaped(quantized(total, ratio, to), shape_of(op.result)), found)


def integer_mean(found: IntegerOperator) -> SSAValue:
    """Returns a mean of integers."""
    assert found.operator is not None
    return integer_sum(found, count_of(found.x.value, reduced_dims(found.operator)))


@CONVERTERS("sum.dim_IntList")
def _sum(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return reshaped(reduced(ReduceSumOp, op.operands[0], reduced_dims(op)), shape_of(op.result))


@CONVERTERS("prod.dim_int")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return reshaped(reduced(ReduceProductOp, op.operands[0], reduced_dims(op)), shape_of(op.result))


@CONVERTERS.integers("sum.dim_IntList")
def _integer_sum(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return integer_sum(found)


@CONVERTERS(*_EXTREMES)
def _extreme(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return reshaped(reduced(_EXTREMES[op.schema.name], op.operands[0], reduced_dims(op)), shape_of(op.results[0]))


@CONVERTERS.integers(*_EXTREMES)
def _integer_extreme(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = found.operator, found.x
    assert op is not None
    chosen = reduced(_EXTREMES[op.schema.name], x.value, reduced_dims(op))
    return limited(same(Quantized(reshaped(chosen, shape_of(op.results[0])), x.type), found.to), found)
