"""Every model of the end-to-end tests imports, verifies, round-trips, and means what it meant."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import torch
from memory import free_memory
from models import SMALLER
from torch_programs import export, imported

from flambeau.frontends.torch_export.evaluate import run_aten

WHOLE = {
    "minilm": {"aten.linear": 12, "aten.layer_norm": 5, "aten.scaled_dot_product_attention": 2, "aten.gelu": 2},
    "mobilenet_v2": {"aten.conv2d": 52, "aten.batch_norm": 52, "aten.hardtanh": 35},
    "resnet18": {"aten.conv2d": 20, "aten.batch_norm": 20, "aten.relu": 17, "aten.max_pool2d": 1},
    "deit_tiny": {"aten.conv2d": 1, "aten.linear": 26, "aten.layer_norm": 9, "aten.scaled_dot_product_attention": 4},
    "gpt2": {"aten.addmm": 8, "aten.layer_norm": 5, "aten.scaled_dot_product_attention": 2},
    "llama": {"aten.linear": 15, "aten.silu": 2, "aten.scaled_dot_product_attention": 2},
    "lstm_classifier": {"aten.embedding": 1, "aten.lstm.input": 1, "aten.linear": 1},
    "digits_cnn": {"aten.conv2d": 2, "aten.batch_norm": 1, "aten.dropout": 1, "aten.linear": 1},
}
"""Composite operators that must arrive whole, and how many of them."""


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None, None, None]:
    yield
    free_memory()


@pytest.mark.parametrize("name", SMALLER)
def test_a_model_imports_whole_and_means_the_same(name: str) -> None:
    module, inputs = SMALLER[name]()
    ir, context = imported(export(module, *inputs))
    counts: dict[str, int] = {}
    for op in ir.walk():
        counts[op.name] = counts.get(op.name, 0) + 1
    assert {key: counts.get(key, 0) for key in WHOLE[name]} == WHOLE[name]
    with torch.no_grad():
        expected = module(*inputs)
    (actual,) = run_aten(ir, context, inputs)
    scale = float(expected.abs().max())
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6 * scale)


def test_there_is_an_expectation_for_every_model() -> None:
    assert set(WHOLE) == set(SMALLER)
