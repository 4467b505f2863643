"""Payloads say how far their kind is tried, and the tool that made them; commands tell it, and name who runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, StringAttr

from flambeau import BundledProgram, MethodTestCase, MethodTestSuite
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.contents import Origin, origin_of
from flambeau.passes.delegation.interface import State
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import Pipeline
from flambeau.runtime.emit import emit_pte, read_pte
from flambeau.runtime.pte import read_program
from flambeau.tools.main import main

KIND = "tensor<4xf32>"
MODULE = f"""func.func @forward(%x: {KIND}, %y: {KIND}) -> {KIND} {{
  %0 = aten.add.Tensor(%x, %y) : ({KIND}, {KIND}) -> {KIND}
  %1 = aten.tanh(%0) : ({KIND}) -> {KIND}
  %2 = aten.cos(%1) : ({KIND}) -> {KIND}
  %3 = aten.neg(%2) : ({KIND}) -> {KIND}
  %4 = aten.tanh(%3) : ({KIND}) -> {KIND}
  func.return %4 : {KIND}
}}"""
PLUGIN = """
from dataclasses import replace

from flambeau.backends.elementwise import BACKEND
from flambeau.backends.elementwise.payload import read_payload
from flambeau.passes.delegation.interface import State, one_by_one
from flambeau.runtime.interpreter import interpret

EXPECTED = {"cycles": 6008, "seconds": 1.25e-05, "sram_bytes": 2800.0}


def encode(partition, constants, options):
    from flambeau.backends.elementwise.program import encode

    return replace(encode(partition, constants, options), state=State.INTERCHANGE, made_by="vela 4.2.0", estimates=EXPECTED)


def simulate(data, named_data, arguments):
    from flambeau.passes.delegation.payload_runner import run_payload

    return run_payload(BACKEND.identifier, data, named_data, arguments, True)


