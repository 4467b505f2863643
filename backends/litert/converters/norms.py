"""Normalisations of floats: by the mean and the deviation, or by the root of the mean square, of rows, or by known numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import CONVERTERS, constant, of_numbers, reshaped
from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect import functions as f
from flambeau.backends.litert.dialect.reductions import MeanOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.norms import NORMS, norm_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


@CONVERTERS(*NORMS)
def _norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    norm = norm_of(op)
    x = reshaped(op.operands[0], norm.rows)
    if norm.centred:
        mean = MeanOp(x, (1,), keep_dims=True).result
        square = MeanOp(e.SquaredDifferenceOp(x, mean).result, (1,), keep_dims=True).result
        x = e.SubOp(x, mean).result
    else:
        square = MeanOp(f.SquareOp(x).result, (1,), keep_dims=True).result
    root = f.UNARY["rsqrt"](e.AddOp(square, of_numbers(constants, "eps", norm.eps, x)).result).result
    found = reshaped(e.MulOp(x, root).result, norm.scaled)
    if norm.weight is not None:
        found = e.MulOp(found, reshaped(norm.weight, norm.factors)).result
    if norm.bias is not None:
        found = e.AddOp(found, reshaped(norm.bias, norm.factors)).result
    return reshaped(found, shape_of(op.operands[0]))


@CONVERTERS("_native_batch_norm_legit_no_training")
def _batch_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, *values, _, eps = op.arguments()
    weight, bias, mean, variance = (None if value is None else constants.array(value) for value in values)
    assert mean is not None and variance is not None
    factors = (1.0 if weight is None else weight) / np.sqrt(variance.astype(np.float64) + eps)
    offsets = (0.0 if bias is None else bias) - mean * factors

    def of_channels(name: str, numbers: Array) -> SSAValue:
        return constant(constants, name, numbers.reshape(-1, *(1,) * (len(shape_of(x)) - 2)), x)

    return e.AddOp(e.MulOp(x, of_channels("factors", factors)).result, of_channels("offsets", offsets)).result
