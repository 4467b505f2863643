"""Networks through Vela: what a payload holds, and what becomes of what Vela refuses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from quantized_programs import quantized_by_pt2e
from simulated import payloads_of, streams
from torch import nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, get_delegation_info, to_edge_transform_and_lower
from flambeau.backends.ethos_u import EthosUOptions
from flambeau.backends.ethos_u.bin_stream import Argument, CompiledGraph, read, write
from flambeau.backends.ethos_u.encode import estimates_in
from flambeau.passes.delegation.contents import estimates_of, origin_of
from flambeau.passes.delegation.interface import BackendError
from flambeau.tools.main import main

FAILING = """#!/bin/sh
[ "$1" = --version ] && echo 5.2.0 && exit
echo 'RuntimeError: Non-passthrough operation (Add) could not run on NPU'
exit 1
"""


class Network(nn.Module):
    """Layers of each kind; the second one's steps are given."""

    def __init__(self, steps: int):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, steps, 1, groups=8)
        self.last, self.classes = nn.Conv2d(8, 8, 1), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The classes of an image."""
        x = torch.relu(self.first(x))
        x = self.last(nn.functional.relu6(self.second(x)))
        return self.classes(x.mean((2, 3)))


@cache
def program(steps: int) -> torch.export.ExportedProgram:
    seed()
    return quantized_by_pt2e(Network(steps), torch.randn(1, 3, 16 * steps + 1, 16 * steps + 1))


def compiled(steps: int, options: str = "") -> EdgeProgramManager:
    return to_edge_transform_and_lower(program(steps), partitioner=[f"ethos_u{options}"])


@pytest.fixture
def own_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("own_results")
@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_a_network_is_one_command_stream(vela: str, accelerator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    edge = compiled(1, f"{{accelerator={accelerator}}}")
    (stream,) = streams(edge)
    assert [(item.size, item.element_bytes) for item in (*stream.inputs, *stream.outputs)] == [(3 * 17 * 17, 1), (5, 1)]
    assert stream.commands.startswith(b"COP1") and stream.weights and stream.scratch >= 3 * 17 * 17
    (payload,) = payloads_of(edge)
    assert str(origin_of(payload)).startswith("compiled by the vendor, made by vela 5")
    estimates = estimates_of(payload)
    assert estimates["cycles"] > 5000 and estimates["seconds"] < 1e-3 and estimates["sram_bytes"] >= stream.scratch
    assert estimates["sram_moved_bytes"] > 3 * 17 * 17 and sum("flash" in name or "dram" in name for name in estimates) >= 1


@pytest.mark.usefixtures("own_results")
@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_an_operator_beyond_the_limits_stays_with_the_reason(vela: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    edge = compiled(4)
    assert len(streams(edge)) == 2
    assert any("kernel stride: 1 <= stride <= 3, and its stride is [4, 4]" in reason for _, reason in get_delegation_info(edge).refused)


@pytest.mark.usefixtures("own_results")
def test_what_vela_refuses_stays_with_its_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "vela"
    tool.write_text(FAILING)
    tool.chmod(0o755)
    monkeypatch.setenv("FLAMBEAU_VELA", str(tool))
    edge = compiled(1)
    assert not streams(edge)
    assert any("operation (Add) could not run on NPU" in reason for _, reason in get_delegation_info(edge).refused)
    with pytest.raises(Exception, match=r"operation \(Add\) could not run on NPU"):
        compiled(1, "{strict=true}")


@pytest.mark.usefixtures("own_results")
@pytest.mark.parametrize(("name", "words"), [("memory", "Memory_Mode.Fast not found"), ("system", "System_Config.Fast not found")])
@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_words_that_vela_does_not_know_are_an_error(vela: str, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    with pytest.raises(Exception, match=rf"vela 5.* fails with status 1: .*{words}"):
        compiled(1, f"{{{name}=Fast}}")


def test_without_vela_operators_stay_and_why_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLAMBEAU_VELA", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    edge, why = compiled(1), "vela is not on PATH, and FLAMBEAU_VELA is not set: install vela (pip install ethos-u-vela)"
    assert not streams(edge)
    assert any(why in reason for _, reason in get_delegation_info(edge).refused)
    with pytest.raises(Exception, match=re.escape(why)):
        compiled(1, "{strict=true}")


MODEL = """
import torch
from torch import nn


def make():
    layers = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 4, 2, 2), nn.Sigmoid())
    return layers.eval(), (torch.randn(1, 3, 8, 8),)
"""


@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_a_model_is_quantized_for_it(
    vela: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    Path("model.py").write_text(MODEL)
    np.savez("samples.npz", arg0=np.random.default_rng(0).normal(size=(4, 1, 3, 8, 8)).astype(np.float32))
    assert main(["quantize", "model.py:make", "--data", "samples.npz", "--for", "ethos_u", "-o", "int8.pt2"]) == 0
    assert "ethos_u takes 4 of 4 operators, in 1 partition\n" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "value"), [("accelerator", "ethos-u55-100"), ("optimise", "speed")])
def test_options_are_checked(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"option '{name}' is .*, not '{value}'"):
        cast(Any, EthosUOptions)(**{name: value})


@pytest.mark.parametrize("table", ["", "a,b\n1,2\n", "cycles_total,inference_time\n5,x\n", "cycles_total\n1\n2\n"])
def test_a_table_of_another_form_has_no_estimates(table: str) -> None:
    assert estimates_in(table) == {}


def test_a_stream_survives_and_damage_is_refused() -> None:
    graph = CompiledGraph(b"COP1" * 5, b"weights", 512, [Argument((1, 1, 1, 2, 3, 4), 1, 16, 1)], [Argument((1, 1, 1, 1, 1, 5), 1, 0, 1)])
    data = write(graph)
    assert read(memoryview(data)) == graph and len(data) % 16 == 0
    rng, refused = np.random.default_rng(0), 0
    for _ in range(300):
        bad = bytearray(data)
        for place in rng.integers(0, len(bad), 3):
            bad[place] ^= int(rng.integers(1, 256))
        try:
            read(memoryview(bytes(bad[: rng.integers(1, len(bad) + 1)])))
        except BackendError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 250
