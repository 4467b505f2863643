"""Tensors of float16, and weights of int8: fewer bytes, and how far the results are from those of floats."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from device_models import CASES, SMALL, Floats
from torch_programs import seed

import flambeau
from flambeau import to_edge
from flambeau.backends.vulkan.payload import ELEMENTS, read_payload
from flambeau.dialects.ir.tensor_types import dtype_of
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.pte import read_program

nn = torch.nn
MODELS = ("mobilenet_v3", "llama", "u_net")


def of_name(name: str) -> Floats:
    """A model, and its inputs."""
    seed()
    case = CASES[name]() if name in CASES else None
    return SMALL[name]() if case is None else (case.module, case.calls[0])


@cache
def in_halves(name: str) -> tuple[bytes, list[Any], Any]:
    """The program of a model whose tensors are of float16, its inputs, and what PyTorch computes in floats."""
    module, inputs = of_name(name)
    with torch.no_grad():
        exported, expected = torch.export.export(module.eval(), inputs), module(*inputs).numpy()
    program = to_edge(exported).to_backend("vulkan{precision=f16}").to_executorch()
    return bytes(program.buffer), [value.numpy() for value in inputs], expected


def run(program: bytes, inputs: list[Any]) -> Any:
    return np.asarray(Runtime.get().load_program(program).load_method("forward").execute(inputs)[0])


def distance(found: Any, expected: Any) -> float:
    return float(np.abs(found.astype(np.float32) - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", MODELS)
def test_halves_are_within_a_hundredth(name: str, driver: str):
    program, inputs, expected = in_halves(name)
    if driver == "swiftshader":
        with pytest.raises(FlambeauError, match="float16, and the device has no 16-bit storage: compile with precision=f32"):
            run(program, inputs)
    else:
        assert distance(run(program, inputs), expected) <= 1e-2


def weight_bytes(program: bytes) -> int:
    """The bytes of the constants of a program's payloads."""
    payloads = [read_payload(memoryview(bytes(each.processed))) for each in read_program(program).execution_plan[0].delegates]
    constants = [value for payload in payloads for value in payload.values if value.key is not None or value.data is not None]
    return sum(prod(value.shape) * dtype_of(ELEMENTS[value.element]).size for value in constants)


def test_weights_in_halves_take_half_the_bytes():
    module, inputs = of_name("mobilenet_v3")
    whole = to_edge(torch.export.export(module.eval(), inputs)).to_backend("vulkan").to_executorch().buffer
    assert 2 * weight_bytes(in_halves("mobilenet_v3")[0]) == weight_bytes(bytes(whole))


def test_a_model_of_halves_stays_in_halves(driver: str):
    module, inputs = of_name("u_net")
    with torch.no_grad():
        expected = module(*inputs).numpy()
        halves = tuple(value.half() for value in inputs)
        exported = torch.export.export(module.eval().half(), halves)
    program = to_edge(exported).to_backend("vulkan{precision=f16}").to_executorch()
    assert len(read_program(bytes(program.buffer)).execution_plan[0].delegates) == 1
    if driver != "swiftshader":
        assert distance(run(bytes(program.buffer), [value.numpy() for value in halves]), expected) <= 1e-2


class Layers(nn.Module):
    """Layers of each kind that has a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 24, 3, padding=1)
        self.planes = nn.Conv2d(24, 24, 3, padding=1, groups=24)
        self.pixels = nn.Conv2d(24, 41, 1)
        self.larger = nn.ConvTranspose2d(41, 6, 2, 2)
        self.last = nn.Linear(6 * 12 * 12, 33)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The numbers of images."""
        return self.last(self.larger(self.pixels(torch.relu(self.planes(self.first(x))))).flatten(1))


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_weights_of_int8_stay_so(precision: str, driver: str):
    seed()
    inputs = (torch.randn(2, 3, 6, 6),)
    exported = flambeau.quantize((Layers().eval(), inputs), None, "w8").program
    expected = exported.module()(*inputs).detach().numpy()
    program = bytes(to_edge(exported).to_backend(f"vulkan{{precision={precision}}}").to_executorch().buffer)
    plan = read_program(program).execution_plan[0]
    assert not plan.operators and len(plan.delegates) == 1
    numbers = sum(value.numel() for value in Layers().state_dict().values())
    assert numbers < weight_bytes(program) < 1.1 * numbers
    if precision == "f32":
        assert distance(run(program, [inputs[0].numpy()]), expected) <= 1e-5
    elif driver != "swiftshader":
        assert distance(run(program, [inputs[0].numpy()]), expected) <= 1e-2
