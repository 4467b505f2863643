"""Whole models: what is delegated, and that each driver computes what PyTorch does, within 1e-4 of the largest number."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from device_models import CASES, SMALL
from shares import drawn
from torch_programs import seed
from vulkan_drivers import DRIVERS

from flambeau import to_edge
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program

KERNELS = {
    "mobilenet_v3": set[str](),
    "resnet18": set[str](),
    "ds_cnn": set[str](),
    "llama": {"aten::embedding"},
    "u_net": set[str](),
    "wav2letter": set[str](),
}
"""What of each model the CPU computes."""


@cache
def compiled(name: str) -> tuple[bytes, list[Any], Any]:
    """The program of a model, its inputs, and what PyTorch computes."""
    seed()
    case = CASES[name]() if name in CASES else None
    module, inputs = SMALL[name]() if case is None else (case.module, case.calls[0])
    with torch.no_grad():
        exported, expected = torch.export.export(module.eval(), inputs), module(*inputs).numpy()
    return bytes(to_edge(exported).to_backend("vulkan").to_executorch().buffer), [value.numpy() for value in inputs], expected


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(("name", "driver"), drawn(product(KERNELS, DRIVERS), parts=5), indirect=["driver"])
def test_a_driver_computes_a_model(name: str):
    program, inputs, expected = compiled(name)
    plan = read_program(program).execution_plan[0]
    assert {operator.name for operator in plan.operators} == KERNELS[name] and len(plan.delegates) == 1
    (found,) = Runtime.get().load_program(program).load_method("forward").execute(inputs)
    assert np.abs(np.asarray(found) - expected).max() <= 1e-4 * np.abs(expected).max()
