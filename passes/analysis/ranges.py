"""Value ranges: the interval of all elements of a tensor, NaN aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import inf, isnan
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.aten.library.numerics import cast_to
from flambeau.dialects.ir.tensor_types import element_of, is_float
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.value_ranges import EMPTY, EVERYTHING, Range
from flambeau.passes.analysis.dataflow import ForwardAnalysis
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


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
        if isinstance(op, SchemaOp) and len(op.results) == 1 and op.has("bounds"):
            kind = op.result.type
            computed = [_rounded(found, kind) for found in operands]
            return [_rounded(_bounds(op, computed, lambda number: _rounded(Range(number, number), kind)), kind)]
        if isinstance(op, SchemaOp) and len(op.results) == 1 and op.moves:
            return [_rounded(_moved(op, operands), op.result.type)]
        return [range_of_type(result.type) for result in op.results]


def _range_of_array(array: Any) -> Range:
    numbers = array[~np.isnan(array)] if array.dtype.kind in "fV" else array
    # Large integers are kept as integers, because floats cannot represent them exactly.
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


def _moved(op: SchemaOp, operands: Sequence[Range]) -> Range:
    drops_fractions = not is_float(element_of(op.result)) and any(is_float(element_of(operand)) for operand in op.operands)
    return range_of_type(op.result.type) if drops_fractions else reduce(Range.join, operands, EMPTY)


def _bounds(op: SchemaOp, operands: Sequence[Range], number: Callable[[float], Range]) -> Range:
    """Returns the bounds of the row, for ranges of the operands and for `number` of each number among the arguments."""
    # Two places with the same object are the same tensor, and others are not, though their ranges may be equal.
    own = {value: replace(found) for value, found in zip(op.operands, operands, strict=True)}
    arguments = op.bind([own[value] for value in op.operands], op.properties)
    return op.call("bounds", [number(item) if isinstance(item, int | float) else item for item in arguments])


def bounds_of_clamp(op: SchemaOp) -> tuple[float, float] | None:
    """Returns the numbers between which an operator keeps the elements of its only operand; None for one that does more."""
    if not op.limits or len(op.operands) != 1 or any(isinstance(item, float) and isnan(item) for item in op.arguments()):
        return None
    found = _bounds(op, [EVERYTHING], lambda number: Range(number, number))
    return found.low, found.high
