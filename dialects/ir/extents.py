"""`Extent`: an integer known only at run time, in the place of an `int` of a shape or of an argument.

An extent adds, subtracts, multiplies and divides like an int. A comparison is decided by the ranges and the normal form of the expression,
and raises UndecidedError if they do not suffice, so that nothing is assumed. An extent is never converted to a number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, cast

from flambeau.dialects.ir import expressions
from flambeau.dialects.ir.expressions import INFINITE, Expression, Function, Range, Symbol, add, apply, constant, multiply

if TYPE_CHECKING:
    Integer = int
else:
    Integer = object


class UndecidedError(ValueError):
    """An error of a comparison of extents whose result is known only at run time."""


class Extent(Integer):
    """The value of an expression over symbols, or an unknown value with a range: `?`.

    To the type checker and to `isinstance` it is an int, because rules of types compute with both alike. `is_known` tells them apart.
    """

    __slots__ = ("_range", "expression")

    expression: Expression | None
    """The value as an expression; None for an unknown extent, which equals no extent, not even itself."""

    def __new__(cls, expression: Expression | None = None, bounds: Range = (0, INFINITE)) -> Extent:
        """Returns an extent that is an expression, or without one an unknown extent in a range."""
        self = object.__new__(cls)
        self.expression = expression
        self._range = bounds if expression is None else expression.range
        return self

    @property
    def __class__(self) -> type[int]:  # pyright: ignore[reportIncompatibleMethodOverride]  what `isinstance` is to see
        return int

    @property
    def range(self) -> Range:
        """Its least and greatest value."""
        return self._range

    def __str__(self) -> str:
        return "?" if self.expression is None else str(self.expression)

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash((self.expression, self._range))

    # Arithmetic

    def __add__(self, other: int) -> int:
        return _combine("add", self, other)

    def __sub__(self, other: int) -> int:
        return _combine("add", self, -other)

    def __rsub__(self, other: int) -> int:
        return _combine("add", -self, other)

    def __neg__(self) -> int:
        return _combine("mul", self, -1)

    def __pos__(self) -> int:
        return self

    def __abs__(self) -> int:
        return maximum(self, -self)

    def __mul__(self, other: int) -> int:
        # A sequence that is repeated then asks for a number.
        return NotImplemented if isinstance(other, list | tuple) else _combine("mul", self, other)

    def __floordiv__(self, other: int) -> int:
        return _combine("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> int:
        return _combine("floordiv", other, self)

    def __mod__(self, other: int) -> int:
        return _combine("mod", self, other)

    def __rmod__(self, other: int) -> int:
        return _combine("mod", other, self)

    __radd__ = __add__
    __rmul__ = __mul__

    # Comparisons

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            return NotImplemented
        low, high = self._difference(other)
        if low == high == 0:
            return True
        if low > 0 or high < 0 or self._never_equals(other):
            return False
        self._undecided("equals", other)

    def __lt__(self, other: int) -> bool:
        low, high = self._difference(other)
        if high < 0 or low >= 0:
            return high < 0
        self._undecided("is less than", other)

    def __le__(self, other: int) -> bool:
        low, high = self._difference(other)
        if high <= 0 or low > 0:
            return high <= 0
        self._undecided("is at most", other)

    def __gt__(self, other: int) -> bool:
        return not self <= other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return not self == 0

    def _difference(self, other: object) -> Range:
        difference = self - cast(int, other)
        return difference.range if isinstance(difference, Extent) else (difference, difference)

    def _never_equals(self, other: object) -> bool:
        """Returns whether the difference is never 0: a common divisor of its terms does not divide the constant, as in 2 * s0 - 3."""
        difference = self - cast(int, other)
        if not isinstance(difference, Extent) or difference.expression is None:
            return False
        factors = [factor for monomial, factor in difference.expression.terms if monomial]
        last = difference.expression.terms[-1]
        return bool(factors) and not last[0] and last[1] % math.gcd(*factors) != 0

    def _undecided(self, relation: str, other: object) -> NoReturn:
        raise UndecidedError(f"whether {self} {relation} {other} is known only when the program runs")

    # Numbers

    def __index__(self, *others: object) -> NoReturn:
        raise UndecidedError(f"{self} is known only when the program runs, and a number is needed")

    __int__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = __invert__ = __index__
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __index__
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __index__

    def __getattr__(self, name: str) -> NoReturn:
        """Raises UndecidedError for a public attribute of int, as `bit_length`; AttributeError for other names."""
        if not name.startswith("_") and hasattr(int, name):
            self.__index__()
        raise AttributeError(f"a size has no attribute {name!r}")


def _expression(value: int) -> Expression | None:
    if isinstance(value, float):
        raise UndecidedError(f"{value} is combined with a size that is known only when the program runs, and sizes are integers")
    return value.expression if isinstance(value, Extent) else constant(int(value))


def range_of(value: int) -> Range:
    """Returns the least and the greatest value that a number or an extent may have."""
    return value.range if isinstance(value, Extent) else (value, value)


def _combine(function: Any, a: int, b: int) -> int:
    left, right = _expression(a), _expression(b)
    if left is None or right is None:
        if function == "add":
            (low, high), (least, most) = range_of(a), range_of(b)
            return Extent(None, (low + least, high + most))
        return Extent(None, expressions.range_of(function, range_of(a), range_of(b)))
    match function:
        case "add":
            return extent(add(left, right))
        case "mul":
            return extent(multiply(left, right))
        case _:
            return extent(apply(cast(Function, function), left, right))


def extent(expression: Expression) -> int:
    """Returns the value of an expression: an int if it is constant."""
    known = expression.constant
    return Extent(expression) if known is None else known


def unknown(low: int = 0, high: int | None = None) -> int:
    """Returns an extent of which only the range is known. Data decides it."""
    return Extent(None, (low, INFINITE if high is None else high))


def either(a: int, b: int) -> int:
    """Returns the better known of two values that must be equal."""
    return b if is_known(b) or is_unknown(a) else a


def minimum(a: int, b: int) -> int:
    """Returns the lesser, without asking which it is."""
    return _combine("min", a, b) if isinstance(a, Extent) or isinstance(b, Extent) else min(a, b)


def maximum(a: int, b: int) -> int:
    """Returns the greater, without asking which it is."""
    return _combine("max", a, b) if isinstance(a, Extent) or isinstance(b, Extent) else max(a, b)


def is_known(value: int) -> bool:
    """Returns whether a value is a number, not an extent that only the run knows."""
    return type(value) is not Extent


def largest(value: int) -> int | None:
    """Returns the greatest value; None when it has no bound."""
    high = range_of(value)[1]
    return None if high == INFINITE else int(high)


def least(value: int) -> int:
    """Returns the smallest value that a size may have."""
    low = range_of(value)[0]
    return 0 if low == -INFINITE else int(low)


def provably_equal(a: int, b: int) -> bool:
    """Returns whether two values are equal in every run."""
    try:
        return a == b
    except UndecidedError:
        return False


def may_equal(a: int, b: int) -> bool:
    """Returns whether two values are equal in some run, as far as is known."""
    try:
        return a == b
    except UndecidedError:
        return True


def exceeds(a: int, b: int) -> bool:
    """Returns whether one value is greater than another in every run, as far as is known."""
    try:
        return a > b
    except UndecidedError:
        return False


def may_exceed(a: int, b: int) -> bool:
    """Returns whether one value is greater than another in some run, as far as is known."""
    try:
        return a > b
    except UndecidedError:
        return True


def differ(a: int, b: int) -> bool:
    """Returns whether two values are different in every run."""
    return not may_equal(a, b)


def symbol_of(value: int) -> Symbol | None:
    """Returns the symbol that a value is, with nothing computed from it."""
    return value.expression.symbol if isinstance(value, Extent) and value.expression is not None else None


def free_symbols(value: int) -> tuple[Symbol, ...]:
    """Returns the symbols that a value is computed from, each once."""
    return value.expression.symbols if isinstance(value, Extent) and value.expression is not None else ()


def is_unknown(value: int) -> bool:
    """Returns whether nothing but perhaps a range is known of a value, so that it cannot be written down."""
    return isinstance(value, Extent) and value.expression is None
