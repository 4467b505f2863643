"""What cannot run is one line on every command line: what is wrong, and where."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import executorch
import numpy as np
import pytest
import torch
from runtime_programs import executable

from flambeau import to_edge
from flambeau.tools.main import main

LIBRARY = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
COMMANDS = ("flambeau run", "flambeau run --engine numpy", "flambeau-run")
NO_OPTION = r"backend 'xnnpack' has no option 'thread'; it has float_rows, library, profile, threads(; did you mean 'threads'\?)?$"
REFUSES = "method 'forward', delegate 0: backend 'XnnpackBackend' refuses it: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `good.pte` and `x.npy`."""
    folder = tmp_path_factory.mktemp("refusals")
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    to_edge(torch.export.export(module, (torch.ones(2, 4),))).to_backend("xnnpack").to_executorch().save(folder / "good.pte")
    np.save(folder / "x.npy", np.ones((2, 4), np.float32))
    return folder


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs a command on the program and options; gives its status and what it says on stderr."""
    monkeypatch.setenv("FLAMBEAU_XNNPACK_LIBRARY", str(LIBRARY))
    monkeypatch.chdir(folder)

    def run(command: str, *arguments: str) -> tuple[int, str]:
        tool, *rest = command.split()
        if tool == "flambeau-run":
            done = subprocess.run([executable(), *arguments, "--input", "x.npy"], capture_output=True, text=True)
            return done.returncode, done.stderr
        capfd.readouterr()
        status = main([*rest, *arguments, "--input", "x.npy"])
        return status, capfd.readouterr().err

    return run


def refused(result: tuple[int, str], message: str) -> None:
    status, text = result
    assert status != 0 and text.count("\n") == 1, text
    assert re.search(message, text), text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_program_runs(run: Callable[..., tuple[int, str]], command: str):
    assert run(command, "good.pte")[0] == 0


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str, str]] = {
    "header": (
        lambda data: data.replace(b"XH00", b"XH01"),
        REFUSES + r"its payload is damaged: it has no header XH00 \(\d+ bytes\)$",
        r"@delegate0: XNNPACK payload: it starts with b'.*XH01', not with b'.*XH00'$",
    ),
    "version": (
        lambda data: data.replace(b"XN01", b"XN02"),
        REFUSES + r"its payload is of another version than XN01$",
        r"@delegate0: XNNPACK payload: its graph is of format b'XN02'; b'XN01' is the one known$",
    ),
    "graph": (
        lambda data: data[: data.index(b"XN01") + 40] + b"\xff" * 100 + data[data.index(b"XN01") + 140 :],
        REFUSES + r"its payload is damaged: ",
        r"@delegate0: the XNNPACK payload is damaged: ",
    ),
    "identifier": (
        lambda data: data.replace(b"XnnpackBackend", b"XnnpackBackenD"),
        r"method 'forward' needs backend 'XnnpackBackenD', which this runtime does not have",
        r"@delegate0: no backend here is called 'XnnpackBackenD' by programs \(.*\); load its plug-in",
    ),
    "end": (lambda data: data[:-100], r"\d+ bytes, and its data needs \d+", r"the program is cut off: its segments should end at byte "),
}
"""How a program is changed, what the C runtime says of it, and what Python says."""


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_changed_program(run: Callable[..., tuple[int, str]], folder: Path, name: str, command: str):
    change, of_c, of_python = CHANGES[name]
    (folder / "changed.pte").write_bytes(change((folder / "good.pte").read_bytes()))
    # `flambeau run` reads the program as IR before the C runtime gets it.
    in_python = command.endswith("numpy") or (name == "end" and command == "flambeau run")
    refused(run(command, "changed.pte"), of_python if in_python else of_c)


@pytest.mark.parametrize("command", ["flambeau run", "flambeau-run"])
def test_an_absent_library(run: Callable[..., tuple[int, str]], folder: Path, command: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FLAMBEAU_XNNPACK_LIBRARY", "/nowhere.so")
    refused(run(command, "good.pte"), REFUSES + "the XNNPACK library cannot be loaded: /nowhere.so: cannot open shared object file")
    monkeypatch.setenv("FLAMBEAU_XNNPACK_LIBRARY", str(folder / "x.npy"))
    refused(run(command, "good.pte"), REFUSES + "the XNNPACK library cannot be loaded: .*x.npy: ")


@pytest.mark.parametrize("command", ["flambeau run", "flambeau-run"])
def test_options(run: Callable[..., tuple[int, str]], command: str):
    assert run(command, "good.pte", "--backend-option", "xnnpack.threads=2")[0] == 0
    for option, message in (
        ("xnnpack.threads=0", REFUSES + r"its option 'threads' is a number from 1 to 1024, not '0'$"),
        ("xnnpack.thread=2", NO_OPTION),
        ("xnnpack.library=/nowhere.so", REFUSES + r"the XNNPACK library cannot be loaded: /nowhere.so: cannot open"),
        ("xnpack.threads=2", r"there is no backend 'xnpack'; there are .*xnnpack(; did you mean 'xnnpack'\?)?$"),
        ("xnnpack=2", r"NAME\.OPTION=VALUE"),
        ("xnnpack.=2", r"NAME\.OPTION=VALUE"),
        (".threads=2", r"NAME\.OPTION=VALUE"),
    ):
        refused(run(command, "good.pte", "--backend-option", option), message)


@pytest.mark.parametrize("command", ["flambeau run", "flambeau-run"])
def test_options_are_checked_for_a_program_without_delegates(run: Callable[..., tuple[int, str]], folder: Path, command: str):
    to_edge(torch.export.export(torch.nn.Linear(4, 4), (torch.ones(2, 4),))).to_executorch().save(folder / "plain.pte")
    assert run(command, "plain.pte", "--backend-option", "xnnpack.threads=2")[0] == 0
    refused(run(command, "plain.pte", "--backend-option", "xnnpack.thread=2"), NO_OPTION)
    refused(run(command, "plain.pte", "--backend-option", "xnpack.threads=2"), r"there is no backend 'xnpack'; there are .*xnnpack")


def test_options_are_for_the_engine_c(run: Callable[..., tuple[int, str]]):
    refused(run(COMMANDS[1], "good.pte", "--backend-option", "xnnpack.threads=2"), "is for the engine c, and the engine is numpy")


def test_an_unknown_backend(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    model = tmp_path / "model.mlir"
    model.write_text("func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n")
    status = main(["compile", str(model), "--backend", "xnpack", "-o", str(tmp_path / "model.pte")])
    refused((status, capfd.readouterr().err), r"^error: --backend xnpack: there is no backend 'xnpack'; .*; did you mean 'xnnpack'\?$")
    assert not (tmp_path / "model.pte").exists()
