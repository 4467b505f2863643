"""The part of the runtime: Vulkan with the ML extensions, which Arm's emulation layers add to the driver."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runtime_programs import executable
from torch import nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import to_edge_transform_and_lower
from flambeau.backends.vgf import emulation
from flambeau.backends.vgf.payload import labelled
from flambeau.runtime.pte import read_program

Run = Callable[..., subprocess.CompletedProcess[str]]


class Floats(nn.Module):
    """A layer of images and one of rows; a result that is given twice, and another that is an input."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Scores, and what becomes of them."""
        z = self.second(nn.functional.relu6(self.first(x)).mean((2, 3)))
        return z, y.view(2, 3), z.view(1, 5), z * torch.sigmoid(y[0, :1])


@pytest.fixture(scope="module", params=installed("vgf", "model-converter"))
def network(request: pytest.FixtureRequest) -> tuple[nn.Module, Sequence[torch.Tensor], bytes]:
    """A network, its inputs and its program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_MODEL_CONVERTER", request.param)
        seed()
        module, inputs = Floats().eval(), (torch.randn(1, 3, 6, 6), torch.randn(2, 3))
        edge = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=["vgf{profile=fp}"])
        return module, inputs, bytes(edge.to_executorch().buffer)


@pytest.fixture(params=installed("vgf"))
def emulated(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs the program `f.pte` of a folder with the emulation layers."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [request.param, emulation.__file__, "--run", executable(), "f.pte", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return run


def test_the_runtime_computes_what_the_model_does(network: Any, emulated: Run, tmp_path: Path) -> None:
    module, inputs, program = network
    (tmp_path / "f.pte").write_bytes(program)
    for index, item in enumerate(inputs):
        np.save(tmp_path / f"in{index}.npy", item.numpy())
    done = emulated("--input", "in0.npy", "in1.npy", "--output", "out", "--repeat", "3")
    assert done.returncode == 0, done.stderr
    for index, wanted in enumerate(module(*inputs)):
        np.testing.assert_allclose(np.load(tmp_path / f"out{index}.npy"), wanted.detach(), rtol=1e-6, atol=1e-6)


def refusal(program: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """What the runtime says of a program that it refuses, in one line."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (folder / "f.pte").write_bytes(program)
    done = subprocess.run([executable(), "f.pte"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 4 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_what_is_missing_is_said(network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, nowhere = network[2], str(tmp_path / "nowhere")
    said = refusal(program, tmp_path, monkeypatch, VK_ICD_FILENAMES=nowhere, VK_DRIVER_FILES=nowhere)
    assert "no driver of Vulkan 1.3 is installed" in said or "there is no Vulkan library here" in said
    said = refusal(program, tmp_path, monkeypatch, FLAMBEAU_VULKAN_LIBRARY=nowhere)
    assert f"the Vulkan library cannot be loaded: {nowhere}" in said


def test_damage_is_refused(network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = network[2]
    payload = bytes(read_program(program).execution_plan[0].delegates[0].processed)
    whole, place, nowhere = payload[:-8], program.index(payload), str(tmp_path / "nowhere")
    rng = np.random.default_rng(0)

    def said(changed: bytes) -> str:
        return refusal(program.replace(payload, changed), tmp_path, monkeypatch, FLAMBEAU_VULKAN_LIBRARY=nowhere)

    assert place and whole.startswith(b"VGF1")
    for label in (False, True, True, True, True, True):
        bad = bytearray(whole)
        bad[rng.integers(128, len(bad))] ^= 255
        told = said(labelled(bytes(bad)) if label else bytes(bad) + payload[-8:])
        # With a right checksum, what is changed may be a constant, or a word that only the driver understands.
        assert "its payload is damaged" in told or (label and "the Vulkan library cannot be loaded" in told)
    for bad, why in (
        (b"VGF2" + whole[4:] + payload[-8:], "it does not begin as a VGF file"),
        (labelled(whole[:8] + b"\1" + whole[9:]), "it is of a newer version"),
        (payload[:-4] + b"    ", "it has another checksum than its label says"),
        (payload[:-8] + b"flvg" + payload[-4:], "what is behind its last section is not its label"),
        (labelled(whole[:24] + b"\xff" * 8 + whole[32:]), "a section ends behind it"),
    ):
        assert f"its payload is damaged or unsupported: {why}" in said(bad)
