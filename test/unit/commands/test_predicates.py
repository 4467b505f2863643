"""Predicates: what they hold for, and what the command line makes of them."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.aten.layers.activation import HardswishOp, ReluOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import Pipeline
from flambeau.tools.main import main
from flambeau.tools.opt.driver import main as opt
from flambeau.tools.predicates.crash import Crash, kind_of
from flambeau.tools.predicates.output_checks import FileCheck, Script
from flambeau.tools.predicates.predicate import Predicate, PredicateError, run_pipeline
from flambeau.tools.predicates.predicate_options import PredicateOptions, make_predicate
from flambeau.tools.predicates.wrong_result import WrongResult

TEXT = """
func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
  %a = aten.hardswish(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = aten.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


@pytest.fixture
def context() -> FlambeauContext:
    return FlambeauContext()


@pytest.fixture
def module(context: FlambeauContext) -> ModuleOp:
    return parse_module(TEXT, context).module


@pytest.fixture
def miscompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.add.Scalar(x, 1)

    monkeypatch.setattr(HardswishOp, "decompose", staticmethod(decompose))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def decompose(x: SSAValue, /) -> SSAValue:
        raise RuntimeError("no decomposition today")

    monkeypatch.setattr(HardswishOp, "decompose", staticmethod(decompose))


def made(module: ModuleOp, context: FlambeauContext, pipeline: str = "decompose-aten{strict}", **options: object) -> Predicate:
    return make_predicate(PredicateOptions(pipeline, **options), module, context)  # pyright: ignore[reportArgumentType]  each test's own


def test_without_a_word_it_is_a_wrong_result_where_nothing_fails(module: ModuleOp, context: FlambeauContext):
    predicate = made(module, context)
    assert isinstance(predicate.question, WrongResult)
    assert predicate.description == "the pipeline changes the result"
    verdict = predicate.check(module, context)
    assert (verdict.holds, verdict.detail) == (False, "the results are the same")


@pytest.mark.usefixtures("broken")
def test_without_a_word_it_is_a_crash_where_something_fails(module: ModuleOp, context: FlambeauContext):
    predicate = made(module, context)
    assert isinstance(predicate.question, Crash)
    assert predicate.check(module, context)


@pytest.mark.usefixtures("miscompiled")
def test_a_wrong_result_holds_and_leaves_the_module_alone(module: ModuleOp, context: FlambeauContext):
    verdict = made(module, context).check(module, context)
    assert verdict
    assert verdict.detail.startswith("output 0 of @forward differs")
    assert print_module(module) == print_module(parse_module(TEXT, context).module)


@pytest.mark.usefixtures("miscompiled")
def test_the_inputs_and_the_tolerance_decide(module: ModuleOp, context: FlambeauContext, tmp_path: Path):
    # For these, both are 0 after relu.
    np.savez(tmp_path / "inputs.npz", x=np.full(4, -5, np.float32))
    assert not made(module, context, inputs=tmp_path / "inputs.npz").check(module, context)
    assert not made(module, context, tolerance=100.0).check(module, context)
    assert made(module, context, wrong_result=True, seed=5).check(module, context)


@pytest.mark.usefixtures("broken")
def test_a_module_on_which_the_pipeline_fails_has_no_wrong_result(module: ModuleOp, context: FlambeauContext):
    verdict = made(module, context, wrong_result=True).check(module, context)
    assert not verdict
    assert "the pipeline fails: " in verdict.detail
    assert "no decomposition today" in verdict.detail


def test_a_module_that_cannot_run_has_no_wrong_result(context: FlambeauContext):
    module = parse_module(TEXT.replace("aten.relu(%a)", "aten.rand_like(%a)"), context).module
    verdict = Predicate(Pipeline.parse("cse"), WrongResult()).check(module, context)
    assert not verdict
    assert "random" in verdict.detail


def test_a_crash_is_of_one_kind(module: ModuleOp, context: FlambeauContext, monkeypatch: pytest.MonkeyPatch):
    errors: list[Exception] = [RuntimeError("first"), KeyError("second"), RuntimeError("third")]

    def decompose(x: SSAValue, /) -> SSAValue:
        raise errors.pop(0)

    monkeypatch.setattr(HardswishOp, "decompose", staticmethod(decompose))
    predicate = Predicate(Pipeline.parse("decompose-aten{strict}"), Crash())
    first, second, third = (predicate.check(module, context) for _ in range(3))
    assert first
    assert "first" in first.detail
    assert not second
    assert "in another way" in second.detail
    assert third


def test_errors_of_other_lines_and_other_operations_are_others(module: ModuleOp, context: FlambeauContext):
    def raised(pass_: str, failing: Callable[[Operation], None]) -> tuple[str, ...]:
        class FailingPass(ModulePass):
            name = pass_

            def apply(self, ctx: Context, op: ModuleOp) -> None:
                for inner in op.walk():
                    failing(inner)

        error = run_pipeline(Pipeline.of([FailingPass()]), module, context).error
        assert error is not None
        return kind_of(error)

    def one(op: Operation) -> None:
        if isinstance(op, HardswishOp):
            raise ValueError("one")

    def other(op: Operation) -> None:
        if isinstance(op, HardswishOp):
            raise ValueError("one")

    def about(kind: type[Operation], message: str) -> Callable[[Operation], None]:
        def failing(op: Operation) -> None:
            if isinstance(op, kind):
                raise OperationError(op, message)

        return failing

    assert raised("p", one) == raised("p", one)
    assert raised("p", one) != raised("q", one)
    assert raised("p", one) != raised("p", other)
    assert raised("p", about(HardswishOp, "tensor<4xf32> is 4")) == raised("p", about(HardswishOp, "tensor<8xf16> is 8"))
    assert raised("p", about(HardswishOp, "is 4")) != raised("p", about(ReluOp, "is 4"))
    assert raised("p", about(HardswishOp, "is 4")) != raised("p", about(HardswishOp, "has 4"))


def state_of(process: int) -> str:
    """Return a process's state as the kernel's letter, "Z" for one that has ended or is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def test_a_script_ends_with_what_it_started(module: ModuleOp, context: FlambeauContext, tmp_path: Path):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nsleep 100 & echo $! > {tmp_path}/child\nwait\n")
    script.chmod(0o755)
    noted = tmp_path / "child"
    # A busy machine may take its time to start the script.
    for timeout in (0.5, 5, 50):
        verdict = Predicate(Pipeline.of([]), Script(str(script), timeout=timeout)).check(module, context)
        assert (verdict.holds, verdict.can_tell) == (False, False)
        if noted.exists() and noted.read_text():
            break
    # A signal is sent before it is taken: a process may run for a moment after its end was ordered.
    patience = time.monotonic() + 50
    while (state := state_of(int(noted.read_text()))) != "Z" and time.monotonic() < patience:
        time.sleep(0.01)
    assert state == "Z"


def test_scripts_that_cannot_run_say_what_would_help(
    module: ModuleOp, context: FlambeauContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("decide.sh").write_text("#!/bin/sh\n")
    for command, message in (
        ("decide.sh", "did you mean ./decide.sh?"),
        ("./decide.sh", "chmod +x ./decide.sh"),
        ("", "the script is empty"),
    ):
        with pytest.raises(PredicateError, match=re.escape(message)):
            Predicate(Pipeline.of([]), Script(command)).ask(module, context)


@pytest.mark.usefixtures("broken")
def test_a_crash_may_be_told_by_its_message(module: ModuleOp, context: FlambeauContext):
    assert made(module, context, error="no .* today").check(module, context)
    assert not made(module, context, error="out of memory").check(module, context)
    assert made(module, context, error="no .* today").description == "the pipeline fails with /no .* today/"


@pytest.mark.parametrize("in_process", [True, False])
def test_checks_decide(in_process: bool, module: ModuleOp, context: FlambeauContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not in_process:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  as if it were not there
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    checks, others, none = tmp_path / "checks", tmp_path / "others", tmp_path / "none"
    checks.write_text("CHECK-NOT: hardswish\nCHECK: aten.relu\n")
    others.write_text("CHECK: aten.hardswish\n")
    none.write_text("nothing\n")
    assert made(module, context, filecheck=checks).check(module, context)
    assert not made(module, context, filecheck=checks, negated=True).check(module, context)
    verdict = made(module, context, filecheck=others).check(module, context)
    assert not verdict
    assert "hardswish" in verdict.detail
    assert made(module, context, filecheck=others, negated=True).check(module, context)
    assert "these checks cannot be run" in made(module, context, filecheck=none).check(module, context).detail
    assert made(module, context, "", filecheck=others).check(module, context)


def test_nothing_that_runs_checks(module: ModuleOp, context: FlambeauContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  as if it were not there
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "checks").write_text("CHECK: x\n")
    assert "nothing here can run FileCheck tests" in made(module, context, filecheck=tmp_path / "checks").check(module, context).detail


def test_a_script_decides(module: ModuleOp, context: FlambeauContext):
    assert not made(module, context, script="grep -q hardswish").check(module, context)
    assert made(module, context, "", script="grep -q hardswish").check(module, context)
    assert made(module, context, script="grep -q hardswish", negated=True).check(module, context)
    assert "cannot be run: No such file" in made(module, context, script="./no-such-script").check(module, context).detail
    assert "cannot be run: No closing quotation" in made(module, context, script="grep '").check(module, context).detail
    assert "longer than 0.1 s" in Predicate(Pipeline.of([]), Script("sh -c 'sleep 9'", timeout=0.1)).check(module, context).detail


@pytest.mark.usefixtures("broken")
def test_a_text_that_the_pipeline_does_not_make_satisfies_nothing(module: ModuleOp, context: FlambeauContext, tmp_path: Path):
    (tmp_path / "checks").write_text("CHECK: x\n")
    assert not made(module, context, script="true").check(module, context)
    assert not made(module, context, script="false", negated=True).check(module, context)
    assert not made(module, context, filecheck=tmp_path / "checks", negated=True).check(module, context)


def test_a_script_finds_the_weights_beside(context: FlambeauContext):
    blob = context.blobs.add("w", np.ones(4, np.float32).data)
    text = f"""
    ml_program.global private @w({blob}) : tensor<4xf32>
    func.func @forward() -> tensor<4xf32> {{
      %w = ml_program.global_load_const @w : tensor<4xf32>
      func.return %w : tensor<4xf32>
    }}"""
    module = parse_module(text, context).module
    script = f"{sys.executable} -c 'import pathlib, sys; sys.exit(not pathlib.Path(sys.argv[1]).with_suffix(\".safetensors\").exists())'"
    assert made(module, context, "cse", script=script).check(module, context)


def test_weights_that_a_trial_makes_do_not_stay(context: FlambeauContext):
    module = parse_module(
        """func.func @forward() -> tensor<64xf32> {
      %c = aten.full() {size = [64], fill_value = 2.0} : () -> tensor<64xf32>
      %d = aten.neg(%c) : (tensor<64xf32>) -> tensor<64xf32>
      func.return %d : tensor<64xf32>
    }""",
        context,
    ).module
    before = str(context.blobs)
    assert not made(module, context, "decompose-aten,convert-aten-to-core,fold-constants").check(module, context)
    assert str(context.blobs) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crash": True, "script": "true"}, "give one predicate only"),
        ({"tolerance": 1.0, "crash": True}, "give one predicate only"),
        ({"negated": True}, "--not is for --filecheck and --script"),
        ({"error": "("}, "is not a regular expression"),
        ({"tolerance": -1.0}, "the tolerance must be a number of 0 or more, got -1.0"),
        ({"tolerance": float("nan")}, "the tolerance must be a number of 0 or more, got nan"),
        ({"seed": -1}, "the seed must not be negative"),
        ({"script": "true", "timeout": 0.0}, "must be more than 0 s"),
        ({"pipeline": ""}, "give a pipeline"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, object], message: str, module: ModuleOp, context: FlambeauContext):
    with pytest.raises(PredicateError, match=message):
        made(module, context, **options)  # pyright: ignore[reportArgumentType]  each case's own


def test_descriptions():
    assert FileCheck(Path("a")).description == "the output passes the checks of a"
    assert FileCheck(Path("a"), negated=True).description == "the output fails the checks of a"
    assert Script("x -y").description == "`x -y` ends with status 0"
    assert Script("x", negated=True).description == "`x` ends with another status than 0"


FRAGILE = """
from flambeau.passes.kit import *


class FragilePass(ModulePass):
    \"\"\"Fails on relu.\"\"\"

    name = "fragile"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "aten.relu" and may_rewrite("fragile", inner):
                raise IndexError("out of range")
"""


@pytest.mark.parametrize("command", ["bisect", "reduce"])
def test_a_reproducer_brings_its_pipeline_and_its_plugins(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "fragile.py").write_text(FRAGILE)
    (tmp_path / "model.mlir").write_text(TEXT)
    crash = tmp_path / "crash.mlir"
    plugin = f"--load-plugin={tmp_path / 'fragile.py'}"
    assert opt([str(tmp_path / "model.mlir"), plugin, "-p", "cse,fragile", f"--crash-reproducer={crash}"]) != 0
    assert main([command, str(crash), "-o", str(tmp_path / "out.mlir"), "--json"]) == 0
    assert "IndexError: out of range" in json.loads(capsys.readouterr().out)["detail"]


@pytest.mark.parametrize("command", ["bisect", "reduce"])
def test_stdin_and_several_modules(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("fragile.py").write_text(FRAGILE)
    arguments = [command, "-", "--load-plugin=fragile.py", "-p", "fragile"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert main(arguments) == 0
    assert Path(f"stdin-{'bisect' if command == 'bisect' else 'reduced.mlir'}").exists()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{TEXT}\n// -----\n{TEXT}".encode())))
    capsys.readouterr()
    assert main(arguments) == 1
    assert "<stdin>: there are 2 modules between lines '// -----'" in capsys.readouterr().err