NPU = replace(BACKEND, name="npu", identifier="Npu", encode=one_by_one(encode), description=None)
SIMULATED = replace(NPU, name="simulated", identifier="Simulated", simulate=simulate)
"""
ESTIMATES = {"cycles": 6008, "seconds": 1.25e-05, "sram_bytes": 2800}
INPUTS = ("--input", "x.npy", "--input", "x.npy")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mlir").write_text(MODULE)
    (tmp_path / "npu.py").write_text(PLUGIN)
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 4, dtype=np.float32))
    return tmp_path


def compiled(backend: str, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["compile", "a.mlir", "--backend", backend, "-o", "a.pte", "--load-plugin", "npu.py"]) == 0
    capsys.readouterr()
    return Path("a.pte")


def test_a_program_keeps_what_its_payloads_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = compiled("npu", capsys)
    specs = [item.compile_specs for item in read_program(program.read_bytes()).execution_plan[0].delegates]
    assert [[(spec.key, bytes(spec.value)) for spec in each] for each in specs] == [
        [
            ("flambeau.state", b"interchange"),
            ("flambeau.made_by", b"vela 4.2.0"),
            ("flambeau.estimates", b"cycles 6008\nseconds 1.25e-05\nsram_bytes 2800"),
        ]
    ] * 2
    assert main(["inspect", "a.pte"]) == 0
    shown = capsys.readouterr().out
    assert "delegate delegate0 (Npu), " in shown and " bytes\n  interchange, made by vela 4.2.0, 2 inputs, 1 output\n" in shown
    assert "\n  interchange, made by vela 4.2.0, 1 input, 1 output\n" in shown
    assert main(["inspect", "a.pte", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["delegates"]["delegate0"]
    assert {key: found[key] for key in ("state", "made_by", "inputs", "outputs")} == {
        "state": "interchange",
        "made_by": "vela 4.2.0",
        "inputs": 2,
        "outputs": 1,
    }


def test_estimates_are_told_as_those_of_the_tool(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled("npu", capsys)
    words = "estimated by vela 4.2.0: 6008 cycles, 1.25e-05 seconds, 2800 sram bytes"
    assert main(["inspect", "a.pte"]) == 0
    assert f"  interchange, made by vela 4.2.0, 1 input, 1 output\n  {words}\n" in capsys.readouterr().out
    assert main(["inspect", "a.pte", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delegates"]["delegate0"]["estimates"] == ESTIMATES
    main(["profile", "a.pte", "--load-plugin", "npu.py"])
    assert f"note: delegate delegate0 of Npu is {words}\n" in capsys.readouterr().err
    program, _ = said({"flambeau.estimates": "cycles 6008\nseconds 1.25e-05\nsram_bytes 2800\nspeed inf\n8 9\nx"})
    Path("a.pte").write_bytes(program)
    assert main(["profile", "a.pte", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["estimates"].values()) == [ESTIMATES] * 2


def test_payloads_that_say_nothing_are_as_their_backend(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = compiled("elementwise", capsys)
    assert all(not item.compile_specs for item in read_program(program.read_bytes()).execution_plan[0].delegates)
    assert main(["inspect", "a.pte"]) == 0
    assert " bytes\n  reference, 2 inputs, 1 output\n" in capsys.readouterr().out
    assert main(["run", "a.pte", *INPUTS]) == 0
    lines = [
        "delegate of FlambeauElementwise, reference, 2 inputs, 1 output",
        "delegate of FlambeauElementwise, reference, 1 input, 1 output",
    ]
    assert capsys.readouterr().err.splitlines() == [f"{line}: run by the C runtime" for line in lines]
    assert main(["run", "a.pte", *INPUTS, "--engine", "numpy"]) == 0
    assert capsys.readouterr().err.splitlines() == [f"{line}: run by numpy" for line in lines]


@pytest.mark.parametrize(("backend", "who"), [("npu", "numpy"), ("simulated", "its simulator")])
def test_no_simulation_is_said_to_be_the_device(folder: Path, capsys: pytest.CaptureFixture[str], backend: str, who: str) -> None:
    compiled(backend, capsys)
    assert main(["run", "a.pte", *INPUTS, "--engine", "numpy", "--load-plugin", "npu.py"]) == 0
    made = f"of {backend.capitalize()}, interchange, made by vela 4.2.0"
    assert capsys.readouterr().err.splitlines() == [
        f"delegate {made}, {count}, 1 output: run by {who}, not on its device" for count in ("2 inputs", "1 input")
    ]


def said(specs: dict[str, str]) -> tuple[bytes, Origin]:
    """A program whose payloads have these compile specs, and the origin that is read from it."""
    context = FlambeauContext()
    module = parse_module(MODULE, context).module
    Pipeline.parse("aten-to-core,core-to-edge,delegate{backends=elementwise{least=1}}").run(module, context)
    for op in module.body.block.ops:
        if isinstance(op, PayloadOp):
            op.specs = DictionaryAttr({key: StringAttr(value) for key, value in specs.items()})
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    program = b"".join(emit_pte(module, context))
    return program, origin_of(next(op for op in read_pte(program, context).body.block.ops if isinstance(op, PayloadOp)))


def test_an_interchange_format_runs_on_no_device(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for state, end in (("interchange", ", not on its device"), ("compiled", "")):
        program, origin = said({"flambeau.state": state})
        assert origin == Origin(State[state.upper()], None)
        (folder / "a.pte").write_bytes(program)
        assert main(["run", "a.pte", *INPUTS]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 2 and all(f"{origin.state.value if origin.state else ''}, " in line for line in lines)
        assert all(line.endswith(f"run by the C runtime{end}") for line in lines)


def test_what_no_state_is_called_is_the_backends(folder: Path) -> None:
    _, origin = said({"flambeau.state": "finished", "flambeau.made_by": "a\nb"})
    assert origin == Origin(State.REFERENCE, "a\\nb")


def test_equal_delegates_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = MODULE.replace("%0 = aten.add.Tensor(%x, %y)", "%0 = aten.neg(%y)").replace(
        f"%0 = aten.neg(%y) : ({KIND}, {KIND})", f"%0 = aten.neg(%y) : ({KIND})"
    )
    (folder / "a.mlir").write_text(text.replace("%4 = aten.tanh", "%4 = aten.sqrt"))
    compiled("elementwise", capsys)
    assert main(["run", "a.pte", *INPUTS]) == 0
    assert capsys.readouterr().err == "2 delegates of FlambeauElementwise, reference, 1 input, 1 output: run by the C runtime\n"


def test_a_run_of_test_cases_tells_it_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = said({"flambeau.made_by": "vela 4.2.0"})
    ones = np.ones(4, np.float32)
    (folder / "a.pte").write_bytes(program)
    suites = [MethodTestSuite("forward", [MethodTestCase([ones, ones], [ones])] * 2)]
    BundledProgram(None, suites, "a.pte").save("a.bpte")
    assert main(["run", "--bundled", "a.bpte", "--atol", "9"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("delegate of FlambeauElementwise, reference, made by vela 4.2.0, ")


def test_a_payload_is_lowered_again_without_what_it_said(folder: Path) -> None:
    context = FlambeauContext()
    program, _ = said({"flambeau.state": "compiled", "flambeau.made_by": "vela 4.2.0", "flambeau.estimates": "cycles 6008"})
    module = read_pte(program, context)
    assert {str(Partitioner.of(op)) for op in module.body.block.ops if isinstance(op, PayloadOp)} == {"elementwise"}
    Pipeline.parse("disassemble-payloads").run(module, context)
    assert {op.specs for op in module.body.block.ops if isinstance(op, PartitionOp)} == {None}
    Pipeline.parse("lower-partitions").run(module, context)
    assert {op.specs for op in module.body.block.ops if isinstance(op, PayloadOp)} == {None}


def test_the_judge_tells_what_payloads_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["test-backend", "npu", "--load-plugin", "npu.py", "--graphs", "2"])
    shown = capsys.readouterr().out
    assert any(line.startswith("payloads: ") and line.endswith(", interchange, made by vela 4.2.0") for line in shown.splitlines())
