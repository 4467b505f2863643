"""Files that commands of `flambeau` write: they replace no input, no other output and no file of another kind, and fail before the work."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run

import pytest
import torch
from torch import nn

from flambeau import BundledProgram, ExecutorchBackendConfig, MethodTestCase, MethodTestSuite, to_edge
from flambeau.passes.delegation.interface import file_backends
from flambeau.tools.main import main

MODEL = """
import torch

def make():
    return torch.nn.ReLU(), (torch.zeros(1, 4),)
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("keep.py").write_text("important = True\n")
    program = to_edge(torch.export.export(nn.ReLU(), (torch.zeros(1, 4),)), generate_etrecord=True).to_executorch()
    program.save("a.pte")
    os.link("a.pte", "linked.npz")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("profile a.pte --etdump a.pte", "refusing to overwrite the input a.pte: name another file with --etdump"),
        ("profile a.pte --trace linked.npz", "refusing to overwrite the input linked.npz: name another file with --trace"),
        ("profile a.pte --trace keep.py", "keep.py exists and is not a .json file: name another file with --trace"),
        ("profile a.pte --etdump keep.py", "keep.py exists and is not a .etdp file: name another file with --etdump"),
        ("profile a.pte --trace x --etdump ./x", "--trace and --etdump name the same file x: name two files"),
        ("profile a.pte --trace no/x.json", "no/x.json cannot be written: there is no folder no"),
        ("profile a.pte --etdump .", ". is a folder, not a file to write"),
        ("report a.pte -o no/x.html", "no/x.html cannot be written: there is no folder no"),
        ("report a.pte --model-explorer no/x.json", "no/x.json cannot be written: there is no folder no"),
        ("run a.pte --output linked.npz", "refusing to overwrite the input linked.npz: name another file with --output"),
        ("run a.pte --output no/x.npz", "no/x.npz cannot be written: there is no folder no"),
        (
            "compile model.py:make -o w.ptd --external-constants w",
            "-o and --external-constants name the same file w.ptd: name two files",
        ),
        (
            "compile model.py:make --to edge --planner greedy",
            "--planner: memory is planned on the way from exec to planned, and a .mlir ends at edge",
        ),
        (
            "compile model.py:make -o x.onnx --memory a=1K",
            "--memory: memory is planned on the way from exec to planned, and a .onnx ends at edge",
        ),
        *(
            (
                f"compile model.py:make -o x.{form} --target flambeau",
                f"--target flambeau: what reads a .{form} runs all of it, and a target is for what no backend takes",
            )
            for form in file_backends()
        ),
        *(
            (
                f"compile model.py:make --to {end} {option}",
                f"{option.partition(' ')[0]}: it is read on the way from {before} to {stage}, and",
            )
            for end, before, stage, option in (
                ("aten", "aten", "core", "--bound s=3"),
                ("core", "core", "edge", "--target flambeau"),
                ("core", "core", "edge", "--backend xnnpack --explain-partitions"),
            )
        ),
        ("compile model.py:make -o x.onnx --passes exec:cse", "--passes exec:cse: they run at that stage, and a .onnx ends at edge"),
        ("compile model.py:make --to core --passes edge:cse", "--passes edge:cse: they run at that stage, and a .mlir ends at core"),
        ("compile model.py:make -o x.pte --external-constants keep", "keep.ptd exists and is not a .ptd file"),
    ],
)
def test_a_command_refuses_before_it_works(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("keep.ptd").write_text("not weights")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main(command.split()) == 1
    assert f"error: {message}" in capsys.readouterr().err.splitlines()[-1]
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


UNKNOWN_NAMES = {
    "quantize model.py:make --recipe int9": "there is no recipe 'int9'; there are int8, int8-dynamic, w8; did you mean 'int8'?",
    "quantize model.py:make --for foo": "there is no backend 'foo'; there are coreml, elementwise, ",
    "compile model.py:make --target foo": "there is no target 'foo'; there are cadence, executorch, ",
    "compile model.py:make --backend foo": "--backend foo: there is no backend 'foo'; there are ",
    "compile model.py:make --planner foo": "--planner foo: there is no planning algorithm 'foo'; there are ",
    "compile model.py:make --to foo": "there is no stage 'foo'; there are ",
    "report model.py:make --target foo": "there is no target 'foo'; there are ",
    "report model.py:make --backend foo": "--backend foo: there is no backend 'foo'; there are ",
    "numerics model.py:make --target foo": "there is no target 'foo'; there are ",
    "numerics model.py:make --backend foo": "--backend foo: there is no backend 'foo'; there are ",
    "numerics model.py:make --stage foo": "--stage foo: there are the stages ",
    "numerics model.py:make --against foo": "--against foo: there are the stages ",
    **{
        f"quantize model.py:make --recipe {name}": f"there is no recipe '{name}'; there are int8, int8-dynamic, w8; no recipe has w"
        for name in ("int4", "w4", "4bit", "8da4w", "int4-dynamic", "w4a8", "uint4")
    },
}


def test_an_unknown_name_is_refused_before_pytorch_is_imported() -> None:
    code = "import json, sys; from flambeau.tools.main import main; codes = [main(line.split()) for line in json.loads(sys.argv[1])]"
    words = [sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules; print(codes)", json.dumps([*UNKNOWN_NAMES])]
    done = run(words, capture_output=True, text=True)
    assert done.stdout == f"{[1] * len(UNKNOWN_NAMES)}\n", done.stderr
    for line, message in zip(done.stderr.splitlines(), UNKNOWN_NAMES.values(), strict=True):
        assert line.startswith(f"error: {message}")


def test_a_command_replaces_what_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["profile", "a.pte", "--iterations=1", "--trace=x.json", "--etdump=x.dump"]) == 0
        assert main(["compile", "model.py:make", "-o", "x.pte", "--external-constants=w"]) == 0
    assert main(["profile", "a.pte", "--iterations=1", "--trace=/dev/null"]) == 0


@pytest.mark.parametrize("command", ["profile", "run", "run --bundled", "inspect", "size", "numerics", "report", "quantize --recipe w8"])
def test_a_folder_is_no_program(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "folder.pt2" if command.startswith("quantize") else "folder.pte"
    Path(name).mkdir()
    assert main([*command.split(), name]) == 1
    assert capsys.readouterr().err == f"error: {name} is a folder, not a file\n"


def test_saving_says_that_the_folder_is_missing() -> None:
    program = to_edge(torch.export.export(nn.Linear(2, 2), (torch.zeros(1, 2),)), generate_etrecord=True)
    program = program.to_executorch(ExecutorchBackendConfig(external_constants=True))
    bundle = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase((torch.zeros(1, 2),))])])
    for save in (program.save, program.get_etrecord().save, bundle.save):
        with pytest.raises(FileNotFoundError, match="there is no folder no: 'no/x'"):
            save("no/x")
    with pytest.raises(FileNotFoundError, match="there is no folder no"):
        program.write_tensor_data_to_file("no")
