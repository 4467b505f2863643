"""Made-up inputs: integers number what they are used on, and the seed, the method and the kind decide the rest."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.runtime.interpreter import InputKind, InterpreterError, array_kinds, generate_inputs, inputs
from flambeau.support.lazy import Array
from flambeau.tools.semantics.reference_results import Reference


def parse(text: str, context: FlambeauContext | None = None) -> tuple[ModuleOp, FlambeauContext]:
    context = context or FlambeauContext()
    return parse_module(text, context).module, context


def function(text: str) -> FuncOp:
    (found,) = (op for op in parse(text)[0].body.block.ops if isinstance(op, FuncOp))
    return found


@pytest.mark.parametrize(
    ("types", "op", "bound"),
    [
        ("tensor<7x3xf32>, tensor<40xi64> -> tensor<40x3xf32>", "aten.embedding(%w, %i)", 7),
        ("tensor<7x9xf32>, tensor<40xi32> -> tensor<7x40xf32>", "aten.index_select(%w, %i) {dim = 1}", 9),
        ("tensor<40x5xf32>, tensor<40x5xi64> -> tensor<40x5xf32>", "aten.gather(%w, %i) {dim = 1}", 5),
        ("tensor<4x6xf32>, tensor<40xi64> -> tensor<4x40xf32>", "aten.index.Tensor(%w, [none, %i])", 6),
        ("tensor<4x6xf32>, tensor<90xi64> -> tensor<90xf32>", "aten.take(%w, %i)", 24),
        ("tensor<4x6xi64>, tensor<40xi64> -> tensor<40xi64>", "aten.neg(%i)", 2),
        ("tensor<4x6xi64>, tensor<40xui8> -> tensor<40xui8>", "aten.bitwise_not(%i)", 2),
        ("tensor<4x6xi64>, tensor<40xi64> -> tensor<40x11xi64>", "aten.one_hot(%i) {num_classes = 11}", 11),
    ],
)
def test_integers_lie_in_what_they_number(types: str, op: str, bound: int):
    given, _, result = types.partition(" -> ")
    first, second = given.split(", ")
    operands = given if "%w" in op else second
    text = f"func.func @f(%w: {first}, %i: {second}) -> {result} {{ %r = {op} : ({operands}) -> {result} func.return %r : {result} }}"
    _, values = generate_inputs(function(text), seed=1)
    assert isinstance(values, np.ndarray)
    assert set(values.flat) <= set(range(bound))
    assert len(set(values.flat)) > bound / 2


def test_the_numbers_of_a_view_are_those_of_its_operand():
    method = function("""
    func.func @f(%w: tensor<9x3xf32>, %i: tensor<2x20xi64>) -> tensor<40x3xf32> {
      %v = aten.view(%i) {size = [40]} : (tensor<2x20xi64>) -> tensor<40xi64>
      %r = aten.embedding(%w, %v) : (tensor<9x3xf32>, tensor<40xi64>) -> tensor<40x3xf32>
      func.return %r : tensor<40x3xf32>
    }""")
    _, values = generate_inputs(method, seed=0)
    assert isinstance(values, np.ndarray)
    assert 2 < values.max() < 9


def test_inputs_follow_the_seed_and_the_method():
    text = "func.func @{name}(%x: tensor<4x?xf32>, %b: tensor<64xi1>) -> tensor<64xi1> {{ func.return %b : tensor<64xi1> }}"
    f, g = function(text.format(name="f")), function(text.format(name="g"))
    (x, b), (again, _), (other, _), (elsewhere, _) = (generate_inputs(m, s) for m, s in ((f, 0), (f, 0), (f, 1), (g, 0)))
    assert isinstance(x, np.ndarray)
    assert isinstance(b, np.ndarray)
    assert x.shape == (4, 3)
    assert x.dtype == np.float32
    assert set(b.flat) == {True, False}
    assert np.array_equal(x, again)  # pyright: ignore[reportArgumentType]  both are arrays
    assert not np.array_equal(x, other)  # pyright: ignore[reportArgumentType]  both are arrays
    assert not np.array_equal(x, elsewhere)  # pyright: ignore[reportArgumentType]  both are arrays


@pytest.mark.parametrize("kind", ["usual", "wide"])
def test_large_inputs_are_made_in_pieces(kind: InputKind, monkeypatch: pytest.MonkeyPatch):
    method = function("func.func @f(%a: tensor<3x5xf32>, %b: tensor<17xi8>, %c: tensor<9xi1>) { func.return }")
    whole = generate_inputs(method, 1, kind)
    monkeypatch.setattr(inputs, "_PIECE", 4)
    for expected, found in zip(whole, generate_inputs(method, 1, kind), strict=True):
        assert np.array_equal(cast(Array, expected), cast(Array, found))


def test_an_input_that_does_not_fit_in_memory_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(array_kinds, "LARGEST", 2**62)
    method = function(f"func.func @f(%x: tensor<{2**60}xi8>) {{ func.return }}")
    with pytest.raises(
        InterpreterError, match=f"an input of type tensor<{2**60}xi8> has {2**60} bytes, which do not fit in memory"
    ) as caught:
        generate_inputs(method, 0)
    assert caught.value.op is method


def test_planned_methods_have_the_same_bounds():
    module, context = parse("""
    func.func @forward(%w: tensor<7x3xf32>, %i: tensor<40xi64>) -> tensor<40x3xf32> {
      %r = aten.embedding(%w, %i) : (tensor<7x3xf32>, tensor<40xi64>) -> tensor<40x3xf32>
      func.return %r : tensor<40x3xf32>
    }""")
    Pipeline.parse("compile").run(module, context)
    (method,) = (op for op in module.body.block.ops if isinstance(op, MethodOp))
    _, values = generate_inputs(method, 0)
    assert isinstance(values, np.ndarray)
    assert 2 < values.max() < 7
    Reference(module, context)
