"""A small network is trained on scikit-learn's digits and then classifies, on the C runtime, digits that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from engines import run_executorch
from models import DigitsCNN
from sklearn.datasets import load_digits

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime

TRAINING = 1200
"""The first digits are for training, the rest for the test."""


@pytest.fixture(scope="module")
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    load: Any = load_digits
    data: Any = load()
    images = torch.as_tensor((data.images / 16).astype(np.float32)).unsqueeze(1)
    return images, torch.as_tensor(data.target.astype(np.int64))


@pytest.fixture(scope="module")
def trained(digits: tuple[torch.Tensor, torch.Tensor]) -> torch.nn.Module:
    images, labels = digits[0][:TRAINING], digits[1][:TRAINING]
    # PyTorch leaves much of what training uses without types.
    untyped: Any = torch
    with untyped.random.fork_rng():
        untyped.manual_seed(0)
        model = DigitsCNN()
        optimizer: Any = torch.optim.Adam(model.parameters(), lr=2e-3)
        model.train()
        for _ in range(15):
            for batch in untyped.randperm(TRAINING).split(50):
                optimizer.zero_grad()
                loss: Any = torch.nn.functional.cross_entropy(model(images[batch]), labels[batch])
                loss.backward()
                optimizer.step()
    return model.eval().requires_grad_(False)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_the_c_runtime_recognises_digits(trained: torch.nn.Module, digits: tuple[torch.Tensor, torch.Tensor], target: str) -> None:
    images, labels = digits[0][TRAINING:], digits[1][TRAINING:].numpy()
    context = FlambeauContext()
    program = Compilation(export_module(trained, (images[:1],), context), context, PipelineOptions(target=target)).emit()
    method = Runtime.get().load_program(program).load_method("forward")
    predicted = np.array([int(method.execute([image[None].numpy()])[0].argmax()) for image in images])
    assert (predicted == labels).mean() >= 0.95
    expected = trained(images).argmax(1).numpy()
    assert (predicted == expected).all()
    if target == "executorch":
        assert run_executorch(program, (images[:1],)).argmax() == expected[0]
