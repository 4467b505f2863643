"""Models that torchao's `quantize_` quantized: the numbers of PyTorch, and weights with a scale for each output stay integers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_programs import seed
from torchao import quantization
from torchao.quantization import granularity

import flambeau
from flambeau.runtime import Runtime

ao: Any = quantization
PerAxis, PerGroup = granularity.PerAxis, granularity.PerGroup
INT4: Any = vars(torch)["int4"]
CONFIGS: dict[str, Any] = {
    "int8 by outputs": ao.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
    "int8 by groups": ao.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerGroup(32)),
    "int4 by groups": ao.IntxWeightOnlyConfig(weight_dtype=INT4, granularity=PerGroup(32)),
    "8da4w": ao.Int8DynamicActivationIntxWeightConfig(weight_dtype=INT4, weight_granularity=PerGroup(32)),
}
TARGETS = ("executorch", "flambeau")


class Words(nn.Module):
    """An embedding, linear layers, and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(200, 64)
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.layers(self.table(words)).softmax(-1)


def _is_layer(module: nn.Module, name: str) -> bool:
    return isinstance(module, nn.Embedding | nn.Linear)


@pytest.mark.parametrize("road", [*TARGETS, "xnnpack", "openvino"])
@pytest.mark.parametrize("name", CONFIGS)
def test_models_of_torchao_are_as_in_pytorch(name: str, road: str) -> None:
    seed()
    floats, words = Words().eval(), torch.randint(0, 200, (2, 7))
    model = copy.deepcopy(floats)
    ao.quantize_(model, CONFIGS[name], None if name == "8da4w" else _is_layer)

    def compiled(module: nn.Module) -> bytes:
        target: Any = road if road == "flambeau" else "executorch"
        edge = flambeau.to_edge(torch.export.export(module, (words,)), compile_config=flambeau.EdgeCompileConfig(target=target))
        return bytes((edge if road in TARGETS else edge.to_backend(road)).to_executorch().buffer)

    program = compiled(model)
    (found,) = Runtime.get().load_program(program).load_method("forward").execute([words])
    np.testing.assert_allclose(np.asarray(found), model(words).detach().numpy(), atol=2e-3 if name == "8da4w" else 1e-5)
    if name == "int8 by outputs" or road in TARGETS:
        # 8da4w leaves the table of the embedding in floats. XNNPACK's layers get floats of weights with scales for groups.
        of_layers, of_table = 64 * 128 + 128 * 32, 200 * 64
        most = of_layers + (4 * of_table if name == "8da4w" else of_table)
        assert len(program) < 1.15 * most + 12_000 < len(compiled(floats))
    if "groups" in name and road != "flambeau":
        assert b"quantized_decomposed::embedding_byte" in program and len(program) < 0.75 * len(compiled(floats))
