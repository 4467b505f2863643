"""What is said of a pass that crashes, ends the process or is interrupted: the pass, the pattern, the operation, and for how long."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flambeau.dialects.ir.diagnostics import Diagnostic, listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.tools.main import main as flambeau
from flambeau.tools.opt import main

TEXT = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.sigmoid(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""
NUMBERS = "scale = 1.0, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8"
DELEGATED = f"""delegate.partition @p backend "Other" (%a: tensor<2xf32>) -> (tensor<2xf32>) {{
  delegate.return %a : tensor<2xf32>
}}
func.func @f(%x: tensor<2xi8>) -> tensor<2xf32> {{
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {{{NUMBERS}}} : (tensor<2xi8>) -> tensor<2xf32>
  %1 = delegate.call @p(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}}
"""
PLUGIN = """
import sys
from dataclasses import dataclass

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.kit import ModulePass, OperationPass, Pattern, PatternPass
from flambeau.passes.manager.registry import register_pass

class BadPattern(Pattern):
    roots = (SchemaOp,)
    def rewrite(self, op, rewriter):
        if op.name == "aten.sigmoid":
            {}["key"]

class EndingPattern(Pattern):
    roots = (SchemaOp,)
    def rewrite(self, op, rewriter):
        sys.exit(3)

@dataclass(frozen=True)
class BadPass(PatternPass):
    name = "bad"
    def patterns(self):
        return [BadPattern()]

@dataclass(frozen=True)
class EndingPass(PatternPass):
    name = "ending"
    def patterns(self):
        return [EndingPattern()]

@dataclass(frozen=True)
class SweepPass(ModulePass):
    name = "sweep"
    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "aten.sigmoid":
                inner.nothing

@dataclass(frozen=True)
class PairsPass(ModulePass):
    name = "pairs"
    def apply(self, ctx, op):
        first, second = list(op.walk())[2:4]
        first.nothing

@dataclass(frozen=True)
class EachPass(OperationPass):
    name = "each"
    def apply_to(self, ctx, op):
        1 / 0

@dataclass(frozen=True)
class StopPass(OperationPass):
    name = "stop"
    def apply_to(self, ctx, op):
        raise KeyboardInterrupt

for kind in (BadPass, EndingPass, SweepPass, PairsPass, EachPass, StopPass):
    register_pass(kind)
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("FLAMBEAU_DEBUG", raising=False)
    Path("plugin.py").write_text(PLUGIN)
    Path("a.mlir").write_text(TEXT)

    def run(*arguments: str) -> tuple[int, str]:
        status = main(["a.mlir", "--load-plugin=plugin.py", *arguments])
        captured = capsys.readouterr()
        assert captured.out == "" and "Traceback" not in captured.err
        return status, captured.err

    return run


@pytest.mark.parametrize(
    ("pipeline", "message", "raised"),
    [
        ("bad", "a.mlir:3:3: error: bad: internal error in BadPattern on aten.sigmoid: KeyError: 'key'", '{}["key"]'),
        ("ending", "a.mlir:2:3: error: ending: internal error in EndingPattern on aten.relu: SystemExit: 3", "sys.exit(3)"),
        ("sweep", "a.mlir:3:3: error: sweep: internal error on aten.sigmoid: AttributeError: ", "inner.nothing"),
        ("pairs", "error: pairs: internal error: AttributeError: ", "first.nothing"),
        ("each", "error: each: internal error: ZeroDivisionError: division by zero", "1 / 0"),
        ("func.func(each)", "a.mlir:1:1: error: each: internal error on func.func: ZeroDivisionError: division by zero", "1 / 0"),
        ("any(bad),cse", "a.mlir:3:3: error: bad: internal error in BadPattern on aten.sigmoid: KeyError: 'key'", '{}["key"]'),
    ],
)
def test_a_crash_names_what_was_looked_at(run: Run, pipeline: str, message: str, raised: str):
    status, err = run("-p", pipeline)
    assert status == 70
    assert err.startswith(message)
    assert re.search(rf"^plugin\.py:\d+:\d+: note: raised here\n *{re.escape(raised)}$", err, re.MULTILINE)
    found = re.search(r"--run-reproducer (\S+)", err)
    assert found is not None
    assert main(["--run-reproducer", found[1], "--no-reproducer"]) == 70


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        ("cse,stop", r"interrupted in pass 'stop', which had run for \d+\.\d s\n"),
        ("func.func(stop)", r"interrupted in pass 'stop' on func\.func @f, which had run for \d+\.\d s\n"),
    ],
)
def test_an_interrupt_names_the_pass(run: Run, capsys: pytest.CaptureFixture[str], pipeline: str, words: str):
    status, err = run("-p", pipeline)
    assert status == 130 and re.fullmatch(words, err)
    assert flambeau(["compile", "a.mlir", "-o", "a.pte", "--load-plugin", "plugin.py", "--passes", f"aten:{pipeline}"]) == 130
    assert re.search(f"^{words}", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "pipeline", "warnings"),
    [
        (TEXT, "plan-memory", ["found nothing to work on: it works on exec.method; here are operations of aten"]),
        (TEXT, "cse,fuse-rms-norm", ["found nothing to work on: it works on edge and fused; here are operations of aten"]),
        (TEXT, "func.func(elide-views)", ["found nothing to work on: it works on exec.method; here are operations of aten"]),
        (TEXT, "compile", []),
        (TEXT, "compile{target=flambeau}", []),
        ("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}", "compile{target=flambeau}", []),
        (DELEGATED, "fuse-rms-norm,fuse-epilogues", []),
        ("", "plan,fuse-epilogues", []),
    ],
)
def test_a_pass_of_another_stage_is_warned_of(text: str, pipeline: str, warnings: list[str]):
    context = FlambeauContext()
    module = parse_module(text, context).module
    found: list[Diagnostic] = []
    with listening(found.append, ("warning",)):
        Pipeline.parse(pipeline).run(module, context)
    assert [item.message for item in found] == warnings
