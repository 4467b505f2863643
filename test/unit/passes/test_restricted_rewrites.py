"""Any suffix of a pass's rewrites may be forbidden, as bisection does: the IR stays valid and nothing is reported that follows from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.registry import own_pass_file, own_pass_names
from flambeau.passes.rewriting.actions import was_restricted, watching
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter

FOLDER = Path(__file__).parents[2] / "filecheck"
MOST_CUTS = 12


def chunks(name: str) -> list[tuple[Path, str]]:
    """The valid pieces of the FileCheck test of a pass."""
    file = FOLDER / "passes" / own_pass_file(name).parent.name / f"{name}.mlir"
    return [(file, text) for text in re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE) if "expected-error" not in text]


def run(file: Path, text: str, pipeline: str, allowed: int | None) -> DebugCounter:
    context = FlambeauContext()
    context.blobs.open_beside(file)
    parsed = parse_module(text, context, str(file))
    verify_parsed(parsed)
    counter = DebugCounter({"*": CounterRange(0, allowed)})
    Pipeline.parse(pipeline).run(parsed.module, context, [counter])
    return counter


def check(file: Path, text: str, pipeline: str) -> int:
    attempts = run(file, text, pipeline, None).seen["*"]
    step = max(1, attempts // MOST_CUTS)
    for allowed in range(0, attempts, step):
        assert run(file, text, pipeline, allowed).allowed["*"] == allowed
    return attempts


ONLY_LOOK = {"bound-symbols", "disassemble-payloads", "print-op-stats", "strip-debuginfo", "verify-plan", "view-op-graph"}
"""Passes that rewrite no operation: they look, or change what stands on all operations at once."""


@pytest.mark.parametrize("name", own_pass_names())
def test_a_pass_may_be_stopped_after_each_rewrite(name: str):
    pipeline = "partition{backends=elementwise}" if name == "partition" else name
    attempts = sum(check(file, text, pipeline) for file, text in chunks(name))
    assert attempts > 0 or name in ONLY_LOOK


PROGRAM = """
func.func @forward(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.silu(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = aten.view(%0) {size = [4, 2]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = aten.view(%1) {size = [2, 4]} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %3 = aten.rms_norm(%2, none) {normalized_shape = [4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = aten.add.Tensor(%3, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = aten.cat([%4, %2]) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %6 = aten.sum.dim_IntList(%5) {dim = [0], keepdim = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %7 = aten.mul.Tensor(%6, %y) : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %7 : tensor<2x4xf32>
}
"""


@pytest.mark.parametrize("options", ["target=executorch", "target=flambeau", "backends=elementwise"])
def test_the_whole_pipeline_may_be_stopped_after_each_rewrite(options: str):
    assert check(FOLDER / "none.mlir", PROGRAM, f"compile{{{options}}}") > 20


def test_whether_a_run_is_restricted_is_known():
    counter = DebugCounter({"*": CounterRange(0, 1)})
    file, text = chunks("cse")[0]
    assert not was_restricted()
    context = FlambeauContext()
    module = parse_module(text, context, str(file)).module
    with watching(counter):
        assert not was_restricted()
        next(iter(Pipeline.parse("canonicalize,cse").passes())).apply(context, module)
        assert was_restricted()
    assert not was_restricted()
