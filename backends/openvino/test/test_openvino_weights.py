"""Weights of a program: one copy for all methods and all uses, which payloads find by the digests of their bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from flambeau import to_edge
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.pte import NamedData, read_program, write_program

nn = torch.nn
WEIGHT = 128 * 128 * 4
X = torch.linspace(-1, 1, 256).reshape(2, 128)


class Shared(nn.Module):
    """A weight that a method uses twice, with an operator between that stays outside, and that a second method uses too."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(128, 128) / 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(nn.functional.linear(torch.cumsum(torch.tanh(nn.functional.linear(x, self.weight)), 0), self.weight))


class Other(nn.Module):
    """Another computation with the weight."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(nn.functional.linear(x, self.weight)) * 2


@pytest.fixture(scope="module")
def modules() -> dict[str, nn.Module]:
    cast(Any, torch).manual_seed(0)
    shared = Shared().eval()
    return {"forward": shared, "other": Other(shared.weight).eval()}


@pytest.fixture(scope="module")
def data(modules: dict[str, nn.Module]) -> bytes:
    programs = {name: torch.export.export(module, (X,)) for name, module in modules.items()}
    return bytes(to_edge(programs).to_backend("openvino").to_executorch().buffer)


def test_a_weight_of_several_delegates_and_methods_is_stored_once(data: bytes):
    payloads = [delegate.processed for plan in read_program(data).execution_plan for delegate in plan.delegates]
    assert len(payloads) == 3 and all(len(payload) < 4096 for payload in payloads)
    assert WEIGHT < len(data) < WEIGHT + 16384


@pytest.mark.usefixtures("openvino_library")
def test_each_method_computes_with_it(data: bytes, modules: dict[str, nn.Module]):
    program = Runtime.get().load_program(data)
    for name, module in modules.items():
        (found,) = program.load_method(name).execute([X.numpy()])
        np.testing.assert_allclose(np.asarray(found), module(X).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("openvino_library")
def test_a_compiled_payload_has_its_weights(modules: dict[str, nn.Module]):
    program = torch.export.export(modules["forward"], (X,))
    data = bytes(to_edge(program).to_backend("openvino{compiled=true}").to_executorch().buffer)
    (found,) = Runtime.get().load_program(data).load_method("forward").execute([X.numpy()])
    np.testing.assert_allclose(np.asarray(found), modules["forward"](X).detach().numpy(), rtol=1e-5, atol=1e-6)


def with_named(data: bytes, change: Callable[[NamedData], NamedData | None]) -> bytes:
    """The program with its weights changed, or left out."""
    program = read_program(data)
    items = [item if item.key == "flambeau.json" else change(item) for item in program.named_data]
    return b"".join(write_program(replace(program, named_data=tuple(filter(None, items)))))


CHANGES: dict[str, tuple[Callable[[NamedData], NamedData | None], str]] = {
    "absent": (lambda item: None, r"the program has no named data '[0-9a-f]{64}'"),
    "short": (lambda item: NamedData(item.key, item.data[:-4]), r"layer 1 needs 65536 bytes; the named data '[0-9a-f]{64}' have 65532"),
}


@pytest.mark.usefixtures("openvino_library")
@pytest.mark.parametrize("name", CHANGES)
def test_a_weight_that_is_not_there_is_refused(data: bytes, name: str):
    change, message = CHANGES[name]
    changed = with_named(data, change)
    with pytest.raises(FlambeauError, match=f"^[^\n]*{message}[^\n]*$"):
        Runtime.get().load_program(changed).load_method("other")
    program = read_program(changed)
    named = {item.key: memoryview(item.data) for item in program.named_data}
    with pytest.raises(BackendError, match="named data"):
        run_payload("OpenvinoBackend", memoryview(program.execution_plan[1].delegates[0].processed), named, [X.numpy()])
