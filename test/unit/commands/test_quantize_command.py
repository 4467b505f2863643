"""`flambeau quantize`: what is written and reported, and what is said of samples and recipes that do not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flambeau.runtime import Runtime
from flambeau.tools.main import main

MODEL = """
import torch


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU())
        self.head = torch.nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.body(x))


def make():
    torch.manual_seed(0)
    return Mlp().eval(), (torch.randn(1, 256),)


def two():
    return {"encode": make(), "decode": make()}


def softmax():
    return torch.nn.Softmax(-1), (torch.randn(1, 256),)


class Accumulated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(256, 64), torch.nn.Linear(64, 4)

    def forward(self, x):
        return self.second(torch.cumsum(torch.sigmoid(self.first(x)), 1))


def accumulated():
    torch.manual_seed(0)
    return Accumulated().eval(), (torch.randn(1, 256),)


class Branches(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def branches():
    return Branches(), (torch.ones(1, 256),)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("mlp", None)
    (tmp_path / "mlp.py").write_text(MODEL)
    np.savez("samples.npz", x=np.random.default_rng(0).normal(size=(16, 1, 256)).astype(np.float32))
    return tmp_path


def test_an_mlp_in_integers_is_compiled_and_agrees(folder: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["quantize", "mlp.py:make", "--data", "samples.npz", "--report", "--json"]) == 0
    said = capfd.readouterr()
    assert said.err == ""
    written = json.loads(said.out)
    report = written["report"]
    assert written["output"] == "mlp_int8.pt2" and written["bytes"] == (folder / "mlp_int8.pt2").stat().st_size
    assert report["snr"] > 25
    assert [item["path"] for item in report["operators"]] == ["body.0", "body.1", "body.2", "body.3", "head"]
    assert all(item["scheme"] == "int8" and item["snr"] > 25 and item["low"] < item["high"] for item in report["operators"])
    assert report["operators"][0]["bytes_before"] == 4 * (256 * 256 + 256)
    assert main(["compile", "mlp_int8.pt2", "--target", "flambeau", "-o", "quantized.pte"]) == 0
    assert main(["compile", "mlp.py:make", "--target", "flambeau", "-o", "floats.pte"]) == 0
    assert (folder / "quantized.pte").stat().st_size < 0.35 * (folder / "floats.pte").stat().st_size
    x = np.load("samples.npz")["x"][0]
    quantized, floats = (
        Runtime.get().load_program(name).load_method("forward").execute([x])[0] for name in ("quantized.pte", "floats.pte")
    )
    assert 10 * np.log10(np.square(floats).sum() / np.square(quantized - floats).sum()) > 25


def test_what_a_backend_takes_of_a_program_for_it_is_told(capfd: pytest.CaptureFixture[str]):
    arguments = ["quantize", "mlp.py:accumulated", "--data", "samples.npz", "--for", "tosa"]
    reason = "the backend has no cumsum between integers"
    assert main([*arguments, "-o", "q.pt2"]) == 0
    told = capfd.readouterr().err.splitlines()
    assert told[0].startswith("weights: 99.6% in integers, 66832 bytes before")
    assert told[1:3] == ["tosa takes 3 of 4 operators, in 2 partitions", f"  1 cumsum: {reason}"]
    assert main([*arguments, "-o", "q.pt2", "--json"]) == 0
    said = capfd.readouterr()
    left = [{"operator": "cumsum", "count": 1, "reason": reason}]
    assert said.err == "" and json.loads(said.out)["backend"] == {"name": "tosa", "taken": 3, "partitions": 2, "left": left}


def test_a_new_process_reads_a_quantized_program_without_a_word_of_pytorch():
    assert main(["quantize", "mlp.py:make", "--data", "samples.npz", "-o", "q.pt2"]) == 0
    command = [sys.executable, "-m", "flambeau.tools.main", "compile", "q.pt2", "--target", "flambeau"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 9, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mlp.py:make"], "the recipe int8 needs samples, from which ranges follow (--data FILE.npz); int8-dynamic and w8 do not"),
        (["mlp.py:make", "--recipe", "int9"], "there is no recipe 'int9'; there are int8, int8-dynamic, w8; did you mean 'int8'?"),
        (["mlp.py:make", "-o", "q.pte"], "-o q.pte: a quantized model is written as a .pt2 file, which flambeau compile takes"),
        (["mlp.py:make", "-o", "there/q.pt2"], "there/q.pt2 cannot be written: there is no folder there"),
        (["mlp.py:two", "--recipe", "w8"], "mlp.py:two: there are several programs, encode, decode: name one of them"),
        (["mlp.pte"], "mlp.pte: a PyTorch program is a .pt2 file, package.module:name or file.py:name"),
        (["mlp.pt2"], "no such file: mlp.pt2"),
        (["mlp.py:softmax", "--recipe", "w8"], "nothing of the program can be quantized by the recipe w8: softmax.int has no form of w8"),
        (
            ["mlp.py:make", "--data", "samples.npz", "--float", "haed"],
            "'haed' keeps nothing in floats: no operator of the program is in a module of this path, or has this name; did",
        ),
        (["mlp.py:branches", "--recipe", "w8"], "torch.export cannot capture Branches, at mlp.py:"),
        (["mlp.py:make", "--data", "nothing.npz"], "nothing.npz"),
        (
            ["mlp.py:make", "--data", "samples.npz", "--for", "elementwise"],
            "the backend 'elementwise' takes no quantized numbers (with quantized numbers: ",
        ),
        (
            ["mlp.py:make", "--data", "samples.npz", "--for", "tossa"],
            "there is no backend 'tossa'; there are coreml, elementwise, ",
        ),
    ],
)
def test_mistakes_are_explained_in_a_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["quantize", *arguments]) == 1
    last = capsys.readouterr().err.splitlines()[-1]  # PyTorch prints what it could not capture above it
    assert last.startswith(f"error: {message}")


def test_without_torchao_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(sys.modules, "torchao", None)
    assert main(["quantize", "mlp.py:make", "--recipe", "w8"]) == 1
    needs = "needs torchao: run pip install '.[quantize]' in the folder of Flambeau's sources"
    assert capsys.readouterr().err == f"error: flambeau quantize {needs}\n"
