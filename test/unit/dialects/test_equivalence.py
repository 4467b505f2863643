"""Modules are the same, or differ in a place that has a name."""

from __future__ import annotations

import pytest

from flambeau.dialects.ir.equivalence import equivalent, first_difference
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module

TEXT = """
func.func @f(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  cf.br ^last
^middle(%y: tensor<2xf32>):
  %1 = core.cumsum(%0) {dim = 0} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %x : tensor<2xf32>
^last:
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  cf.cond_br %c, ^middle(%x : tensor<2xf32>), ^middle(%0 : tensor<2xf32>)
}
"""


def module(text: str):
    return parse_module(text, FlambeauContext()).module


def test_a_module_equals_its_clone_and_itself_with_other_names() -> None:
    assert equivalent(module(TEXT), module(TEXT).clone())
    assert equivalent(module(TEXT), module(TEXT.replace("%x", "%input").replace("middle", "bb7")))


BASE = """
"test.op"() ({
  %0, %1 = "test.op"() : () -> (i32, i32)
  "test.op"(%0) {x = 1.0 : f32} : (i32) -> ()
  "test.op"() [^bb1] : () -> () loc("a.py":1:2)
^bb1:
  "test.op"() [^bb2] : () -> ()
^bb2:
  "test.termop"() : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x = 1.0", "y = 1.0", "test.op has x = nothing, not 1.000000e+00 : f32"),
        ("x = 1.0", "x = 1.1", "test.op has x = 1.100000e+00 : f32, not 1.000000e+00 : f32"),
        ("(%0)", "(%1)", "test.op has other operands"),
        ("[^bb1]", "[^bb2]", "test.op has other successors"),
        ("(i32, i32)", "(i32, i64)", "test.op has a value of type i64, not i32"),
        ("^bb2:", "^bb2(%2: i32):", "test.op has another number of results, regions, blocks or block arguments"),
        (
            '%0, %1 = "test.op"() : () -> (i32, i32)',
            '%0, %1, %2 = "test.op"() : () -> (i32, i32, i32)',
            "test.op has another number of results, regions, blocks or block arguments",
        ),
        (":1:2", ":1:3", 'test.op has the location loc("a.py":1:3), not loc("a.py":1:2)'),
        ('"test.termop"', '"test.op"', "test.op is in its place"),
        ('  "test.termop"() : () -> ()\n', "", "it is missing"),
        ('  "test.termop"() : () -> ()\n', '  "test.op"() : () -> ()\n  "test.termop"() : () -> ()\n', "test.op is in its place"),
        ("}) : () -> ()", '}) : () -> ()\n"test.op"() : () -> ()', "test.op is added"),
    ],
)
def test_differences_are_found(old: str, new: str, message: str):
    assert old in BASE
    changed = BASE.replace(old, new)
    before, after = (parse_module(text, FlambeauContext()).module for text in (BASE, changed))
    assert first_difference(before, before.clone(), locations=True) is None
    found = first_difference(before, after, locations=True)
    assert found is not None and found[1] == message


def test_an_operation_in_another_block_is_a_difference() -> None:
    text = """
    "test.op"() ({
      "test.op"() {n = 1} : () -> ()
      "test.op"() {n = 2} : () -> ()
    ^bb1:
      "test.op"() {n = 3} : () -> ()
    }) : () -> ()
    """
    lines = text.splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    found = first_difference(module(text), module("".join(lines)))
    assert found is not None and found[1] == "test.op is in another block"


def test_locations_count_only_when_asked_for() -> None:
    changed = BASE.replace(":1:2", ":1:3")
    assert equivalent(module(BASE), module(changed))
    assert first_difference(module(BASE), module(changed), locations=True) is not None
