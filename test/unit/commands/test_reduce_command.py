"""`flambeau reduce` as a command: predicates, files, and what it says."""

import json
import stat
from pathlib import Path

import numpy as np
import pytest
from chains import random_chain, read, store

from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_module
from flambeau.tools.main import main

PLUGIN = '''
from dataclasses import dataclass
from xdsl.passes import ModulePass
from flambeau.passes.manager.registry import register_pass


@dataclass(frozen=True)
class FragilePass(ModulePass):
    """Fails on tanh of exp."""

    name = "fragile"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "aten.tanh" and getattr(inner.operands[0].owner, "name", "") == "aten.exp":
                raise IndexError("list index out of range")


register_pass(FragilePass)
'''


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, object], str]:
    status = main(["reduce", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else {}, captured.err


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(random_chain(80, 3))
    return path


@pytest.mark.parametrize("options", [[], ["--crash"], ["--error", "index out of r.nge"]])
def test_a_crash_of_a_pass_of_a_plug_in(options: list[str], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "fragile.py"
    plugin.write_text(PLUGIN)
    output = tmp_path / "out.mlir"
    status, report, error = run(capsys, source, "--load-plugin", plugin, "-p", "canonicalize,fragile", "-o", output, *options)
    assert status == 0, error
    assert report["operations"] == 4
    assert [op.name for op in read_module(output, FlambeauContext()).module.walk() if op.name.startswith("aten.")] == [
        "aten.exp",
        "aten.tanh",
    ]


SLIPPING = """
from flambeau.passes.kit import *


class SlipPass(ModulePass):
    \"\"\"Fails on what it is to fail on, and on what is small.\"\"\"

    name = "slip"

    def apply(self, ctx, op):
        names = [inner.name for inner in op.walk() if inner.name.startswith("aten.")]
        if "aten.tanh" in names and "aten.exp" in names:
            raise ValueError("the real one")
        if len(names) < 4:
            raise ValueError("too small")
"""


def test_another_error_of_the_same_class_is_another(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "slipping.py"
    plugin.write_text(SLIPPING)
    status, report, error = run(capsys, source, "--load-plugin", plugin, "-p", "slip", "-o", tmp_path / "out.mlir")
    assert status == 0, error
    assert "the real one" in str(report["detail"])
    assert report["operations"] == 4


NAN = """
from flambeau.passes.kit import *

Tanh, Exp, Div, MulS, AddS = (op(f"aten.{name}") for name in ("tanh", "exp", "div.Tensor", "mul.Scalar", "add.Scalar"))


@rewrites(Tanh)
def wrong(found):
    x = found.operands[0]
    before = getattr(x.owner, "name", "")
    if before == "aten.mul.Scalar":
        return None
    if before == "aten.exp":
        return Tanh(MulS(x, 1.1).result)
    e = Exp(MulS(x, 2).result).result
    return Div(AddS(e, -1).result, AddS(e, 1).result)  # no number where this is large


class NanPass(PatternPass):
    \"\"\"Wrong after exp, and not finite elsewhere.\"\"\"

    name = "nan"

    def patterns(self):
        return [wrong]
"""


def test_a_wrong_number_does_not_become_a_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, source, output = tmp_path / "nan.py", tmp_path / "model.mlir", tmp_path / "out.mlir"
    plugin.write_text(NAN)
    kind = "tensor<64xf32>"
    source.write_text(f"""func.func @f(%x : {kind}) -> {kind} {{
      %s = aten.sigmoid(%x) : ({kind}) -> {kind}
      %e = aten.exp(%s) : ({kind}) -> {kind}
      %t = aten.tanh(%e) : ({kind}) -> {kind}
      func.return %t : {kind}
    }}""")
    status, report, error = run(capsys, source, "--load-plugin", plugin, "-p", "nan", "-o", output)
    assert status == 0, error
    assert "max |Δ|" in str(report["detail"])
    assert "aten.exp" in output.read_text()


STATEFUL = """
from flambeau.passes.kit import *

runs = []


class LatePass(ModulePass):
    \"\"\"Fails from the second run of a process on, as its first run knows nothing of others.\"\"\"

    name = "late"

    def apply(self, ctx, op):
        runs.append(op)
        if len(runs) > 2 or len(list(op.walk())) > 60:
            raise IndexError("what an earlier run left")
"""


def test_what_a_new_process_does_not_show_is_not_reproducible(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "stateful.py"
    plugin.write_text(STATEFUL)
    status, _, error = run(capsys, source, "--load-plugin", plugin, "-p", "late", "--crash", "-o", tmp_path / "out.mlir")
    assert status == 1
    assert "this is not reproducible: the predicate held for this module, but does not in a new process" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--script", "./none.sh"], "error: the script './none.sh' cannot be run: No such file"),
        (["--script", ""], "error: the script is empty"),
        (["-p", "canonicalize", "--inputs", "inputs.npz"], "there is no input 'v0' for @f among the stored ones (y)"),
    ],
)
def test_a_predicate_that_makes_no_sense_says_why(
    options: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(source.parent)
    np.savez("inputs.npz", y=np.ones(3, np.float32))
    status, _, error = run(capsys, source, "-o", source.with_name("out.mlir"), *options)
    assert status == 1
    assert message in error
    assert "nothing to reduce" not in error


def test_filecheck_and_script(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    checks, output = tmp_path / "checks.txt", tmp_path / "out.mlir"
    checks.write_text("CHECK: aten.exp\nCHECK: aten.tanh\n")
    status, report, error = run(capsys, source, "--filecheck", checks, "-o", output)
    assert status == 0, error
    assert report["operations"] == 4
    script = tmp_path / "check.sh"
    script.write_text('#!/bin/sh\ngrep -q aten.neg "$1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    status, report, error = run(capsys, source, "--script", script, "-o", output)
    assert status == 0, error
    assert report["operations"] == 3
    assert "aten.neg" in output.read_text()


def test_the_weights_of_the_result_stand_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    context = FlambeauContext()
    text = f"""builtin.module {{
      {store(context, "w", np.arange(512, dtype=np.float32))}
      func.func @f(%x : tensor<512xf32>) -> tensor<512xf32> {{
        %w = ml_program.global_load_const @w : tensor<512xf32>
        %y = aten.mul.Tensor(%x, %w) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
        func.return %y : tensor<512xf32>
      }}
    }}"""
    source, checks, output = tmp_path / "model.mlir", tmp_path / "checks.txt", tmp_path / "out.mlir"
    source.write_text(text)
    save_weights(read(text, context), context.blobs, source.with_suffix(".safetensors"))
    checks.write_text("CHECK: global_load_const\n")
    status, _, error = run(capsys, source, "--filecheck", checks, "-o", output)
    assert status == 0, error
    assert output.with_suffix(".safetensors").stat().st_size < 512 < source.with_suffix(".safetensors").stat().st_size


def test_weights_of_others_are_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    context = FlambeauContext()
    text = f"""builtin.module {{
      {store(context, "w", np.arange(512, dtype=np.float32))}
      func.func @f() -> tensor<512xf32> {{
        %w = ml_program.global_load_const @w : tensor<512xf32>
        func.return %w : tensor<512xf32>
      }}
    }}"""
    source, output = tmp_path / "model.mlir", tmp_path / "model-reduced.mlir"
    source.write_text(text)
    for path in (source, output):
        save_weights(read(text, context), context.blobs, path.with_suffix(".safetensors"))
    status, _, error = run(capsys, source, "--script", "grep -q func.func", "-o", output)
    assert status == 1
    assert "model-reduced.safetensors exists, and there is no" in error
    assert output.with_suffix(".safetensors").exists()
    output.write_text(text)
    assert run(capsys, source, "--script", "grep -q func.func", "-o", output)[0] == 0
    assert not output.with_suffix(".safetensors").exists()
    status, _, error = run(capsys, source, "--script", "grep -q func.func", "-o", source)
    assert status == 1
    assert "refusing to overwrite the input" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "canonicalize"], "nothing to reduce: the predicate is that the pipeline changes the result, but the results are the same"),
        (["-p", "canonicalize", "--crash"], "nothing to reduce: the predicate is that the pipeline fails, but the pipeline does not fail"),
        ([], "give a pipeline (-p), or a predicate"),
        (["-p", "canonicalize", "-o", "out.pte"], "--output out.pte: the input and the result are .mlir files"),
    ],
)
def test_what_cannot_be_reduced_is_one_line(options: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str]):
    output = source.with_name("out.mlir")
    status, report, error = run(capsys, source, "-o", output, *options)
    assert (status, report) == (1, {})
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not output.exists()
