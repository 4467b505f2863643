"""Value ranges: the interval of all elements of a tensor, NaN aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, isnan
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.aten.library.numerics import cast_to
from flambeau.dialects.ir.tensor_types import element_of, is_float
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.dataflow import ForwardAnalysis
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


@dataclass(frozen=True)
class Range:
    """Every number from `low` to `high`; none when `low` is greater."""

    low: float
    high: float

    def join(self, other: Range) -> Range:
        """Returns the least range that covers both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def within(self, low: float, high: float) -> bool:
        """Returns whether every number of the range lies between these."""
        return low <= self.low and self.high <= high

    @property
    def is_empty(self) -> bool:
        """Whether nothing has reached the value: it is never computed."""
        return self.low > self.high

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


EMPTY = Range(inf, -inf)
EVERYTHING = Range(-inf, inf)

Rule: TypeAlias = Callable[[SchemaOp, Sequence[Range]], Range]
"""The range of a result from those of the operands, before rounding to the element type."""


def range_of_type(kind: Any) -> Range:
    """Returns the range of all elements that a type can hold."""
    element = element_of(cast(Attribute, kind)) if isinstance(kind, TensorType) else kind
    if not isinstance(element, IntegerType):
        return EVERYTHING
    integer = cast("IntegerType[int, Signedness]", element)
    width = integer.width.data
    if width == 1:
        return Range(0, 1)
    unsigned = integer.signedness.data is Signedness.UNSIGNED
    return Range(0, 2**width - 1) if unsigned else Range(-(2 ** (width - 1)), 2 ** (width - 1) - 1)


class RangeAnalysis(ForwardAnalysis[Range]):
    """The range of each value, from constants, from operators that bound their results, and through arithmetic.

    Results of arithmetic are rounded as the elements are, which keeps the order of numbers, so bounds hold for what is computed and not
    only for what is meant. Integers that may overflow can be anything.
    """

    def __init__(self, constants: ModuleConstants | None = None):
        self._constants = constants

    def bottom(self) -> Range:
        """Returns the empty range."""
        return EMPTY

    def entry(self, value: SSAValue) -> Range:
        """Returns the range of the type."""
        return range_of_type(value.type)

    def widen(self, before: Range, after: Range) -> Range:
        """Widens a bound that still moves to infinity."""
        return Range(after.low if after.low >= before.low else -inf, after.high if after.high <= before.high else inf)

    def transfer(self, op: Operation, operands: Sequence[Range]) -> Sequence[Range]:
        """Returns the ranges by the operator's rule; those of the types for an operator without a rule."""
        array = self._constants.array(op.results[0]) if self._constants is not None and len(op.results) == 1 else None
        if array is not None:
            return [_range_of_array(array)]
        if any(item.is_empty for item in operands):
            return [EMPTY] * len(op.results)
        if isinstance(op, SchemaOp) and op.result_bounds is not None:
            return [_rounded(Range(*op.result_bounds), op.result.type)]
        if isinstance(op, SchemaOp) and len(op.results) == 1 and (rule := _moved if op.moves else _RULES.get(op.schema.base)):
            return [_rounded(rule(op, operands), op.result.type)]
        return [range_of_type(result.type) for result in op.results]


def _range_of_array(array: Any) -> Range:
    numbers = array[~np.isnan(array)] if array.dtype.kind in "fV" else array
    # Large integers stay integers: as floats they would be others.
    return Range(numbers.min().item(), numbers.max().item()) if numbers.size else EVERYTHING


def _rounded(found: Range, kind: Attribute) -> Range:
    """Returns the range with bounds rounded to the element type; the range of the type where integers may overflow."""
    whole, element = range_of_type(kind), element_of(kind)
    if isnan(found.low) or isnan(found.high):
        return whole
    if not is_float(element):
        return found if found.within(whole.low, whole.high) else whole
    with np.errstate(over="ignore"):
        low, high = (float(cast_to(np.float64(bound), element)) for bound in (found.low, found.high))
    return whole if isnan(low) or isnan(high) else Range(low, high)


