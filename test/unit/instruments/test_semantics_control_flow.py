"""What passes do within loops, branches and calls is compared, and the first value that differs is named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.layers.activation import ReluOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import PassError, Pipeline
from flambeau.runtime.interpreter import generate_inputs
from flambeau.tools.predicates.predicate import Predicate
from flambeau.tools.predicates.wrong_result import WrongResult
from flambeau.tools.semantics.check_semantics import CheckSemantics

LOOP = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 4 : index
  %start = arith.constant dense<0.0> : tensor<4xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (tensor<4xf32>) {
    %act = aten.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %d = aten.add.Tensor(%act, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}"""


def parse(text: str) -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    return parse_module(text, context).module, context


class SlopePass(ModulePass):
    """Gives the last relu a slope."""

    name = "slope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Changes it."""
        *_, last = (inner for inner in op.walk() if isinstance(inner, ReluOp))
        hint = last.result.name_hint
        wrong = aten.mul.Scalar(last.operands[0], 0.5)
        wrong.name_hint = hint
        PatternRewriter(last).replace(last, wrong.op)


def failure(text: str, passes: Sequence[ModulePass]) -> str:
    module, context = parse(text)
    with pytest.raises(PassError) as caught:
        Pipeline.of(passes).run(module, context, [CheckSemantics()])
    return str(caught.value)


def test_the_round_of_a_loop_is_named():
    message = failure(LOOP, [SlopePass()])
    assert "the first value that differs is %act, computed by aten.mul.Scalar (aten.relu before) in round 2: " in message


def test_a_loop_that_the_same_pass_unrolled_is_compared_round_by_round():
    class UnrollPass(ModulePass):
        name = "unroll"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            (unroll,) = Pipeline.parse("scf-for-loop-unroll").passes()
            unroll.apply(ctx, op)
            assert not any(isinstance(inner, scf.ForOp) for inner in op.walk())
            SlopePass().apply(ctx, op)

    message = failure(LOOP, [UnrollPass()])
    assert "the first value that differs is %act, computed by aten.mul.Scalar (aten.relu before): " in message


def test_a_loop_that_goes_round_once_less():
    class LessPass(ModulePass):
        name = "less"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            (loop,) = (inner for inner in op.walk() if isinstance(inner, scf.ForOp))
            bound = arith.ConstantOp(IntegerAttr(3, IndexType()))
            PatternRewriter(loop).insert(bound)
            loop.operands[1] = bound.result

    message = failure(LOOP, [LessPass()])
    assert "less: changes the result: output 0 of @forward differs" in message
    assert "the first value that differs is %r, computed by scf.for: " in message


def test_a_pass_may_not_make_a_loop_endless_or_leave_what_fails():
    class NoStepPass(ModulePass):
        name = "no-step"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            (loop,) = (inner for inner in op.walk() if isinstance(inner, scf.ForOp))
            loop.operands[2] = loop.operands[0]

    message = failure(LOOP, [NoStepPass()])
    assert message.startswith("no-step: changes the result: @forward fails: scf.for: the step must be more than 0, got 0")
    predicate = Predicate(Pipeline.of([NoStepPass()]), WrongResult())
    verdict = predicate.check(*parse(LOOP))
    assert verdict
    assert "@forward fails: scf.for: the step must be more than 0" in verdict.detail


def test_private_functions_may_go():
    text = """
    func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %r : tensor<4xf32>
    }
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = func.call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %r : tensor<4xf32>
    }"""

    class InlinePass(ModulePass):
        name = "inline"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            helper, forward = op.body.block.ops
            assert isinstance(helper, FuncOp)
            assert isinstance(forward, FuncOp)
            call = forward.body.block.first_op
            assert call is not None
            PatternRewriter(call).replace(call, ReluOp(forward.body.block.args[0]))
            helper.detach()
            helper.erase()

    module, context = parse(text)
    Pipeline.of([InlinePass()]).run(module, context, [CheckSemantics()])
    assert "the first value that differs is %r, computed by aten.mul.Scalar (aten.relu before): " in failure(text, [SlopePass()])


def test_numbers_are_made_up():
    module, _ = parse("""
    func.func @f(%b: i1, %i: i32, %n: index, %step: index, %at: index, %last: index, %x: f32, %t: tensor<3xf32>) -> f32 {
      %zero = arith.constant 0 : index
      %e = tensor.extract %t[%at] : tensor<3xf32>
      %r = scf.for %k = %zero to %last step %step iter_args(%a = %e) -> (f32) {
        %v = tensor.extract %t[%k] : tensor<3xf32>
        %w = arith.addf %a, %v : f32
        scf.yield %w : f32
      }
      func.return %r : f32
    }""")
    (method,) = module.body.block.ops
    assert isinstance(method, FuncOp)
    samples = [generate_inputs(method, seed, "wide") for seed in range(60)]
    found = [[np.asarray(leaf) for leaf in column] for column in zip(*samples, strict=True)]
    assert all(isinstance(leaf, np.ndarray) for leaves in samples for leaf in leaves)
    kinds = ["bool", "int32", "int64", "int64", "int64", "int64", "float32", "float32"]
    assert [column[0].dtype.name for column in found] == kinds
    seen = [{value.item() for value in column} for column in found[:6]]
    assert seen[0] == {False, True}
    assert min(seen[1]) < 0 < max(seen[1])
    assert min(seen[2]) == 0
    assert max(seen[2]) > 3
    assert min(seen[3]) == 1
    assert seen[4] == {0, 1, 2}
    assert seen[5] == {0, 1, 2, 3}


@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("kind", ["i1", "tensor<i1>"])
def test_both_sides_of_a_branch_are_taken(wrong: int, kind: str):
    first, second = ("relu", "neg") if wrong == 0 else ("neg", "relu")
    read = "tensor.extract %c[] : tensor<i1>" if kind == "tensor<i1>" else "arith.andi %c, %c : i1"
    text = f"""
    func.func @forward(%unused: tensor<4xf32>, %other: i1, %c: {kind}, %x: tensor<4xf32>) -> tensor<4xf32> {{
      %taken = {read}
      %r = scf.if %taken -> (tensor<4xf32>) {{
        %a = aten.{first}(%x) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %a : tensor<4xf32>
      }} else {{
        %a = aten.{second}(%x) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %a : tensor<4xf32>
      }}
      func.return %r : tensor<4xf32>
    }}"""
    for seed in range(4):
        module, context = parse(text)
        with pytest.raises(PassError, match="slope: changes the result"):
            Pipeline.of([SlopePass()]).run(module, context, [CheckSemantics(seed=seed)])
