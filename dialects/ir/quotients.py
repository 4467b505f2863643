"""`Quotient`: a number that a program computes in floating point from sizes, as an exact fraction, and its rounding to a size.

Floats are not exact. A fraction may replace a float only if every rounding of the fraction to a size equals the rounding of the float:
the float must equal the fraction in every run in which floats can represent it, and other fractions must not be near a rounding boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flambeau.dialects.ir.extents import exceeds, is_known, maximum, minimum, range_of

_FINEST = 2**20
"""Multiples of its reciprocal times a size below 2**33 are exact in float64."""
_LARGEST_DENOMINATOR = 1000
"""That of the fractions which people write as decimals."""
_NEAR = Fraction(1, 2**54)
"""A factor whose relative error is less: its product with a size is rounded to the fraction's, if floats hold that."""
_TRIED = 2**16
"""As many products are looked at one by one."""
_COARSE = 2**18
"""The greatest denominator of a fraction that floats do not hold: those of sizes below 2**33 are not mistaken for each other."""


@dataclass(frozen=True)
class Quotient:
    """A fraction of sizes."""

    numerator: int
    denominator: int = 1
    """A positive number, or an extent that is not negative."""
    is_exact: bool = True
    """Whether floats hold it in every run."""
    factor: float | None = None
    """The float that it stands for, where that is no fraction with a power of two and not yet multiplied by a size."""
    less: str = ""
    """Why the float may be less than a fraction that floats hold."""
    more: str = ""
    """Why it may be greater."""

    def __post_init__(self) -> None:
        if not exceeds(self.denominator, -1) or (not self.is_exact and is_known(self.denominator) and self.denominator > _COARSE):
            raise ValueError(f"the division by {self.denominator} depends on rounding")

    @classmethod
    def of(cls, value: float) -> Quotient:
        """Returns a constant. Raises ValueError for one that is no simple fraction."""
        try:
            exact = Fraction(value)
        except (OverflowError, ValueError) as error:
            raise ValueError(f"{value} is not finite") from error
        if exact.denominator <= _FINEST:
            return cls(*exact.as_integer_ratio())
        near = exact.limit_denominator(_LARGEST_DENOMINATOR)
        if float(near) != value:
            raise ValueError(f"{value} is no fraction of small integers: it depends on rounding")
        return cls(*near.as_integer_ratio(), is_exact=False, factor=value)

    def __add__(self, other: Quotient) -> Quotient:
        """Returns the sum. Raises ValueError where it depends on rounding."""
        if not (self.is_exact or other.is_exact):
            raise ValueError(f"{self} + {other} depends on rounding")
        numerator = self.numerator * other.denominator + other.numerator * self.denominator
        denominator, is_exact = self.denominator * other.denominator, self.is_exact and other.is_exact
        return Quotient(numerator, denominator, is_exact, None, self.less or other.less, self.more or other.more)

    def __mul__(self, other: Quotient) -> Quotient:
        """Returns the product. Raises ValueError where it depends on rounding."""
        if not other.is_exact:
            if not self.is_exact:
                raise ValueError(f"{self} * {other} depends on rounding")
            return other * self
        less, more = self.less, self.more
        if self.factor is not None:
            less, more = self._deviation(other)
        elif not self.is_exact and not other.is_power_of_two:
            raise ValueError(f"{self} * {other} depends on rounding")
        elif exceeds(0, other.numerator):
            less, more = more, less
        return Quotient(self.numerator * other.numerator, self.denominator * other.denominator, self.is_exact, None, less, more)

    def __truediv__(self, other: Quotient) -> Quotient:
        """Returns the quotient. Raises ValueError where it depends on rounding."""
        sign = -1 if exceeds(0, other.numerator) else 1
        inverse = Quotient(sign * other.denominator, sign * other.numerator)
        if other.is_exact and other.is_power_of_two:
            return self * inverse
        if not (self.is_exact and other.is_exact):
            raise ValueError(f"{self} / {other} depends on rounding")
        return Quotient(self.numerator * inverse.numerator, self.denominator * inverse.denominator, is_exact=False)

    def floor(self) -> int:
        """Returns the quotient rounded down. Raises ValueError where the float may round otherwise."""
        return self._where_never(self.less, self.numerator // self.denominator)

    def ceil(self) -> int:
        """Returns the quotient rounded up. Raises ValueError where the float may round otherwise."""
        return self._where_never(self.more, (self.numerator + self.denominator - 1) // self.denominator)

    def trunc(self) -> int:
        """Returns the quotient rounded to 0. Raises ValueError where the float may round otherwise."""
        return self.floor() if exceeds(self.numerator, -1) else maximum(self.floor(), 0) + minimum(self.ceil(), 0)

    def round(self) -> int:
        """Returns the nearest integer, for halves the even integer. Raises ValueError if the float may round differently."""
        below = self.numerator // self.denominator
        rounded = (2 * self.numerator + self.denominator - 1 + below % 2) // (2 * self.denominator)
        return self._where_never(self.less or self.more, rounded)

    @property
    def is_power_of_two(self) -> bool:
        """Whether the quotient is known to be ±2^n for an integer n."""
        sides = (self.numerator, self.denominator)
        return all(is_known(side) and side and abs(side) & (abs(side) - 1) == 0 for side in sides)

    def __str__(self) -> str:
        if self.factor is not None:
            return str(self.factor)
        return str(self.numerator) if is_known(self.denominator) and self.denominator == 1 else f"({self.numerator}) / {self.denominator}"

    @staticmethod
    def _where_never(why: str, size: int) -> int:
        if why:
            raise ValueError(why)
        return size

    def _deviation(self, other: Quotient) -> tuple[str, str]:
        """Returns why the float product of the factor with a size may be less than the fraction's, and why it may be more."""
        assert self.factor is not None
        error = Fraction(self.factor) / Fraction(self.numerator, self.denominator) - 1
        if abs(error) < _NEAR:
            return "", ""
        instead = f"it depends on rounding; compute the size with integers, as size * {self.numerator} // {self.denominator}"
        low, high = range_of(other.numerator)
        odd = self.denominator // (self.denominator & -self.denominator)
        most = max(abs(low), abs(high)) / odd
        why = ""
        if not (is_known(other.denominator) and other.denominator == 1) or most > _TRIED:
            why = f"{self.factor} times a size without a bound is not the fraction {self.numerator} / {self.denominator}: {instead}"
        for step in range(0 if why else int(most) + 1):
            # What floats hold of the multiples.
            expected = step * odd * self.numerator / self.denominator
            if (found := self.factor * (size := step * odd)) != expected:
                why = f"{self.factor} * {size} is {found}, not {expected:g}: {instead}"
                break
        if low < 0:
            return why, why
        return ("", why) if (error > 0) == (self.factor > 0) else (why, "")
