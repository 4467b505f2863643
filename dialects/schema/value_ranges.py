"""Ranges of the elements of tensors, which a row's `bounds` takes and gives, and the bounds of common functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan


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
_ONE = Range(1, 1)


def between(low: float, high: float) -> Callable[[], Range]:
    """Returns the bounds of a function whose results lie between two numbers for all operands."""
    found = Range(low, high)
    return lambda: found


def negative(x: Range, /) -> Range:
    """Returns the bounds of -x."""
    return Range(-x.high, -x.low)


def absolute(x: Range, /) -> Range:
    """Returns the bounds of |x|."""
    return x if x.low >= 0 else Range(max(0, -x.high), max(-x.low, x.high))


def total(a: Range, b: Range, /, alpha: Range = _ONE) -> Range:
    """Returns the bounds of a + b, and no bounds for another factor `alpha` of b than 1."""
    return Range(a.low + b.low, a.high + b.high) if alpha == _ONE else EVERYTHING


def difference(a: Range, b: Range, /, alpha: Range = _ONE) -> Range:
    """Returns the bounds of a - b, and no bounds for another factor `alpha` of b than 1."""
    return total(a, negative(b), alpha)


def product(a: Range, b: Range, /) -> Range:
    """Returns the bounds of a * b. The same object in both places is the same tensor: a square is not negative."""
    if a is b:
        a = b = absolute(a)
    ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    # 0 * inf: an element that is 0 times one that is infinite is NaN, but the elements around them may be anything.
    return EVERYTHING if any(map(isnan, ends)) else Range(min(ends), max(ends))


def larger(a: Range, b: Range, /) -> Range:
    """Returns the bounds of the larger of a and b."""
    return Range(max(a.low, b.low), max(a.high, b.high))


def smaller(a: Range, b: Range, /) -> Range:
    """Returns the bounds of the smaller of a and b."""
    return Range(min(a.low, b.low), min(a.high, b.high))


def limited(x: Range, low: Range | None = None, high: Range | None = None, /) -> Range:
    """Returns the bounds of the smaller of `high` and the larger of x and `low`."""
    x = x if low is None else larger(x, low)
    return x if high is None else smaller(x, high)


def of_same_sign(x: Range, /) -> Range:
    """Returns the bounds of a sum or mean of elements: only the sign is known, because rounding may exceed other bounds."""
    return Range(0 if x.low >= 0 else -inf, 0 if x.high <= 0 else inf)
