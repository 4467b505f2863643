"""Integer expressions over symbols: `s0 * 2 + 1`, `min(s0, 5)`, in a normal form, so that equal polynomials are equal objects.

A symbol is an integer that a program learns when it runs, such as the extent of a dimension of an input. It has a range; the range of
an expression follows by interval arithmetic. Nothing here compares two values at run time: see `extents`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

INFINITE = math.inf
"""The bound of a range without one."""

Bound: TypeAlias = "int | float"
"""An integer, or INFINITE with a sign."""
Range: TypeAlias = tuple[Bound, Bound]
"""The least and the greatest value."""
Function: TypeAlias = Literal["floordiv", "mod", "min", "max"]


@dataclass(frozen=True)
class Symbol:
    """An integer that is known at run time only; its range is known before."""

    name: str
    low: Bound = 0
    high: Bound = INFINITE

    @property
    def range(self) -> Range:
        """Its range."""
        return self.low, self.high

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Call:
    """A function of two expressions that has no simpler form."""

    function: Function
    left: Expression
    right: Expression

    @cached_property
    def range(self) -> Range:
        """Its range."""
        return range_of(self.function, self.left.range, self.right.range)

    @cached_property
    def _words(self) -> str:
        return _atom_text(self, _name, tight=False)

    def __str__(self) -> str:
        return self._words


Atom: TypeAlias = "Symbol | Call"
Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True)
class Expression:
    """A sum of products: each term is a product of atoms, in the order of their texts, and its integer factor, which is not 0."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """Its value, if it is the same in every run."""
        match self.terms:
            case ():
                return 0
            case (((), value),):
                return value
            case _:
                return None

    @cached_property
    def range(self) -> Range:
        """The least and the greatest value that its symbols' ranges allow, or a wider range."""
        low: Bound = 0
        high: Bound = 0
        for monomial, factor in self.terms:
            term: Range = (factor, factor)
            for atom in monomial:
                term = range_of("mul", term, atom.range)
            low, high = low + term[0], high + term[1]
        return low, high

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Its symbols, each once."""
        found: dict[Symbol, None] = {}
        for monomial, _ in self.terms:
            for atom in monomial:
                found |= dict.fromkeys([atom] if isinstance(atom, Symbol) else (*atom.left.symbols, *atom.right.symbols))
        return tuple(found)

    @property
    def symbol(self) -> Symbol | None:
        """The symbol that this is, with nothing computed from it."""
        match self.terms:
            case (((Symbol() as symbol,), 1),):
                return symbol
            case _:
                return None

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Returns its value, where the symbols have these values by name. Raises KeyError, ZeroDivisionError."""
        total = 0
        for monomial, factor in self.terms:
            for atom in monomial:
                if isinstance(atom, Symbol):
                    factor *= values[atom.name]
                else:
                    factor *= APPLY[atom.function](atom.left.evaluate(values), atom.right.evaluate(values))
            total += factor
        return total

    def replaced(self, new: Callable[[Symbol], Symbol]) -> Expression:
        """Returns the same with other symbols, as simple as their ranges allow."""
        total = constant(0)
        for monomial, factor in self.terms:
            term = constant(factor)
            for atom in monomial:
                if isinstance(atom, Symbol):
                    term = multiply(term, of_symbol(new(atom)))
                else:
                    term = multiply(term, apply(atom.function, atom.left.replaced(new), atom.right.replaced(new)))
            total = add(total, term)
        return total

    def text(self, name: Naming, tight: bool = False) -> str:
        """Returns the expression as text; `name` gives the text of a symbol. `tight` puts all but single factors in parentheses."""
        text = ""
        for monomial, factor in self.terms:
            shown = abs(factor) if text else factor
            is_product = len(monomial) + (shown != 1) > 1
            parts = [_atom_text(atom, name, is_product or (tight and len(self.terms) == 1)) for atom in monomial]
            if shown != 1 or not monomial:
                parts.append(str(shown))
            sign = "" if not text else " - " if factor < 0 else " + "
            text += sign + " * ".join(parts)
        is_compound = len(self.terms) > 1 or any(len(monomial) + (factor != 1) > 1 for monomial, factor in self.terms)
        return f"({text})" if tight and is_compound else text or "0"

    def __str__(self) -> str:
        return self.text(_name)


Naming: TypeAlias = Callable[[Symbol, bool], str]
"""Writes a symbol, in parentheses where asked for and it is more than a name."""


def _name(symbol: Symbol, tight: bool) -> str:
    return symbol.name


def _atom_text(atom: Atom, name: Naming, tight: bool) -> str:
    if isinstance(atom, Symbol):
        return name(atom, tight)
    if atom.function in ("min", "max"):
        return f"{atom.function}({atom.left.text(name)}, {atom.right.text(name)})"
    text = f"{atom.left.text(name, True)} {atom.function} {atom.right.text(name, True)}"
    return f"({text})" if tight else text


def _floor_divide(a: int, b: int) -> int:
    return a // b


def _modulo(a: int, b: int) -> int:
    return a % b


