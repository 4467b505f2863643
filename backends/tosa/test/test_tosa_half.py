"""Models of float16: graphs of float16, whose sums are of float32."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from mlir_tools import graphs_of, validated
from payload_judges import Comparison
from reference_model import reference_model
from suite.vendor_tools import installed
from torch import Tensor, nn
from torch.nn import functional as F
from torch_programs import seed

from flambeau import get_delegation_info, to_edge_transform_and_lower
from flambeau.backends.tosa.payload import DTYPES, OPERATORS, read
from flambeau.dialects.ir.tensor_types import f32
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret


class Network(nn.Module):
    """Layers of images, whose pixels are then rows that are normalised, and multiplied with each other."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.up = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.ConvTranspose2d(8, 8, 2, 2)
        self.norm, self.layer, self.bias = nn.LayerNorm(8), nn.Linear(8, 8), nn.Parameter(torch.randn(16))

    def forward(self, x: Tensor) -> Tensor:
        """Numbers for each pixel of a quarter of the image."""
        x = F.avg_pool2d(self.up(F.hardswish(self.second(F.relu(self.first(x))))), 3, 2, 1, count_include_pad=False)
        rows = self.layer(self.norm(F.max_pool2d(x, 2).flatten(2).transpose(1, 2)))
        mixed = torch.softmax(rows @ rows.transpose(-1, -2), -1) @ rows
        return torch.addmm(self.bias, mixed.mean(0), rows[0].T)


@cache
def network() -> tuple[nn.Module, Tensor, Any]:
    """The network, its input, and its program."""
    seed()
    module, x = Network().half().eval(), torch.randn(2, 3, 16, 16).half()
    return module, x, to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=["tosa{profile=fp}"])


def test_a_network_is_one_graph_whose_sums_are_of_float32() -> None:
    module, x, edge = network()
    (graph,) = graphs_of(edge)
    assert not get_delegation_info(edge).refused
    block = read(graph)
    kinds = {item.name: item.type for item in block.tensors}
    steps = [(OPERATORS[step.op - 1], step) for step in block.operators]
    assert {kinds[step.outputs[0]] for name, step in steps if name in ("matmul", "reduce_sum")} == {DTYPES[f32]}
    added = {name: step.attribute.acc_type for name, step in steps if hasattr(step.attribute, "acc_type")}
    assert added == dict.fromkeys(("conv2d", "depthwise_conv2d", "transpose_conv2d", "avg_pool2d"), DTYPES[f32])
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    np.testing.assert_allclose(np.asarray(found), module(x).detach().numpy(), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_it(tool: str) -> None:
    (graph,) = graphs_of(network()[2])
    validated(tool, "fp", {"network": graph})


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_computes_the_same(python: str) -> None:
    comparison = Comparison(reference_model(python))
    _, x, edge = network()
    interpret(edge.module, edge.context, comparison).run("forward", [x.numpy()])
    assert comparison.compared.total() == 1 and not comparison.different
