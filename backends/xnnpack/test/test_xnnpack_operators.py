"""Legality against reality: what the table takes of the samples of its operators is converted, encoded and read back, and is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from delegated_operators import Trials, assert_close, kind_of, program_of, trials_of
from executorch import runtime as executorch_runtime

from flambeau import to_edge
from flambeau.backends.xnnpack.dynamic import DYNAMIC
from flambeau.backends.xnnpack.legality import OPERATORS, table
from flambeau.backends.xnnpack.lower import CONVERTERS
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.runtime import Runtime

peer: Any = executorch_runtime
CHANNELS = "quantized_decomposed.dequantize_per_channel"


def trials(name: str) -> Trials:
    """The samples of an operator. Masks are of scores, with a number in their place; constants are dequantized for who reads them."""
    return trials_of(
        name, table(BackendOptions()), {"where.self": ("other",)}, dict.fromkeys(("where.self", CHANNELS, f"{CHANNELS}_group"), "_softmax")
    )


def test_the_table_the_converters_and_the_operators_are_the_same():
    assert OPERATORS.keys() == CONVERTERS.keys()
    assert all(map(kind_of, OPERATORS))


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - {kind.name for kind in DYNAMIC}))
def test_what_is_taken_is_right_in_every_engine(name: str):
    for trial in trials(name).finite():
        data = program_of(trial, "xnnpack")  # it is not copied
        method = peer.Runtime.get().load_program(data).load_method("forward")
        assert_close(method.execute([torch.tensor(array) for array in trial.inputs]), trial.expected)


def test_other_types_have_a_reason():
    for name in ("add.Tensor", "neg"):
        assert any("f32" in reason for reason in trials(name).reasons)


@pytest.mark.parametrize(("dim", "shape"), [([2, 3], (1, 2, 256, 512)), ([1], (2, 70000, 3)), ([1], (2, 70000))])
def test_reductions_of_many_halves_are_near(dim: list[int], shape: tuple[int, ...]):
    x = torch.full(shape, 0.01, dtype=torch.float16)

    class Both(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.sum(dim), x.mean(dim)

    program = to_edge(torch.export.export(Both(), (x,))).to_backend("xnnpack").to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for found, wanted in zip(method.execute([x]), Both()(x.float()), strict=True):
        np.testing.assert_allclose(np.asarray(found, np.float32), wanted, rtol=1e-3)
