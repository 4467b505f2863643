"""Networks as VGF files: Arm's converter makes them, and its emulation layers compute what the operators of TOSA do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from device_models import SMALL
from shares import drawn
from torch import nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, get_delegation_info, quantize, to_edge_transform_and_lower
from flambeau.backends.tosa.payload import OPERATORS, read
from flambeau.backends.vgf.payload import arguments_of, labelled
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.delegation.contents import origin_of
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.vendor_tools.tool import Tool, ToolError
from flambeau.runtime.interpreter import HardwareOnlyError, interpret

CONVERTER, RUNNER = "FLAMBEAU_MODEL_CONVERTER", "FLAMBEAU_SCENARIO_RUNNER"


@pytest.fixture(params=installed("vgf", "model-converter"))
def converter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model converter is there, and what runs its files is not."""
    monkeypatch.setenv(CONVERTER, request.param)
    monkeypatch.delenv(RUNNER, raising=False)


@pytest.fixture(params=installed("vgf"))
def runner(converter: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario runner is there too."""
    monkeypatch.setenv(RUNNER, request.param)


def payloads_of(edge: EdgeProgramManager) -> list[PayloadOp]:
    return [op for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


def results(program: Any, backend: str, inputs: Sequence[torch.Tensor]) -> list[np.ndarray[Any, Any]]:
    edge = to_edge_transform_and_lower(program, partitioner=[backend])
    assert len(payloads_of(edge)) == 1
    found = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in inputs])
    return [np.asarray(item) for item in found]


class Residual(nn.Module):
    """Two layers of images, the second one added to the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        return x + torch.tanh(self.second(x))


@pytest.mark.usefixtures("runner")
def test_an_integer_network_is_computed_bit_for_bit() -> None:
    seed()
    x = torch.randn(1, 3, 8, 8)
    program = quantize(torch.export.export(Residual().eval(), (x,)), [(x,)], backend="vgf").program
    (found,), (wanted,) = (results(program, backend, [x]) for backend in ("vgf", "tosa"))
    assert len(np.unique(found)) > 20
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", drawn(SMALL, parts=8))
def test_a_model_of_a_device_is_computed_bit_for_bit(name: str) -> None:
    seed()
    module, inputs = SMALL[name]()
    program = quantize((module.eval(), inputs), [inputs] * 2, backend="vgf").program
    for found, wanted in zip(*(results(program, backend, inputs) for backend in ("vgf", "tosa")), strict=True):
        np.testing.assert_array_equal(found, wanted)


class Classes(nn.Module):
    """Scores."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.layer(x))


@pytest.fixture(scope="module")
def classes() -> Any:
    seed()
    return torch.export.export(Classes().eval(), (torch.randn(2, 6),))


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-6), (torch.float16, 1e-3)])
def test_floats_are_computed_too(dtype: torch.dtype, near: float) -> None:
    seed()
    x = torch.randn(2, 6).to(dtype)
    program = torch.export.export(Classes().to(dtype).eval(), (x,))
    (found,), (wanted,) = (results(program, f"{backend}{{profile=fp}}", [x]) for backend in ("vgf", "tosa"))
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)


@pytest.mark.usefixtures("converter")
def test_a_payload_says_what_made_it_and_is_not_run_here(classes: Any) -> None:
    edge = to_edge_transform_and_lower(classes, partitioner=["vgf{profile=fp}"])
    (payload,) = payloads_of(edge)
    assert "compiled by the vendor" in str(origin_of(payload)) and "model-converter 0." in str(origin_of(payload))
    missing = f"the payloads of backend 'vgf' run on its hardware and on Arm's emulation layers: {RUNNER} is not set: install"
    with pytest.raises(HardwareOnlyError, match=missing):
        interpret(edge.module, edge.context, run_payload).run("forward", [np.zeros((2, 6), np.float32)])
    data = bytes(edge.context.blobs.get(payload.data))
    whole, rng = data[:-8], np.random.default_rng(0)
    assert labelled(whole) == data and arguments_of(memoryview(whole)) == arguments_of(memoryview(data))
    for _ in range(200):
        bad = bytearray(data)
        bad[rng.integers(0, len(bad))] ^= int(rng.integers(1, 256))
        with pytest.raises(BackendError, match=r"^a payload of 'VgfBackend' is damaged[^\n]*$"):
            arguments_of(memoryview(bytes(bad)))
        with suppress(BackendError):
            arguments_of(memoryview(labelled(bytes(bad[:-8]))[: int(rng.integers(1, len(bad)))]))


def test_a_python_without_the_runner_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUNNER, sys.executable)
    with pytest.raises(HardwareOnlyError, match=r"error: .* has no package scenario_runner"):
        run_payload("VgfBackend", memoryview(b""), {}, [])


def test_without_the_converter_one_line_says_what_to_install(classes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONVERTER, "/nowhere")
    missing = f"{CONVERTER} is '/nowhere', where no program is; it is the path of model-converter"
    with pytest.warns(UserWarning, match=missing):
        to_edge_transform_and_lower(classes, partitioner=["vgf{profile=fp}"])
    with pytest.raises(ValueError, match=f"{missing}$"):
        to_edge_transform_and_lower(classes, partitioner=["vgf{profile=fp strict=true}"])


@pytest.fixture
def refusing(converter: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter that refuses to compute tanh."""
    run = Tool.run

    def refuse(tool: Tool, arguments: Sequence[str], inputs: dict[str, bytes], *rest: Any, **more: Any) -> Any:
        if any(OPERATORS[step.op - 1] == "tanh" for step in read(memoryview(inputs["graph.tosa"])).operators):
            said = "error: failed to legalize operation 'tosa.tanh' that was explicitly marked illegal"
            raise ToolError(f"model-converter 0.11.0 fails with status 255: <unknown>:0: {said}", f"<unknown>:0: {said}\n")
        return run(tool, arguments, inputs, *rest, **more)

    monkeypatch.setattr(Tool, "run", refuse)


@pytest.mark.usefixtures("refusing")
def test_what_the_converter_refuses_stays(classes: Any) -> None:
    edge = to_edge_transform_and_lower(classes, partitioner=["vgf{profile=fp}"])
    assert len(payloads_of(edge)) == 1
    ((name, reason),) = [item for item in get_delegation_info(edge).refused if "tosa.tanh" in item[1]]
    assert "tanh" in name and reason.endswith("failed to legalize operation 'tosa.tanh' that was explicitly marked illegal")
    with pytest.raises(ValueError, match=r"its compiler refuses tosa.tanh: model-converter 0.11.0 fails with status 255"):
        to_edge_transform_and_lower(classes, partitioner=["vgf{profile=fp strict=true}"])
