"""Reductions over dimensions, and functions along one."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import i16
from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import CONVERTERS, fixed_type, limited, operator_of, reshaped, same, transposed, types
from flambeau.backends.litert.converters.images import pooled
from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect import reductions as r
from flambeau.backends.litert.legality import is_of_pixels
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.transposes import inverse
from flambeau.passes.delegation.normalized import Windows, dim_of, reduced_dims
from flambeau.passes.rewriting.constants import ModuleConstants

_REDUCTIONS: dict[str, Any] = {
    "amax": r.ReduceMaxOp,
    "amin": r.ReduceMinOp,
    "max.dim": r.ReduceMaxOp,
    "min.dim": r.ReduceMinOp,
    "prod.dim_int": r.ReduceProdOp,
    "sum.dim_IntList": r.SumOp,
}
_MOST_IN_MEAN = 1 << 16
"""The most int16 whose sum fits int32."""
_CHOOSING = ("amax", "amin", "max.dim", "min.dim")


def _mean(op: SchemaOp, x: SSAValue, kinds: tuple[QuantizedType, ...], constants: ModuleConstants) -> SSAValue:
    """Returns a mean; that of images is a pool, whose integers keep their type."""
    if is_of_pixels(op):
        windows = Windows(shape_of(x)[2:], (1, 1), (0, 0), (1, 1), (0, 0))
        return pooled(op, x, windows, kinds[0] if kinds else None, constants)
    own = types(*kinds) if kinds else {}
    return reshaped(r.MeanOp(x, tuple(reduced_dims(op)), keep_dims=True, **own).result, shape_of(op.result))


def _reduced(op: SchemaOp, x: SSAValue) -> SSAValue:
    found = _REDUCTIONS[op.schema.name](x, tuple(reduced_dims(op)), keep_dims=True).result
    return reshaped(found, shape_of(op.results[0]))


@CONVERTERS("mean.dim")
def _float_mean(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _mean(op, op.operands[0], (), constants)


@CONVERTERS.integers("mean.dim")
def _integer_mean(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = operator_of(found), found.x
    count = prod(shape_of(x.value)[dim] for dim in reduced_dims(op))
    if x.type.storage == i16 and count > _MOST_IN_MEAN:
        raise RefusedError({op: f"its sums of {count} integers may not fit int32"})
    result = _mean(op, x.value, (x.type, found.to), constants)
    return limited(same(Quantized(result, x.type), found.to) if is_of_pixels(op) else result, found, constants)


@CONVERTERS(*_REDUCTIONS)
def _float_reduction(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _reduced(op, op.operands[0])


@CONVERTERS.integers(*_CHOOSING)
def _integer_reduction(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(same(Quantized(_reduced(operator_of(found), found.x.value), found.x.type), found.to), found, constants)


@CONVERTERS("argmax", "argmin")
def _place(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, dim = op.operands[0], op.argument("dim")
    x, dim = (reshaped(x, (prod(shape_of(x)),)), 0) if dim is None else (x, dim_of(op))
    node: Any = r.ArgMaxOp if op.schema.base == "argmax" else r.ArgMinOp
    return reshaped(node(x, (dim,), output_type="INT64").result, shape_of(op.result))


@CONVERTERS("cumsum")
def _sums(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return r.CumsumOp(op.operands[0], (dim_of(op),)).result


# Functions along a dimension


def _on_rows(op: SchemaOp, x: SSAValue, node: Any, **numbers: Any) -> SSAValue:
    """Returns a function of rows, which are along the last dimension."""
    rank, dim = len(shape_of(x)), dim_of(op)
    if dim == rank - 1:
        return node(x, **numbers).result
    order = tuple(rank - 1 if item == dim else dim if item == rank - 1 else item for item in range(rank))
    return transposed(node(transposed(x, order), **numbers).result, inverse(order))


@CONVERTERS("_softmax", "_log_softmax")
def _float_softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _on_rows(op, op.operands[0], e.SoftmaxOp if op.schema.base == "_softmax" else r.LogSoftmaxOp)


@CONVERTERS.integers("_softmax")
def _integer_softmax(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    fixed = fixed_type(e.SoftmaxOp, found.x.type)
    result = _on_rows(operator_of(found), found.x.value, e.SoftmaxOp, **types(found.x.type, fixed))
    return limited(same(Quantized(result, fixed), found.to), found, constants)
