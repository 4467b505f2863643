"""Files that commands of `flambeau` write: they replace no input, no other output and no file of another kind, and fail before the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import nn

from flambeau import BundledProgram, ExecutorchBackendConfig, MethodTestCase, MethodTestSuite, to_edge
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
        ("compile model.py:make -o x.pte --external-constants keep", "keep.ptd exists and is not a .ptd file"),
    ],
)
def test_a_command_refuses_before_it_works(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("keep.ptd").write_text("not weights")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main(command.split()) == 1
    assert f"error: {message}" in capsys.readouterr().err.splitlines()[-1]
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


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
