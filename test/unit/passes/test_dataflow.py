"""Data-flow analysis: forward and backward, to a fixpoint through branches, loops and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from flambeau.dialects.ir.tensor_types import tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.value_ranges import EMPTY, EVERYTHING, Range
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.dataflow import BackwardAnalysis
from flambeau.passes.analysis.ranges import RangeAnalysis, bounds_of_clamp, range_of_type
from flambeau.passes.kit import ModuleConstants, SchemaOp

T = "tensor<4xf32>"


def parsed(text: str) -> ModuleOp:
    return parse_module(text, FlambeauContext()).module


def named(root: Operation, name: str) -> SSAValue:
    """The value with this name."""
    for op in root.walk():
        values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
        for value in values:
            if value.name_hint == name:
                return value
    raise KeyError(name)


def ranges_of(body: str, *names: str, arguments: str = f"%x: {T}, %y: {T}") -> list[Range]:
    module = parsed(f"func.func @f({arguments}) {{\n{body}\n  func.return\n}}")
    found = RangeAnalysis().run(module)
    return [found[named(module, name)] for name in names]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("core.abs(%t)", Range(0, 1)),
        ("core.neg(%s)", Range(-1, 0)),
        ("core.add.Tensor(%s, %t)", Range(-1, 2)),
        ("core.add.Tensor(%s, %t) {alpha = 2}", EVERYTHING),
        ("core.sub.Tensor(%s, %t)", Range(-1, 2)),
        ("core.mul.Tensor(%s, %t)", Range(-1, 1)),
        ("core.mul.Tensor(%t, %t)", Range(0, 1)),
        ("core.mul.Tensor(%x, %s)", EVERYTHING),
        ("core.maximum(%s, %t)", Range(0, 1)),
        ("core.minimum(%s, %t)", Range(-1, 1)),
        ("core.div.Tensor(%s, %t)", EVERYTHING),
    ],
)
def test_ranges_through_operators(line: str, expected: Range):
    operands = line.partition("(")[2].partition(")")[0].count("%")
    body = f"""
      %s = core.sigmoid(%x) : ({T}) -> {T}
      %t = core.tanh(%y) : ({T}) -> {T}
      %r = {line} : ({", ".join([T] * operands)}) -> {T}
    """
    assert ranges_of(body, "r") == [expected]


def test_bounds_are_rounded_as_elements_are():
    body = """
      %s = core.sigmoid(%x) : (tensor<4xf16>) -> tensor<4xf16>
      %r = core.mul.Scalar(%s) {other = 0.1} : (tensor<4xf16>) -> tensor<4xf16>
    """
    (found,) = ranges_of(body, "r", arguments="%x: tensor<4xf16>")
    assert found == Range(0, float(np.float16(0.1)))


def test_integers_may_overflow():
    body = """
      %a = core.abs(%x) : (tensor<4xi8>) -> tensor<4xi8>
      %c = core.clamp(%x) {min = 0, max = 5} : (tensor<4xi8>) -> tensor<4xi8>
      %d = core.add.Tensor(%c, %c) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    """
    assert ranges_of(body, "x", "a", "c", "d", arguments="%x: tensor<4xi8>") == [
        Range(-128, 127),
        Range(-128, 127),
        Range(0, 5),
        Range(0, 10),
    ]


def test_types_have_ranges():
    assert range_of_type(tensor(i64, (2,))) == Range(-(2**63), 2**63 - 1)
    assert range_of_type(f32) == EVERYTHING


def test_constants_have_the_range_of_their_elements_nan_aside():
    context = FlambeauContext()
    module = ModuleOp([])
    constants = ModuleConstants(context, module)
    load = constants.add("w", np.array([3.0, np.nan, -2.0], np.float32), tensor(f32, (3,)))
    nothing = constants.add("nan", np.array([np.nan], np.float32), tensor(f32, (1,)))
    function = FuncOp("f", ((), ()))
    function.body.block.add_ops([load, nothing, ReturnOp()])
    module.body.block.add_op(function)
    found = RangeAnalysis(constants).run(module)
    assert found[load.results[0]] == Range(-2, 3)
    assert found[nothing.results[0]] == EVERYTHING


def test_branches_join_and_cycles_come_to_an_end():
    text = f"""
    func.func @f(%c: i1, %x: {T}) {{
      %s = core.sigmoid(%x) : ({T}) -> {T}
      cf.br ^loop(%s, %s : {T}, {T})
    ^loop(%kept: {T}, %grown: {T}):
      %half = core.mul.Scalar(%kept) {{other = 0.5}} : ({T}) -> {T}
      %more = core.add.Scalar(%grown) {{other = 1.0}} : ({T}) -> {T}
      cf.cond_br %c, ^loop(%half, %more : {T}, {T}), ^end(%kept, %grown : {T}, {T})
    ^end(%a: {T}, %b: {T}):
      func.return
    }}
    """
    module = parsed(text)
    found = RangeAnalysis().run(module)
    assert [found[named(module, name)] for name in ("kept", "half", "a")] == [Range(0, 1), Range(0, 0.5), Range(0, 1)]
    assert [found[named(module, name)] for name in ("grown", "b")] == [Range(0, float("inf"))] * 2


def test_while_loops():
    text = f"""
    func.func @f(%c: i1, %x: {T}) {{
      %s = core.sigmoid(%x) : ({T}) -> {T}
      %r = scf.while (%a = %s) : ({T}) -> {T} {{
        %t = core.neg(%a) : ({T}) -> {T}
        scf.condition(%c) %t : {T}
      }} do {{
      ^bb0(%b: {T}):
        scf.yield %b : {T}
      }}
      func.return
    }}
    """
    module = parsed(text)
    found = RangeAnalysis().run(module)
    assert [found[named(module, name)] for name in ("a", "b", "r")] == [Range(-1, 1)] * 3


def test_what_nothing_reaches_is_empty():
    text = f"""
    func.func private @never(%x: {T}) -> {T} {{
      %r = func.call @never(%x) : ({T}) -> {T}
      %s = core.add.Tensor(%r, %x) : ({T}, {T}) -> {T}
      func.return %s : {T}
    }}
    """
    module = parsed(text)
    found = RangeAnalysis().run(module)
    assert found[named(module, "s")] == EMPTY
    # Looked at alone, its callers may be anywhere.
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert RangeAnalysis().run(function)[named(module, "x")] == EVERYTHING


def test_blocks_that_are_reached_from_the_unknown():
    text = f"""
    func.func @f(%c: i1, %x: {T}) {{
      %s = core.sigmoid(%x) : ({T}) -> {T}
      cf.cond_br %c, ^end(%s : {T}), ^other
    ^other:
      "test.termop"() [^end] : () -> ()
    ^end(%a: {T}):
      func.return
    }}
    """
    module = parsed(text)
    assert RangeAnalysis().run(module)[named(module, "a")] == EVERYTHING


@dataclass(frozen=True)
class Needed:
    """Whether a value matters."""

    yes: bool

    def join(self, other: Needed) -> Needed:
        """Either."""
        return Needed(self.yes or other.yes)


class LivenessAnalysis(BackwardAnalysis[Needed]):
    """A value matters if an effect, a return or a value that matters reads it."""

    def bottom(self) -> Needed:
        return Needed(False)

    def exit(self, op: Operation) -> Sequence[Needed]:
        if op.name == "cf.cond_br":
            return [Needed(index == 0) for index in range(len(op.operands))]
        matters = isinstance(op, ReturnOp) or not (op.results or op.successors or is_side_effect_free(op))
        return [Needed(matters)] * len(op.operands)

    def transfer(self, op: Operation, results: Sequence[Needed]) -> Sequence[Needed]:
        return [Needed(any(item.yes for item in results))] * len(op.operands)


def test_backward_through_a_loop():
    text = f"""
    func.func @f(%c: i1, %x: {T}, %y: {T}) -> {T} {{
      %dead = core.relu(%y) : ({T}) -> {T}
      %used = core.relu(%x) : ({T}) -> {T}
      cf.br ^loop(%used, %dead : {T}, {T})
    ^loop(%a: {T}, %b: {T}):
      %a1 = core.neg(%a) : ({T}) -> {T}
      %b1 = core.add.Tensor(%b, %a) : ({T}, {T}) -> {T}
      cf.cond_br %c, ^loop(%a1, %b1 : {T}, {T}), ^end(%a : {T})
    ^end(%r: {T}):
      func.return %r : {T}
    }}
    """
    module = parsed(text)
    found = LivenessAnalysis().run(module)
    assert [found[named(module, name)].yes for name in ("x", "used", "a", "a1", "r", "c")] == [True] * 6
    assert [found[named(module, name)].yes for name in ("y", "dead", "b", "b1")] == [False] * 4


def test_ranges_hold_on_random_programs():
    """Elements computed with numpy lie in the ranges that the analysis gives."""
    random = np.random.default_rng(7)
    unary = ["core.relu", "core.neg", "core.abs", "core.sigmoid", "core.tanh", "core.exp"]
    binary = ["core.add.Tensor", "core.sub.Tensor", "core.mul.Tensor", "core.maximum", "core.minimum"]
    for _ in range(20):
        lines: list[str] = []
        count = 1
        for _ in range(12):
            a, b = (f"%v{random.integers(count)}" for _ in range(2))
            if random.random() < 0.5:
                lines.append(f"%v{count} = {random.choice(unary)}({a}) : ({T}) -> {T}")
            else:
                lines.append(f"%v{count} = {random.choice(binary)}({a}, {b}) : ({T}, {T}) -> {T}")
            count += 1
        body = "\n".join(lines)
        module = parsed(f"func.func @f(%v0: {T}) {{\n{body}\n func.return\n}}")
        found = RangeAnalysis().run(module)
        arrays: dict[SSAValue, Any] = {named(module, "v0"): random.normal(size=4).astype(np.float32) * 10}
        for op in module.walk():
            if isinstance(op, SchemaOp):
                with np.errstate(all="ignore"):
                    array = op.call("numpy", op.bind([arrays[operand] for operand in op.operands], op.properties))
                arrays[op.results[0]] = array
                numbers = array[~np.isnan(array)]
                low, high = found[op.results[0]].low, found[op.results[0]].high
                assert ((low <= numbers) & (numbers <= high)).all(), (op, found[op.results[0]], array)


def test_a_clamp_to_nan_has_no_bounds():
    body = f'%r = core.clamp(%x) {{min = "nan"}} : ({T}) -> {T}'
    module = parsed(f"func.func @f(%x: {T}) {{ {body}\n func.return }}")
    clamp = next(op for op in module.walk() if isinstance(op, SchemaOp))
    assert bounds_of_clamp(clamp) is None
