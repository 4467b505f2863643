"""xDSL's passes, which flambeau-opt offers beside ours, on modules of every stage: they work, or say in one line that they do not."""

from __future__ import annotations

import pytest
from xdsl.transforms import get_all_passes

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed
from flambeau.passes.manager import PassCrash, PassError, Pipeline
from flambeau.passes.manager.registry import PipelineError, own_pass_names

INHERITED = sorted(set(get_all_passes()) - set(own_pass_names()))

TENSORS = """
ml_program.global private mutable @state(dense<0.0> : tensor<4xf32>) : tensor<4xf32>
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = core.mul.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ml_program.global_load @state : tensor<4xf32>
  %2 = func.call @declared(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = arith.constant dense<1.0> : tensor<4xf32>
  func.return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""
CONTROL = """
func.func @control(%a: i32, %n: index, %x: tensor<4xf32>) -> (i32, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c = arith.constant true
  %sum = arith.addi %a, %a : i32
  %0 = scf.if %c -> (i32) {
    scf.yield %sum : i32
  } else {
    scf.yield %a : i32
  }
  %1 = scf.for %i = %zero to %n step %one iter_args(%v = %x) -> (tensor<4xf32>) {
    %2 = edge.relu(%v) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  func.return %0, %1 : i32, tensor<4xf32>
}
"""
BRANCHES = """
func.func @branches(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^bb1(%a : i32), ^bb2
^bb1(%b: i32):
  func.return %b : i32
^bb2:
  cf.br ^bb1(%a : i32)
}
"""


@pytest.mark.parametrize("name", INHERITED)
def test_a_pass_of_xdsl_works_or_says_why_not(name: str) -> None:
    for text in (TENSORS, CONTROL, BRANCHES):
        for before in ("", "aten-to-core,core-to-edge,edge-to-exec,plan"):
            context = FlambeauContext()
            parsed = parse_module(text, context)
            verify_parsed(parsed)
            try:
                Pipeline.parse(before).run(parsed.module, context)
            except PassError:
                continue  # with control flow, there is no program
            try:
                Pipeline.parse(name).run(parsed.module, context)
            except PipelineError as error:
                assert "needs its option" in str(error), error
            except PassError as error:
                assert not isinstance(error, PassCrash), error
                assert "\n" not in error.diagnostic.message
