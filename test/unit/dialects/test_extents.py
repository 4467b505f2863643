"""Extents: the normal form computes what Python computes, ranges hold, texts read back, and comparisons never assume."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import f32
from xdsl.parser import Parser
from xdsl.printer import Printer

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, UndecidedError, exceeds, extent, maximum, may_equal, minimum, provably_equal, unknown
from flambeau.dialects.ir.tensor_types import broadcast, shape_of, tensor

SYMBOLS = (Symbol("a", 0, 4), Symbol("b", 1, 3), Symbol("c", 2, 6))
A, B, C = (extent(of_symbol(symbol)) for symbol in SYMBOLS)
VALUES = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(5), range(1, 4), range(2, 7))]

Value = Callable[[dict[str, int]], int]


def _random(chosen: random.Random, depth: int) -> tuple[int, Value]:
    """An extent or number, and what it is for values of the symbols."""
    if depth == 0 or chosen.random() < 0.2:
        pick = chosen.randrange(4)
        number = chosen.randint(-3, 7)
        return (number, lambda _: number) if pick == 3 else ((A, B, C)[pick], lambda values: values["abc"[pick]])
    (a, x), (b, y) = _random(chosen, depth - 1), _random(chosen, depth - 1)
    operations: list[tuple[Callable[[int, int], int], Callable[[int, int], int]]] = [
        (lambda p, q: p + q, lambda p, q: p + q),
        (lambda p, q: p - q, lambda p, q: p - q),
        (lambda p, q: p * q, lambda p, q: p * q),
        (lambda p, q: p // q, lambda p, q: p // q),
        (lambda p, q: p % q, lambda p, q: p % q),
        (minimum, min),
        (maximum, max),
    ]
    symbolic, plain = chosen.choice(operations)
    return symbolic(a, b), lambda values: plain(x(values), y(values))


def _evaluate(value: int, values: dict[str, int]) -> int:
    if not isinstance(value, Extent):
        return value
    assert value.expression is not None
    return value.expression.evaluate(values)


@pytest.mark.parametrize("seed", range(20))
def test_expressions_compute_what_python_computes_within_their_range(seed: int):
    chosen = random.Random(seed)
    for _ in range(40):
        try:
            value, plain = _random(chosen, 3)
        except ZeroDivisionError:
            continue
        low, high = value.range if isinstance(value, Extent) else (value, value)
        for values in chosen.sample(VALUES, 12):
            try:
                expected = plain(values)
            except ZeroDivisionError:
                continue
            assert _evaluate(value, values) == expected, f"{value} for {values}"
            assert low <= expected <= high, f"{value} for {values}"


@pytest.mark.parametrize("seed", range(10))
def test_what_is_decided_holds_for_all_values(seed: int):
    chosen = random.Random(100 + seed)
    for _ in range(40):
        try:
            (a, x), (b, y) = _random(chosen, 2), _random(chosen, 2)
        except ZeroDivisionError:
            continue
        relations: list[tuple[Callable[[], bool], Callable[[int, int], bool]]] = [
            (lambda a=a, b=b: a == b, lambda p, q: p == q),
            (lambda a=a, b=b: a < b, lambda p, q: p < q),
            (lambda a=a, b=b: a <= b, lambda p, q: p <= q),
            (lambda a=a, b=b: a != b, lambda p, q: p != q),
        ]
        for decide, relation in relations:
            try:
                decided = decide()
            except UndecidedError:
                continue
            for values in VALUES:
                try:
                    assert relation(x(values), y(values)) == decided, f"{a} and {b} for {values}"
                except ZeroDivisionError:
                    continue


@pytest.mark.parametrize("seed", range(10))
def test_texts_read_back(seed: int):
    chosen = random.Random(200 + seed)
    for _ in range(40):
        try:
            value, _ = _random(chosen, 4)
        except ZeroDivisionError:
            continue
        attribute = ExtentAttr.of(value)
        stream = StringIO()
        Printer(stream).print_attribute(attribute)
        context = Context()
        context.load_attr_or_type(ExtentAttr)
        assert Parser(context, stream.getvalue()).parse_attribute() == attribute, stream.getvalue()


def test_equal_polynomials_are_equal():
    assert A * 4 + 4 == 4 * (1 + A)
    assert (A * B * 6) // (B * 2) == A * 3
    assert (A * 8 + B) // 4 == A * 2 + B // 4
    assert (A // 2) // 3 == A // 6
    assert (A + 1) * (A - 1) == A * A - 1
    assert A - A == 0 and isinstance(A - A, int)
    assert 2 * A != 3
    assert minimum(A, C + 4) == A


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        (lambda: A == B, "whether a equals b is known only when the program runs"),
        (lambda: A < 3, "whether a is less than 3 is known only when the program runs"),
        (lambda: bool(A), "whether a equals 0 is known only when the program runs"),
        (lambda: A in (1, 2), "whether a equals 1 is known only when the program runs"),
        (lambda: range(A), "a is known only when the program runs, and a number is needed"),
        (lambda: float(A), "a is known only when the program runs, and a number is needed"),
        (lambda: 1 / A, "a is known only when the program runs, and a number is needed"),
        (lambda: A**0.5, "a is known only when the program runs, and a number is needed"),
        (lambda: 1 << (A + 1), "a + 1 is known only when the program runs, and a number is needed"),
        (lambda: [0] * A, "a is known only when the program runs, and a number is needed"),
        (lambda: math.ceil(A), "a is known only when the program runs, and a number is needed"),
        (lambda: A.bit_length(), "a is known only when the program runs, and a number is needed"),
        (lambda: unknown() == unknown(), "whether ? equals ? is known only when the program runs"),
    ],
)
def test_what_is_not_decided_is_an_error(compare: Callable[[], Any], message: str):
    with pytest.raises(UndecidedError) as caught:
        compare()
    assert str(caught.value) == message


def test_unknown_extents_keep_their_range():
    both = unknown(2, 3) + unknown(0, 4) * 2
    assert isinstance(both, Extent) and both.range == (2, 11)
    assert not provably_equal(both, both) and may_equal(both, 5) and not may_equal(both, 12)
    assert exceeds(both, 1) and not exceeds(both, 2)


def test_types_hold_extents():
    kind = tensor(f32, [A, 3, unknown(0, 8)])
    assert str(kind) == "tensor<?x3x?xf32, #edge.layout<sizes = [a in [0, 4], 3, ? in [0, 8]]>>"
    assert kind == tensor(f32, [A, 3, unknown(0, 8)]) and kind != tensor(f32, [B, 3, unknown(0, 8)])
    assert provably_equal(shape_of(kind)[0], A) and shape_of(kind)[1] == 3
    assert str(tensor(f32, [unknown(), 3])) == "tensor<?x3xf32>"


def test_shapes_broadcast_as_far_as_is_known():
    assert broadcast([C, 1], [1, B]) == (C, B)
    assert broadcast([C], [C]) == (C,)
    assert broadcast([A], [7]) == (7,)
    (found,) = broadcast([A], [B])
    assert isinstance(found, Extent) and found.expression is None and found.range == (0, 4)
    with pytest.raises(ValueError, match="do not broadcast"):
        broadcast([C + 2], [3])
