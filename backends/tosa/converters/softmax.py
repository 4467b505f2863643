"""Softmax and its logarithm."""

from __future__ import annotations

from math import ceil, log, log2

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, limited, operands_of, quantized, rescale
from flambeau.backends.tosa.converters.fixed_point import EXACT_FULL, FULL, added, exact_table, looked_up, normalized, number, table_between
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.bits import ArithmeticRightShiftOp
from flambeau.backends.tosa.dialect.reductions import ReduceMaxOp, ReduceSumOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.normalized import dim_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_UNIT = 256
"""The integers of a difference, so that 256 of them are all of int16."""
_SUM_BITS = 9
"""The bits of a number of elements whose exponentials, of 22 bits, have a sum in int32."""


def _distances(x: SSAValue, axis: int) -> SSAValue:
    """Returns floats less their largest."""
    return e.BINARY["sub"](x, ReduceMaxOp(x, axis=axis).result).result


@CONVERTERS("_softmax")
def _softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    axis = dim_of(op)
    powers = e.UNARY["exp"](_distances(op.operands[0], axis)).result
    share = e.UNARY["reciprocal"](ReduceSumOp(powers, axis=axis).result).result
    return e.MulOp(powers, share).result


@CONVERTERS("_log_softmax")
def _log_softmax(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    axis = dim_of(op)
    distances = _distances(op.operands[0], axis)
    total = ReduceSumOp(e.UNARY["exp"](distances).result, axis=axis).result
    return e.BINARY["sub"](distances, e.UNARY["log"](total).result).result


class _Powers:
    """exp(x - largest) along a dimension, and its sum, as its mantissa, from 2 ** 30 on, and the exponent that it was multiplied by."""

    def __init__(self, x: Quantized, axis: int, constants: ModuleConstants):
        wide, largest = (rescale(value, _UNIT, 0, 0, i32) for value in (x.value, ReduceMaxOp(x.value, axis=axis).result))
        self.distances = e.BINARY["sub"](wide, largest).result
        # One step behind the entries of the table, of which that for a distance of -255 is for -2 ** 15.
        places = e.BINARY["sub"](wide, added(largest, 2**15 - 255 * _UNIT - 1, constants)).result
        numbers = np.rint(np.exp(x.type.scale * np.arange(-255, 1)) * EXACT_FULL).astype(np.int64)
        self.powers = e.TableOp(rescale(places, 1.0, 0, 0, i16), exact_table(numbers)).result
        self.less = max(0, ceil(log2(shape_of(x.value)[axis])) - _SUM_BITS)
        """The bits that the sum is less by."""
        terms = rescale(self.powers, 2.0**-self.less, 0, 0, i32) if self.less else self.powers
        self.mantissa, self.exponent = normalized(ReduceSumOp(terms, axis=axis).result, constants)


@CONVERTERS.integers("_softmax")
def _integer_softmax(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (x,) = operands_of(found, 1)
    powers = _Powers(x, dim_of(op), constants)
    share = looked_up(powers.mantissa, table_between(np.reciprocal, 1, 2), constants)
    product = e.MulOp(powers.powers, share, 14).result
    # The sum of EXACT_FULL alone has the exponent 9.
    most = number(constants, 9 + powers.less, powers.exponent)
    result = ArithmeticRightShiftOp(product, e.BINARY["sub"](most, powers.exponent).result, round=True).result
    return limited(quantized(result, 2.0**-7 / FULL / found.to.scale, found.to), found)


@CONVERTERS.integers("_log_softmax")
def _integer_log_softmax(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (x,) = operands_of(found, 1)
    powers = _Powers(x, dim_of(op), constants)
    fraction = looked_up(powers.mantissa, table_between(np.log2, 1, 2), constants)
    whole = e.MulOp(powers.exponent, number(constants, FULL, powers.exponent)).result
    offset = round((30 + powers.less - log2(EXACT_FULL)) * FULL)
    logarithm = added(e.BINARY["sub"](fraction, whole).result, offset, constants)
    unit = (255 * x.type.scale + log(2.0) * 2**4) * 2.0**-28
    distances = rescale(powers.distances, x.type.scale / _UNIT / unit, 0, 0, i32)
    total = rescale(logarithm, log(2.0) / FULL / unit, 0, 0, i32)
    return limited(quantized(e.BINARY["sub"](distances, total).result, unit / found.to.scale, found.to), found)
