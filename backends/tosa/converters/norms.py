"""Normalisations by the mean and the deviation, or by the root of the mean square, of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2, sqrt

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, constant, limited, operands_of, quantized, rescale, reshaped
from flambeau.backends.tosa.converters.fixed_point import FULL, added, looked_up, number, table_between
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.bits import ArithmeticRightShiftOp, ClzOp, LogicalLeftShiftOp
from flambeau.backends.tosa.dialect.reductions import ReduceSumOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.norms import NORMS, Norm, norm_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

_BITS = 7
"""The bits behind the point of the distances of int8 from their mean."""
_ROOM = 30
"""The bits of a sum of squares, and of what is added to it."""
_FACTOR_BITS = 15
_MOST_IN_ROW = 2**15
_FEWEST_IN_PART, _MOST_IN_PART = 2**8, 2**12


def _of_each(constants: ModuleConstants, name: str, number: float) -> SSAValue:
    return constant(constants, name, np.full((1, 1), number, np.float32), f32)


@CONVERTERS(*NORMS)
def _float_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    norm = norm_of(op)
    x, share = reshaped(op.operands[0], norm.rows), _of_each(constants, "share", 1 / norm.rows[1])
    if norm.centred:
        x = e.BINARY["sub"](x, e.MulOp(ReduceSumOp(x, axis=1).result, share).result).result
    square = e.MulOp(ReduceSumOp(e.MulOp(x, x).result, axis=1).result, share).result
    root = e.UNARY["rsqrt"](e.BINARY["add"](square, _of_each(constants, "eps", norm.eps)).result).result
    found = reshaped(e.MulOp(x, root).result, norm.scaled)
    if norm.weight is not None:
        found = e.MulOp(found, reshaped(norm.weight, norm.factors)).result
    if norm.bias is not None:
        found = e.BINARY["add"](found, reshaped(norm.bias, norm.factors)).result
    return reshaped(found, shape_of(op.operands[0]))


def _part(count: int) -> int:
    """Returns the number of elements whose squares are added before they lose the bits that make room for the other squares."""
    return next(size for size in range(min(count, _MOST_IN_PART), 0, -1) if count % size == 0)


def _sum_of_squares(distances: SSAValue, bits: int, less: int) -> SSAValue:
    """Returns the sum of squares, of so many bits each, of each row, less by a power of two."""
    rows, count = shape_of(distances)
    part = _part(count)
    at_once = less if part == count else min(less, max(0, ceil(log2(part)) + bits - _ROOM))
    squares = reshaped(e.MulOp(distances, distances, at_once).result, (rows, count // part, part))
    sums = ReduceSumOp(squares, axis=2).result
    if at_once < less:
        sums = rescale(sums, 2.0 ** (at_once - less), 0, 0, i32)
    return reshaped(ReduceSumOp(sums, axis=1).result if part < count else sums, (rows, 1))


def _normalized(x: Quantized, norm: Norm, constants: ModuleConstants) -> tuple[SSAValue, float]:
    """Returns the rows of integers over their deviations, or roots of mean squares, and what one of these integers stands for."""
    count, squares_bits = norm.rows[1], 2 * (_BITS + 8) - 2 * norm.centred
    distances = rescale(reshaped(x.value, norm.rows), 2**_BITS, x.type.zero_point, 0, i32)
    if norm.centred:
        mean = rescale(ReduceSumOp(distances, axis=1).result, 1 / count, 0, 0, i32)
        distances = e.BINARY["sub"](distances, mean).result
    eps = max(norm.eps / x.type.scale**2 * 4**_BITS * count, 2.0**-60)
    less = max(0, ceil(log2(count)) + squares_bits - _ROOM, ceil(log2(eps)) - _ROOM)
    squares = _sum_of_squares(distances, squares_bits, less)
    squares = added(squares, max(round(eps * 2.0**-less), 1), constants)
    # The exponent is even: half of it is that of the root.
    half = ArithmeticRightShiftOp(added(ClzOp(squares).result, -1, constants), number(constants, 1, squares), round=False).result
    mantissa = LogicalLeftShiftOp(squares, e.BINARY["add"](half, half).result).result
    root = looked_up(mantissa, table_between(lambda item: 1 / np.sqrt(item), 1, 4), constants, 29)
    most = number(constants, 15, half)
    product = e.MulOp(distances, root, 8).result
    result = ArithmeticRightShiftOp(product, e.BINARY["sub"](most, half).result, round=True).result
    return result, 2**8.5 / FULL * sqrt(count * 2.0**-less)


def _array(constants: ModuleConstants, value: SSAValue | None, shape: Sequence[int]) -> Array | None:
    array = None if value is None else constants.array(value)
    return None if array is None else array.astype(np.float64).reshape(tuple(shape))


@CONVERTERS.integers(*NORMS)
def _integer_norm(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, (x,) = operands_of(found, 1)
    norm = norm_of(op)
    count = norm.rows[1]
    if count > _MOST_IN_ROW or (count > _MOST_IN_PART and _part(count) < _FEWEST_IN_PART):
        raise RefusedError({op: f"the sums of its rows of {count} elements may not fit int32, or are not exact enough"})
    result, unit = _normalized(x, norm, constants)
    result = reshaped(result, norm.scaled)
    weight, bias = (_array(constants, value, norm.factors) for value in (norm.weight, norm.bias))
    most = sqrt(norm.rows[1]) / unit
    if weight is not None:
        factor_unit = float(np.abs(weight).max()) / 2**_FACTOR_BITS or 1.0
        offset = 0.0 if bias is None else float(np.abs(bias).max()) / (unit * factor_unit)
        less = max(0, ceil(log2(max(most * 2**_FACTOR_BITS, offset))) - _ROOM + 1)
        factors = constant(constants, "factors", np.rint(weight / factor_unit).astype(np.int32), i32)
        result, unit = e.MulOp(result, factors, less).result, unit * factor_unit * 2**less
    if bias is not None:
        numbers = np.rint(bias / unit)
        if np.abs(numbers).max() > 2**_ROOM:
            raise RefusedError({op: "its bias is too large beside its rows"})
        result = e.BINARY["add"](result, constant(constants, "offsets", numbers.astype(np.int32), i32)).result
    result = quantized(result, unit / found.to.scale, found.to)
    return limited(reshaped(result, shape_of(op.operands[0])), found)
