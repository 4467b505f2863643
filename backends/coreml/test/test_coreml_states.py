"""States that payloads keep: which ones a payload takes over, what coremltools reads of it, and what steps compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from coremltools_judge import PYTHONS, read, unpacked, written
from device_models import Step, inputs_of_step
from torch import Tensor, nn
from torch_programs import seed
from vendor_converter import payload_of

from flambeau import to_edge
from flambeau.dialects.delegate.ops import PayloadOp, states_of
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret

STEPS = 4


def lowered(module: nn.Module, example: tuple[Tensor, ...], options: str) -> Any:
    with torch.no_grad():
        return to_edge(torch.export.export(module.eval(), example)).to_backend(f"coreml{{{options}}}")


def states_in(edge: Any) -> tuple[list[str], list[str]]:
    """The states of payloads, and those of the program."""
    ops = list(edge.module.body.block.ops)
    inside = [name for op in ops if isinstance(op, PayloadOp) for name in states_of(op)]
    return inside, [op.sym_name.data for op in ops if isinstance(op, GlobalOp) and op.is_mutable is not None]


def steps(program: Any) -> list[Any]:
    return [np.asarray(program.run("forward", [value.numpy() for value in inputs_of_step(step)])[0]) for step in range(STEPS)]


@pytest.mark.parametrize(("precision", "near"), [("f32", 1e-5), ("f16", 3e-3)])
def test_a_payload_keeps_the_states_of_its_steps(precision: str, near: float) -> None:
    seed()
    module = Step().eval()
    edge = lowered(module, inputs_of_step(0), f"target=iOS18 precision={precision}")
    assert states_in(edge) == (["keys", "values"], [])
    expected: list[Any] = []
    with torch.no_grad():
        for step in range(STEPS):
            expected.append(module(*inputs_of_step(step)).numpy())
            for state in (module.keys, module.values):
                state.copy_(state.half())
    first, second = (interpret(edge.module, edge.context, run_payload) for _ in range(2))
    context = FlambeauContext()
    emitted = interpret(read_pte(bytes(edge.to_executorch().buffer), context), context, run_payload)
    for found in (steps(first), steps(second), steps(emitted)):
        for array, value in zip(found, expected, strict=True):
            assert np.abs(array - value).max() <= near * np.abs(value).max()


@pytest.mark.parametrize("python", PYTHONS, ids=lambda _: "coremltools")
def test_coremltools_reads_the_states_of_payloads(python: str, tmp_path: Path) -> None:
    options = [f"target=iOS18 precision={precision}" for precision in ("f32", "f16")]
    packages = [unpacked(payload_of(lowered(Step(), inputs_of_step(0), option)), tmp_path / option[-3:]) for option in options]
    found = read(python, packages)
    assert found == [written(package) for package in packages]
    for names, _, operations in found:
        kinds = [item[0] for item in operations]
        assert names[3:] == ["keys", "values"] and (kinds.count("read_state"), kinds.count("write_state")) == (2, 2)


class Counted(nn.Module):
    """A sum of what came, that begins with a number; `is_given` says whether the sum itself is a result too."""

    total: Tensor

    def __init__(self, first: float, is_given: bool):
        super().__init__()
        self.is_given = is_given
        self.register_buffer("total", torch.full((2,), float(first)))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Twice the sum until now."""
        self.total.add_(x)
        return (self.total * 2, self.total) if self.is_given else (self.total * 2,)


@pytest.mark.parametrize(
    ("first", "is_given", "options", "is_taken"),
    [
        (0, False, "target=iOS18", True),
        (0, False, "target=iOS17", False),
        (0, False, "target=iOS18 take_over_mutable_buffer=false", False),
        (1, False, "target=iOS18", False),
        (0, True, "target=iOS18", False),
    ],
    ids=["taken", "older", "kept by the user", "begins with ones", "read elsewhere"],
)
def test_a_state_that_others_need_stays_in_the_program(first: float, is_given: bool, options: str, is_taken: bool) -> None:
    edge = lowered(Counted(first, is_given), (torch.ones(2),), options)
    assert states_in(edge) == ((["total"], []) if is_taken else ([], ["total"]))
    program = interpret(edge.module, edge.context, run_payload)
    for calls in range(1, 4):
        assert np.asarray(program.run("forward", [np.ones(2, np.float32)])[0]).tolist() == [2 * (first + calls)] * 2
