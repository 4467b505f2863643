"""Arithmetic on numbers and, element by element, on tensors: `arith`, `math` and `varith`.

Integers wrap around at their width. They have no sign of their own: each operation reads the highest bit as a sign or not. An i1 is a
bool here, and true is -1 for an operation with signs. Floats are rounded to their type after each operation. A result that MLIR leaves
undefined, as for a shift by more than the width, is always the same; undefined behaviour, as for a division by zero, is an error.
"""

from __future__ import annotations

import math as numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, math, varith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from flambeau.runtime.interpreter.array_kinds import array_kind
from flambeau.runtime.interpreter.function_interface import InterpreterError, InterpreterFunction, UnsupportedError
from flambeau.support.lazy import Array, np

Compute = Callable[..., Any]


# Bits of integers


def _signed(x: Array) -> Array:
    if x.dtype.kind == "b":
        return -x.astype(np.int8)
    return x.view(f"i{x.dtype.itemsize}")


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _wrapped(x: Any, dtype: np.dtype[Any]) -> Array:
    """Returns integers, of numpy or Python, as the integers of a dtype with the same low bits."""
    x = np.asarray(x)
    if dtype.kind == "b":
        return np.asarray(x & 1, np.bool_)
    if x.dtype.kind == "O":
        x = np.asarray(x & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}")
    return x.astype(dtype)


def _width(x: Array) -> int:
    return 1 if x.dtype.kind == "b" else 8 * x.dtype.itemsize


def _integers(compute: Compute, view: Callable[[Array], Array] = _signed) -> InterpreterFunction:
    """Returns the interpreter function that applies `compute` to integers, viewed by `view`; the result has the type of operand 0."""

    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        return [_wrapped(compute(*map(view, values)), values[0].dtype)]

    return run


def _resized(view: Callable[[Array], Array]) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        return [_wrapped(view(values[0]), array_kind(op.results[0].type)[1])]

    return run


def _division(compute: Compute, view: Callable[[Array], Array] = _signed) -> InterpreterFunction:
    divide = _integers(compute, view)

    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        if not values[1].all():
            raise InterpreterError(f"{op.name}: division by zero", op)
        return cast("Sequence[Array]", divide(op, values))

    return run


def _truncating(x: Array, y: Array) -> Array:
    return (x - np.fmod(x, y)) // y


def _ceiling(x: Array, y: Array) -> Array:
    return x // y + (x % y != 0).astype(x.dtype)


def _shift(compute: Compute, view: Callable[[Array], Array]) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        x, amount = values
        shifted = view(x)
        # A shift by more than the width is a shift by the width.
        by = np.minimum(_unsigned(amount), _width(x)).astype(shifted.dtype)
        return [_wrapped(compute(shifted, by), x.dtype)]

    return run


def _exact(compute: Callable[..., Sequence[Any]], view: Callable[[Array], Array]) -> InterpreterFunction:
    """Returns the interpreter function that applies `compute` to Python's integers and the width, for results wider than the operands."""

    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        results = compute(*(view(x).astype(object) for x in values), _width(values[0]))
        return [_wrapped(result, array_kind(kind)[1]) for result, kind in zip(results, op.result_types, strict=True)]

    return run


def _long_sum(x: Any, y: Any, width: int) -> Sequence[Any]:
    return x + y, (x + y) >> width


def _long_product(x: Any, y: Any, width: int) -> Sequence[Any]:
    return x * y, (x * y) >> width


_COMPARISONS = (operator.eq, operator.ne, *(operator.lt, operator.le, operator.gt, operator.ge) * 2)
_FIRST_UNSIGNED = 6


def _compare_integers(op: arith.CmpiOp, values: Sequence[Array]) -> Sequence[Array]:
    predicate = op.predicate.value.data
    return [np.asarray(_COMPARISONS[predicate](*map(_unsigned if predicate >= _FIRST_UNSIGNED else _signed, values)))]


# Floats


def _floats(compute: Compute) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        return [np.asarray(compute(*values), values[0].dtype)]

    return run


def _widely(compute: Compute) -> InterpreterFunction:
    """Returns the interpreter function that applies `compute` to floats of at least 32 bits, as numpy has few functions for 16 bits."""

    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        kind = array_kind(op.results[0].type)[1]
        wide = [x.astype(np.float32) if x.dtype.itemsize < 4 and x.dtype.kind not in "iu" else x for x in values]
        return [np.asarray(compute(*wide)).astype(kind)]

    return run


def _maximum(x: Array, y: Array) -> Array:
    return np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))


def _minimum(x: Array, y: Array) -> Array:
    return np.where(x == y, np.where(np.signbit(x), x, y), np.minimum(x, y))


_ORDERED = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)


