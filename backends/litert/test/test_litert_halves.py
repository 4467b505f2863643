"""Constants of float operators stored as float16, of which an operator of the model makes floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from litert_files import decoded_results, file_of
from litert_judge import litert
from test_litert_models import Network
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed
from xdsl.dialects.builtin import f16

from flambeau import get_delegation_info, to_edge, to_edge_transform_and_lower
from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.lower import FEWEST
from flambeau.backends.litert.payload import DTYPES, OPERATORS, read
from flambeau.support.lazy import Array

HALVES = "{weights=float16}"


def network() -> tuple[nn.Module, Tensor]:
    seed()
    return Network().eval(), torch.randn(1, 3, 16, 16)


def file_with_halves(module: nn.Module, x: Tensor) -> bytes:
    return file_of(to_edge(torch.export.export(module, (x,))), HALVES)


def stored_halves(data: bytes) -> list[Array]:
    model = read(memoryview(data), "the file")
    numbers = [item.buffer for item in model.subgraphs[0].tensors if item.type == DTYPES[f16]]
    return [np.frombuffer(model.buffers[number].data, np.float16) for number in numbers]


def test_numpy_computes_with_rounded_weights() -> None:
    module, x = network()
    data = file_with_halves(module, x)
    (found,) = decoded_results(data, [x.numpy()])
    with torch.no_grad():
        for weight in module.parameters():
            if weight.numel() >= FEWEST:
                weight.copy_(weight.half().float())
    np.testing.assert_allclose(found, module(x).detach(), rtol=1e-5, atol=1e-6)
    model = read(memoryview(data), "the file")
    (code,) = (item for item in model.operator_codes if item.builtin_code == OPERATORS["dequantize"])
    assert code.version == 3 and len(stored_halves(data)) == 3


@pytest.mark.parametrize("python", installed("litert-test"))
@pytest.mark.parametrize("kernels", ["reference", "optimized", "default"])
def test_litert_reads_them(python: str, kernels: str) -> None:
    module, x = network()
    data = file_with_halves(module, x)
    (found,), (expected,) = litert(python, kernels).run(data, [x.numpy()]), decoded_results(data, [x.numpy()])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_numbers_beyond_float16_and_few_numbers_stay() -> None:
    layer = nn.Linear(FEWEST, FEWEST)
    with torch.no_grad():
        layer.weight[0, 0] = 7e4
        layer.bias[:2] = torch.tensor([1e-3, float("inf")])
    (bias,) = stored_halves(file_with_halves(layer, torch.randn(1, FEWEST)))
    assert np.array_equal(bias, layer.bias.detach().numpy().astype(np.float16))
    assert not stored_halves(file_with_halves(nn.Linear(FEWEST - 1, 1), torch.randn(1, FEWEST - 1)))


@pytest.mark.parametrize("largest", [1e-9, 1e-7, 1e-6, 3e-5])
def test_numbers_too_small_for_the_bits_of_float16_stay(largest: float) -> None:
    seed()
    layer = nn.Linear(FEWEST, 1, bias=False)
    with torch.no_grad():
        layer.weight.mul_(largest / layer.weight.abs().max())
    x = torch.randn(1, FEWEST)
    data = file_with_halves(layer, x)
    (found,) = decoded_results(data, [x.numpy()])
    np.testing.assert_allclose(found, layer(x).detach(), rtol=1e-3)
    assert not stored_halves(data)


def test_small_numbers_beside_large_ones_become_halves() -> None:
    layer = nn.Linear(FEWEST, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(1e-9)[0, :3] = torch.tensor([1.0, -float("inf"), float("nan")])
    (weight,) = stored_halves(file_with_halves(layer, torch.randn(1, FEWEST)))
    assert np.array_equal(weight[:4], np.array([1, -np.inf, np.nan, 0], np.float16), equal_nan=True)
    zeros = nn.Linear(FEWEST, 1, bias=False)
    nn.init.zeros_(zeros.weight)
    assert len(stored_halves(file_with_halves(zeros, torch.randn(1, FEWEST)))) == 1


def test_a_constant_of_two_readers_is_stored_once() -> None:
    weight = torch.randn(FEWEST)

    class Twice(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x + weight) * weight

    assert len(stored_halves(file_with_halves(Twice(), torch.randn(FEWEST)))) == 1


def test_a_model_of_halves_stays_with_the_reason() -> None:
    program = torch.export.export(nn.Linear(4, 3).half(), (torch.randn(1, 4).half(),))
    edge = to_edge_transform_and_lower(program, partitioner=["litert{precision=float32}"])
    assert ("edge.linear", "a tensor is of f16, and its kernel takes f32") in get_delegation_info(edge).refused


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"weights": "int4"}, "is float32 or float16, not 'int4'"), ({"weights": "float16"}, "precision int8 has no floats")],
)
def test_options_are_checked(options: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        LiteRtOptions(**options)