APPLY: dict[Function, Callable[[int, int], int]] = {"floordiv": _floor_divide, "mod": _modulo, "min": min, "max": max}
"""What each function computes."""


def constant(value: int) -> Expression:
    """Returns a number as an expression."""
    return Expression((((), value),) if value else ())


def of_symbol(symbol: Symbol) -> Expression:
    """Returns a symbol as an expression."""
    return Expression((((symbol,), 1),))


def add(a: Expression, b: Expression) -> Expression:
    """Returns the sum."""
    return _sum((*a.terms, *b.terms))


def multiply(a: Expression, b: Expression) -> Expression:
    """Returns the product."""
    return _sum((_product(m, n), f * g) for m, f in a.terms for n, g in b.terms)


def _sum(terms: Iterator[tuple[Monomial, int]] | tuple[tuple[Monomial, int], ...]) -> Expression:
    found: dict[Monomial, int] = {}
    for monomial, factor in terms:
        found[monomial] = found.get(monomial, 0) + factor
    return Expression(tuple(sorted(((m, f) for m, f in found.items() if f), key=_place)))


def _place(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """Returns the order of terms in a sum: higher degrees come first, and the constant last."""
    return -len(term[0]), [str(atom) for atom in term[0]]


def _product(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=str)) if a and b else a or b


def apply(function: Function, a: Expression, b: Expression) -> Expression:
    """Returns a function of two expressions, as simple as their ranges allow. Raises ZeroDivisionError."""
    match function:
        case "floordiv":
            return _divide(a, b)[0]
        case "mod":
            return _divide(a, b)[1]
        case "min" | "max":
            low, high = add(a, multiply(constant(-1), b)).range
            if high <= 0:
                return a if function == "min" else b
            if low >= 0:
                return b if function == "min" else a
            left, right = sorted((a, b), key=str)
            return _of_call(function, left, right)


def _of_call(function: Function, a: Expression, b: Expression) -> Expression:
    return Expression((((Call(function, a, b),), 1),))


def _divide(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Returns quotient and remainder, rounded down."""
    divisor = b.constant
    if divisor == 0:
        raise ZeroDivisionError(f"{a} is divided by 0")
    if divisor is None:
        quotient = _exact_quotient(a, b)
        low, high = a.range
        if quotient is None and b.range[0] > high and low >= 0:
            quotient, rest = constant(0), a
        else:
            rest = constant(0) if quotient is not None else _of_call("mod", a, b)
        return (_of_call("floordiv", a, b) if quotient is None else quotient), rest
    whole = Expression(tuple((m, f // divisor) for m, f in a.terms if f // divisor))
    rest = Expression(tuple((m, f % divisor) for m, f in a.terms if f % divisor))
    low, high = rest.range
    if rest.constant is not None or (min(divisor, 0) <= low and high <= max(divisor, 0) and divisor not in (low, high)):
        return whole, rest
    inner = rest.terms[0][0][0] if len(rest.terms) == 1 and rest.terms[0][1] == 1 and len(rest.terms[0][0]) == 1 else None
    if isinstance(inner, Call) and inner.function == "floordiv" and (known := inner.right.constant) is not None and known * divisor > 0:
        return add(whole, _divide(inner.left, constant(known * divisor))[0]), _of_call("mod", rest, b)
    return add(whole, _of_call("floordiv", rest, b)), _of_call("mod", rest, b)


def _exact_quotient(a: Expression, b: Expression) -> Expression | None:
    """Returns the polynomial whose product with `b` is `a`; None where there is none, or `b` may be 0."""
    if b.range[0] <= 0 <= b.range[1]:
        return None
    leading, factor = b.terms[0]
    quotient: list[tuple[Monomial, int]] = []
    rest = a
    while rest.terms:
        for monomial, times in rest.terms:
            left = _without(monomial, leading)
            if left is not None and times % factor == 0:
                break
        else:
            return None
        quotient.append((left, times // factor))
        step = multiply(Expression(((left, -(times // factor)),)), b)
        if len(quotient) > len(a.terms):
            return None
        rest = add(rest, step)
    return _sum(tuple(quotient))


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """Returns a product without the atoms of another; None when it does not have them all."""
    left = list(monomial)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def range_of(function: Function | Literal["mul"], a: Range, b: Range) -> Range:
    """Returns the range of a function's value for arguments in two ranges."""
    match function:
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "mul":
            products = [0 if 0 in (x, y) else x * y for x in a for y in b]
            return min(products), max(products)
        case "floordiv":
            if b[0] <= 0 <= b[1]:
                return -INFINITE, INFINITE
            quotients = [_bound_quotient(x, y) for x in a for y in b]
            return min(quotients), max(quotients)
        case "mod":
            if b[0] <= 0:
                return (-INFINITE, INFINITE) if b[1] >= 0 else (b[0] + 1, 0)
            return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)


def _bound_quotient(x: Bound, y: Bound) -> Bound:
    if abs(y) == INFINITE:
        return 0 if abs(x) == INFINITE or (x < 0) == (y < 0) or x == 0 else -1
    if isinstance(x, float):
        return x if y > 0 else -x
    return int(x) // int(y)
