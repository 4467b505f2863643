"""Debug counters: which single rewrites may happen."""

from __future__ import annotations

from typing import ClassVar

import pytest
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import PatternPass, Pipeline
from flambeau.passes.rewriting.actions import Action
from flambeau.passes.rewriting.greedy_driver import Pattern
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter, DebugCounterError, parse_debug_counters

TEXT = "builtin.module {\n" + "".join(f'  "test.op"() {{n = {n}}} : () -> ()\n' for n in range(6)) + "}\n"


class MarkPattern(Pattern):
    roots: ClassVar[tuple[type[Operation], ...]] = (TestOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        op.attributes["marked"] = op.attributes["n"]
        rewriter.has_done_action = True


class MarkPass(PatternPass):
    name = "mark"

    def patterns(self) -> list[Pattern]:
        return [MarkPattern()]


def test_analyses_are_neither_counted_nor_forbidden():
    counter = DebugCounter({"*": CounterRange(0, 0)})
    assert counter.before_action(Action("analysis", "lifetimes", TestOp()))
    assert not counter.seen


def marked(counter: DebugCounter) -> list[int]:
    context = FlambeauContext()
    module = parse_module(TEXT, context).module
    Pipeline.of([MarkPass()]).run(module, context, [counter])
    return [int(line.split("n = ")[1].split(" ")[0]) for line in print_module(module).splitlines() if "marked" in line]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"MarkPattern": CounterRange(2)}, [2, 3, 4, 5]),
        ({"mark": CounterRange(2, 2)}, [2, 3]),
        ({"*": CounterRange(0, 1)}, [0]),
        ({"MarkPattern": CounterRange(1), "*": CounterRange(0, 3)}, [1, 2]),
        ({"OtherPattern": CounterRange(0, 0)}, [0, 1, 2, 3, 4, 5]),
        ({"MarkPattern": CounterRange(0, 0)}, []),
    ],
)
def test_a_debug_counter_lets_through_its_range(ranges: dict[str, CounterRange], expected: list[int]):
    assert marked(DebugCounter(ranges)) == expected


def test_a_debug_counter_records_attempts():
    counter = DebugCounter({"*": CounterRange(1, 2)})
    assert marked(counter) == [1, 2]
    assert counter.seen == {"*": 6, "mark": 6, "MarkPattern": 6}
    assert counter.allowed["MarkPattern"] == 2


def test_debug_counters_are_read_from_text():
    assert parse_debug_counters("fold-constants-skip=3, fold-constants-count=4,*-count=0") == {
        "fold-constants": CounterRange(3, 4),
        "*": CounterRange(0, 0),
    }


@pytest.mark.parametrize("text", ["x", "x-skip", "x-skip=a", "-skip=1", "x-skip=-1", "x-skip=1,x-skip=2", "x-skip=" + "9" * 5000])
def test_debug_counters_that_cannot_be_read_are_refused(text: str):
    with pytest.raises(DebugCounterError):
        parse_debug_counters(text)
