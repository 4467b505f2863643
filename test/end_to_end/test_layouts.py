"""Inputs, parameters and constants in any layout: right on our C runtime for both targets, and on stock ExecuTorch.

`PYTHONPATH=src:test python -m fuzz layouts --seconds 600` runs more of the programs.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from engines import TOLERANCE, distance, run_c, run_executorch
from fuzz.campaign import failure_of, run
from fuzz.layouts import CAMPAIGN, Program, make
from models import digits_cnn, mobilenet_v2, resnet18
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime

IMAGES: dict[str, Any] = {
    "digits_cnn": lambda: digits_cnn(2),
    "mobilenet_v2": lambda: mobilenet_v2(64),
    "resnet18": lambda: resnet18(32, width=16),
}


def test_random_programs_agree_on_all_engines() -> None:
    outcome = run(CAMPAIGN, range(16))
    assert outcome.failures == {}
    assert outcome.counts == {"right on all engines": 16}


def test_the_programs_have_what_they_are_about() -> None:
    texts = [make(random.Random(seed)) for seed in range(100)]
    made = [value for text in texts for value in vars(Program(text))["inputs"].values()]
    assert sum(not value.is_contiguous() for value in made) > 50
    assert sum(value.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last) for value in made) > 25
    for kind in ("given", "parameter", "constant"):
        assert sum(f" = {kind}(" in text for text in texts) > 50


class Doubled(torch.nn.Module):
    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(2 * value for value in self.module(*inputs))


def test_a_wrong_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = "v0 = given((2, 3), [1, 0], 1)\nv1 = torch.sigmoid(v0)\n"
    assert failure_of(CAMPAIGN, case)[0] is None

    def export_another(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], context: FlambeauContext) -> ModuleOp:
        return export_module(Doubled(module), inputs, context)

    monkeypatch.setattr("fuzz.layouts.export_module", export_another)
    failure, _ = failure_of(CAMPAIGN, case)
    assert failure is not None and failure.kind == "C runtime, executorch: a wrong number"


@pytest.mark.parametrize("name", IMAGES)
def test_a_model_takes_channels_last_images(name: str) -> None:
    module, (image,) = IMAGES[name]()
    module = module.to(memory_format=torch.channels_last)
    inputs = (image.to(memory_format=torch.channels_last),)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    for target in ("executorch", "flambeau"):
        context = FlambeauContext()
        program = Compilation(export_module(module, inputs, context), context, PipelineOptions(target=target)).emit()
        assert distance(run_c(program, [inputs[0].numpy()]), expected) <= TOLERANCE
        if image.shape[1] > 1:
            order = Runtime.get().load_program(program).load_method("forward").metadata.input_tensor_meta(0).dim_order
            assert order == (0, 2, 3, 1)
        if target == "executorch":
            assert distance(run_executorch(program, inputs), expected) <= TOLERANCE
