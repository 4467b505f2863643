"""Quotients: each rounding is that of the float, or there is none."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import Extent, extent
from flambeau.dialects.ir.quotients import Quotient

N = extent(of_symbol(Symbol("n", 1, 300)))
ROUNDINGS: dict[str, tuple[Callable[[Quotient], int], Callable[[float], int]]] = {
    "floor": (Quotient.floor, math.floor),
    "ceil": (Quotient.ceil, math.ceil),
    "trunc": (Quotient.trunc, math.trunc),
    "round": (Quotient.round, round),
}


def value(size: int, n: int) -> int:
    """A size where the symbol is `n`."""
    return size.expression.evaluate({"n": n}) if isinstance(size, Extent) and size.expression is not None else size


def numbers(factor: float, divisor: int, shift: float) -> list[tuple[Callable[[], Quotient], Callable[[int], float]]]:
    """Numbers computed from the symbol: as quotients, and in floating point."""
    return [
        (lambda: Quotient(N) * Quotient.of(factor) + Quotient.of(shift), lambda n: n * factor + shift),
        (lambda: Quotient(N + 3) / Quotient(divisor), lambda n: (n + 3) / divisor),
        (lambda: Quotient.of(factor) * Quotient(N) / Quotient(2), lambda n: factor * n / 2),
    ]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_rounding_of_an_expression_is_that_of_the_float(rounding: str) -> None:
    exact, of_float = ROUNDINGS[rounding]
    chosen = random.Random(0)
    known = 0
    for _ in range(1000):
        factor = chosen.choice([0.1, 0.25, 0.3, 0.7, 1.1, 2.3, 1 / 3, 1 / 49, 12.8, -0.4, -1.5, round(chosen.uniform(0, 5), 2)])
        divisor, shift = chosen.choice([1, 2, 3, 7, 10, -5]), chosen.randrange(-20, 20) / 4
        for kind, (number, computed) in enumerate(numbers(factor, divisor, shift)):
            try:
                size = exact(number())
            except ValueError:
                continue
            known += 1
            for n in range(1, 301):
                assert value(size, n) == of_float(computed(n)), (rounding, factor, divisor, shift, kind, n)
    assert known > 1500


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (lambda: Quotient.of(2.3) * Quotient(N), "2.3 * 25 is 57.49999999999999, not 57.5: it depends on rounding; compute the size with "),
        (
            lambda: Quotient.of(2.3) * Quotient(extent(of_symbol(Symbol("m")))),
            "2.3 times a size without a bound is not the fraction 23 / 10",
        ),
        (lambda: Quotient.of(math.pi) * Quotient(N), "3.141592653589793 is no fraction of small integers: it depends on rounding"),
        (lambda: Quotient.of(math.inf), "inf is not finite"),
        (lambda: Quotient(N) / Quotient(3) * Quotient(3), "(n) / 3 * 3 depends on rounding"),
        (lambda: Quotient(N) / Quotient(3) + Quotient(N) / Quotient(7), "(n) / 3 + (n) / 7 depends on rounding"),
        (lambda: Quotient(1) / Quotient(N - 40), "the division by n - 40 depends on rounding"),
    ],
)
def test_what_depends_on_rounding_says_so(number: Callable[[], Quotient], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        number().floor()
    assert str(caught.value).startswith(message)