def _hull(*numbers: float) -> Range:
    # 0 * inf: an element that is 0 times one that is infinite is NaN, but the elements around them may be anything.
    return EVERYTHING if any(isnan(number) for number in numbers) else Range(min(numbers), max(numbers))


def _moved(op: SchemaOp, operands: Sequence[Range]) -> Range:
    drops_fractions = not is_float(element_of(op.result)) and any(is_float(element_of(operand)) for operand in op.operands)
    return range_of_type(op.result.type) if drops_fractions else reduce(Range.join, operands, EMPTY)


def _numbers(op: SchemaOp, operands: Sequence[Range]) -> tuple[Range, Range] | None:
    """Returns the ranges of both operands of a binary operator, the second perhaps a number; None with an `alpha`, or mixed dtypes."""
    if any(argument.name == "alpha" for argument in op.schema.arguments) and op.argument("alpha") != 1:
        return None
    if any(element_of(operand) != element_of(op.result) for operand in op.operands):
        return None
    if len(operands) == 2:
        return operands[0], operands[1]
    number: float = op.argument("other")
    return operands[0], _rounded(Range(number, number), op.result.type)


def _add(op: SchemaOp, operands: Sequence[Range]) -> Range:
    sides = _numbers(op, operands)
    return EVERYTHING if sides is None else Range(sides[0].low + sides[1].low, sides[0].high + sides[1].high)


def _sub(op: SchemaOp, operands: Sequence[Range]) -> Range:
    sides = _numbers(op, operands)
    return EVERYTHING if sides is None else Range(sides[0].low - sides[1].high, sides[0].high - sides[1].low)


def _mul(op: SchemaOp, operands: Sequence[Range]) -> Range:
    if len(op.operands) == 2 and op.operands[0] is op.operands[1]:
        return _square(operands[0])
    sides = _numbers(op, operands)
    if sides is None:
        return EVERYTHING
    a, b = sides
    return _hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)


def _square(x: Range) -> Range:
    ends = (x.low * x.low, x.high * x.high)
    return Range(0 if x.low <= 0 <= x.high else min(ends), max(ends))


def _clamped(x: Range, low: float, high: float) -> Range:
    return Range(min(max(x.low, low), high), max(min(x.high, high), low))


def bounds_of_clamp(op: SchemaOp) -> tuple[float, float] | None:
    """Returns the bounds of a relu, hardtanh or clamp; None for other operators."""
    match op.schema.name:
        case "relu":
            return 0, inf
        case "hardtanh":
            return op.argument("min_val"), op.argument("max_val")
        case "clamp":
            low, high = op.argument("min"), op.argument("max")
            return -inf if low is None else low, inf if high is None else high
        case _:
            return None


def _clamp(op: SchemaOp, operands: Sequence[Range]) -> Range:
    bounds = bounds_of_clamp(op)
    return EVERYTHING if bounds is None or bounds[0] > bounds[1] else _clamped(operands[0], *bounds)


def _abs(op: SchemaOp, operands: Sequence[Range]) -> Range:
    x = operands[0]
    ends = (abs(x.low), abs(x.high))
    return Range(0 if x.low <= 0 <= x.high else min(ends), max(ends))


def _sign_kept(op: SchemaOp, operands: Sequence[Range]) -> Range:
    """Returns the range of a sum or mean: only its sign is known, for rounding may exceed other bounds."""
    x = operands[0]
    return Range(0 if x.low >= 0 else -inf, 0 if x.high <= 0 else inf)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("relu", "hardtanh", "clamp"), _clamp),
    **dict.fromkeys(("sum", "mean"), _sign_kept),
    "abs": _abs,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "neg": lambda op, operands: Range(-operands[0].high, -operands[0].low),
    "maximum": lambda op, operands: Range(max(r.low for r in operands), max(r.high for r in operands)),
    "minimum": lambda op, operands: Range(min(r.low for r in operands), min(r.high for r in operands)),
}
