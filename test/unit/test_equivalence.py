"""Modules are the same, or differ in a place that has a name."""

from __future__ import annotations

import pytest

from flambeau.dialects.equivalence import difference, equivalent
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import parse_module

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


TYPE = "(tensor<2xf32>) -> tensor<2xf32>"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("core.relu", "core.neg", "the name"),
        ("dim = 0", "dim = -1", "the property 'dim'"),
        ("core.relu(%x)", "core.relu(%0)", "operand 0"),
        ("%c, ^middle(%x : tensor<2xf32>)", "%c, ^last", "the number of operands"),
        ("cf.br ^last", "cf.br ^middle(%x : tensor<2xf32>)", "the number of operands"),
        ("@f(", "@g(", "the property 'sym_name'"),
        ("core.relu(%x)", "core.relu(%x) {note}", "the attribute 'note'"),
        ("middle(%y: tensor<2xf32>)", "middle(%y: tensor<3xf32>)", "the arguments of a block of region 0"),
        ("^last:", f"^last:\n  %3 = core.neg(%x) : {TYPE}", "the number of operations of a block of region 0"),
        (f"{{dim = 0}} : {TYPE}", "{dim = 0} : (tensor<2xf32>) -> tensor<?xf32>", "the types of the results"),
    ],
)
def test_the_first_difference_has_a_name(old: str, new: str, what: str) -> None:
    found = difference(module(TEXT), module(TEXT.replace(old, new)))
    assert found is not None and found.what == what


def test_a_branch_to_another_block_is_a_difference() -> None:
    text = """
    func.func @f() {
      cf.br ^one
    ^one:
      cf.br ^two
    ^two:
      cf.br ^one
    }
    """
    found = difference(module(text), module(text.replace("cf.br ^one\n    ^one", "cf.br ^two\n    ^one")))
    assert found is not None and found.what == "successor 0"