def _compare_floats(op: arith.CmpfOp, values: Sequence[Array]) -> Sequence[Array]:
    x, y = values
    # Predicates in order: false, six that are false for NaN, "no NaN"; the same six that are true for NaN, "a NaN", true.
    unordered, which = divmod(op.predicate.value.data, 8)
    nan = np.isnan(x) | np.isnan(y)
    if which == (7 if unordered else 0):
        return [np.full(nan.shape, bool(unordered))]
    if which == (6 if unordered else 7):
        return [np.asarray(nan if unordered else ~nan)]
    holds = _ORDERED[which if unordered else which - 1](x, y)
    return [np.asarray(holds | nan if unordered else holds & ~nan)]


def _to_integer(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
    def convert(x: Any) -> int:
        return int(x) if numbers.isfinite(x) else 0

    exact = np.asarray(np.frompyfunc(convert, 1, 1)(values[0].astype(np.float64)), object)
    return [_wrapped(exact, array_kind(op.results[0].type)[1])]


def _from_integer(view: Callable[[Array], Array]) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        return [view(values[0]).astype(array_kind(op.results[0].type)[1])]

    return run


def _bitcast(op: arith.BitcastOp, values: Sequence[Array]) -> Sequence[Array]:
    dtype = array_kind(op.result.type)[1]
    if dtype.itemsize != values[0].dtype.itemsize:
        raise InterpreterError(f"arith.bitcast: {op.input.type} and {op.result.type} have different sizes here", op)
    return [values[0].view(dtype)]


# The rest


def _constant(op: arith.ConstantOp, _: Sequence[Array]) -> Sequence[Array]:
    shape, dtype = array_kind(op.result.type)
    match op.value:
        case DenseIntOrFPElementsAttr():
            values = _elements(op.value.get_values(), dtype)
            return [np.broadcast_to(values.reshape(()) if values.size == 1 else values.reshape(shape), shape)]
        case IntegerAttr() | FloatAttr():
            return [_elements([cast("IntegerAttr[Any] | FloatAttr[Any]", op.value).value.data], dtype).reshape(())]
        case _:
            raise UnsupportedError(f"arith.constant with a value of the kind {op.value.name} has no meaning to the interpreter", op)


def _elements(values: Sequence[Any], dtype: np.dtype[Any]) -> Array:
    # The attribute may hold an integer with or without a sign.
    return _wrapped(np.array(values, object), dtype) if dtype.kind in "biu" else np.array(values, np.float64).astype(dtype)


def _select(op: arith.SelectOp, values: Sequence[Array]) -> Sequence[Array]:
    condition, yes, no = values
    return [yes if condition else no]


def _variadic(on_floats: Compute, on_integers: Compute) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        is_integer = values[0].dtype.kind in "biu"
        compute = _integers(on_integers) if is_integer else _floats(on_floats)
        result = values[0]
        for value in values[1:]:
            (result,) = cast("Sequence[Array]", compute(op, [result, value]))
        return [result]

    return run


def _switch(op: varith.VarithSwitchOp, values: Sequence[Array]) -> Sequence[Array]:
    flag, default, *others = values
    cases = dict(zip(op.case_values.get_values(), others, strict=True))
    return [cases.get(int(flag), default)]


def _multiply_add(x: Array, y: Array, z: Array) -> Array:
    # Rounded once: float32 is computed in float64, and float64 in long double, if that is wider.
    wide = np.float64 if x.dtype.itemsize <= 4 else np.longdouble
    return x.astype(wide) * y.astype(wide) + z.astype(wide)


def _round(x: Array) -> Array:
    """Returns x rounded to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones_like(x), x), whole)


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(numbers.erf, 1, 1)(x)).astype(x.dtype)


def _integer_power(x: Any, y: Any, _: int) -> Sequence[Any]:
    def power(base: int, exponent: int) -> int:
        if exponent >= 0:
            # 64 bits, the most of any integer here.
            return pow(base, exponent, 1 << 64)
        if base == 0:
            raise ZeroDivisionError("0 has no negative power")
        return base ** (exponent & 1) if abs(base) == 1 else 0

    return [np.frompyfunc(power, 2, 1)(x, y)]


def _leading_zeros(x: Any, width: int) -> Sequence[Any]:
    return [width - np.frompyfunc(int.bit_length, 1, 1)(x)]


def _trailing_zeros(x: Any, width: int) -> Sequence[Any]:
    def count(value: int) -> int:
        return (value & -value).bit_length() - 1 if value else width

    return [np.frompyfunc(count, 1, 1)(x)]


def _ones(x: Any, _: int) -> Sequence[Any]:
    return [np.frompyfunc(int.bit_count, 1, 1)(x)]


FUNCTIONS: dict[type[Operation], InterpreterFunction] = {
    arith.ConstantOp: _constant,
    arith.SelectOp: _select,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.AddiOp: _integers(np.add),
    arith.SubiOp: _integers(np.subtract),
    arith.MuliOp: _integers(np.multiply),
    arith.AddUIExtendedOp: _exact(_long_sum, _unsigned),
    arith.MulUIExtendedOp: _exact(_long_product, _unsigned),
    arith.MulSIExtendedOp: _exact(_long_product, _signed),
    arith.DivSIOp: _division(_truncating),
    arith.DivUIOp: _division(np.floor_divide, _unsigned),
    arith.FloorDivSIOp: _division(np.floor_divide),
    arith.CeilDivSIOp: _division(_ceiling),
    arith.CeilDivUIOp: _division(_ceiling, _unsigned),
    arith.RemSIOp: _division(np.fmod),
    arith.RemUIOp: _division(np.remainder, _unsigned),
    arith.MinSIOp: _integers(np.minimum),
    arith.MaxSIOp: _integers(np.maximum),
    arith.MinUIOp: _integers(np.minimum, _unsigned),
    arith.MaxUIOp: _integers(np.maximum, _unsigned),
    arith.AndIOp: _integers(np.bitwise_and),
    arith.OrIOp: _integers(np.bitwise_or),
    arith.XOrIOp: _integers(np.bitwise_xor),
    arith.ShLIOp: _shift(np.left_shift, _unsigned),
    arith.ShRUIOp: _shift(np.right_shift, _unsigned),
    arith.ShRSIOp: _shift(np.right_shift, _signed),
    arith.TruncIOp: _resized(_signed),
    arith.ExtSIOp: _resized(_signed),
    arith.ExtUIOp: _resized(_unsigned),
    arith.IndexCastOp: _resized(_signed),
    arith.AddfOp: _floats(np.add),
    arith.SubfOp: _floats(np.subtract),
    arith.MulfOp: _floats(np.multiply),
    arith.DivfOp: _floats(np.divide),
    arith.NegfOp: _floats(np.negative),
    arith.MaximumfOp: _floats(_maximum),
    arith.MinimumfOp: _floats(_minimum),
    arith.MaxnumfOp: _floats(np.fmax),
    arith.MinnumfOp: _floats(np.fmin),
    arith.ExtFOp: _widely(np.positive),
    arith.TruncFOp: _widely(np.positive),
    arith.FPToSIOp: _to_integer,
    arith.FPToUIOp: _to_integer,
    arith.SIToFPOp: _from_integer(_signed),
    arith.UIToFPOp: _from_integer(_unsigned),
    arith.BitcastOp: _bitcast,
    math.AbsFOp: _floats(np.abs),
    math.AbsIOp: _integers(np.abs),
    math.AcosOp: _widely(np.arccos),
    math.AcoshOp: _widely(np.arccosh),
    math.AsinOp: _widely(np.arcsin),
    math.AsinhOp: _widely(np.arcsinh),
    math.AtanOp: _widely(np.arctan),
    math.Atan2Op: _widely(np.arctan2),
    math.AtanhOp: _widely(np.arctanh),
    math.CbrtOp: _widely(np.cbrt),
    math.CeilOp: _widely(np.ceil),
    math.CopySignOp: _floats(np.copysign),
    math.CosOp: _widely(np.cos),
    math.CoshOp: _widely(np.cosh),
    math.CountLeadingZerosOp: _exact(_leading_zeros, _unsigned),
    math.CountTrailingZerosOp: _exact(_trailing_zeros, _unsigned),
    math.CtPopOp: _exact(_ones, _unsigned),
    math.ErfOp: _widely(_erf),
    math.ExpOp: _widely(np.exp),
    math.Exp2Op: _widely(np.exp2),
    math.ExpM1Op: _widely(np.expm1),
    math.FPowIOp: _widely(np.power),
    math.FloorOp: _widely(np.floor),
    math.FmaOp: _floats(_multiply_add),
    math.IPowIOp: _exact(_integer_power, _signed),
    math.LogOp: _widely(np.log),
    math.Log10Op: _widely(np.log10),
    math.Log1pOp: _widely(np.log1p),
    math.Log2Op: _widely(np.log2),
    math.PowFOp: _widely(np.power),
    math.RoundOp: _widely(_round),
    math.RoundEvenOp: _widely(np.rint),
    math.RsqrtOp: _widely(_reciprocal_root),
    math.SinOp: _widely(np.sin),
    math.SinhOp: _widely(np.sinh),
    math.SqrtOp: _widely(np.sqrt),
    math.TanOp: _widely(np.tan),
    math.TanhOp: _widely(np.tanh),
    math.TruncOp: _widely(np.trunc),
    varith.VarithAddOp: _variadic(np.add, np.add),
    varith.VarithMulOp: _variadic(np.multiply, np.multiply),
    varith.VarithSwitchOp: _switch,
}
