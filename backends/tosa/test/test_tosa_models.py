"""Models that `flambeau.quantize` makes for TOSA: all of their operators in one partition, between integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from device_models import SMALL
from mlir_tools import graphs_of, validated
from payload_judges import Comparison
from reference_model import reference_model
from shares import drawn
from suite.vendor_tools import installed
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch_programs import seed
from whole_models import compared

from flambeau import EdgeProgramManager, quantize, to_edge_transform_and_lower
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array


class Encoder(nn.Module):
    """A layer of a transformer, with attention of two heads in its steps."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: Tensor) -> Tensor:
        """The next states of words."""
        query, key, value = (layer(x).unflatten(-1, (2, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, -1)
        x = self.first(x + self.output((weights @ value).transpose(1, 2).flatten(2)))
        return self.second(x + self.down(F.gelu(self.up(x))))


class DeiT(nn.Module):
    """A layer of a vision transformer, with attention as one operator of thirds of the entries or of the channels."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.parts, self.output = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def heads(self, x: Tensor) -> Sequence[Tensor]:
        """Queries, keys and values of two heads."""
        return self.parts(x).reshape(*x.shape[:2], 3, 2, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def forward(self, x: Tensor) -> Tensor:
        """The next states of patches."""
        query, key, value = self.heads(self.first(x))
        x = x + self.output(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Thirds(DeiT):
    """The same, in chunks."""

    def heads(self, x: Tensor) -> Sequence[Tensor]:
        """Queries, keys and values of two heads."""
        return [item.unflatten(-1, (2, -1)).transpose(1, 2) for item in self.parts(x).chunk(3, -1)]


class Gru(nn.Module):
    """One step of a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """The next state."""
        return self.cell(x, hidden)


class Lstm(nn.Module):
    """One step of a recurrent layer with two states."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(8, 8)

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """The next states."""
        return self.cell(x, (hidden, cell))


def leaves(function: Callable[..., Any], inputs: Sequence[Tensor]) -> list[Array]:
    return [item.detach().numpy() for item in pytree.tree_leaves(function(*inputs))]


_WORDS, _CELL = (1, 6, 16), (2, 8)
MODELS: Mapping[type[nn.Module], Sequence[Sequence[int]]] = {
    Encoder: [_WORDS],
    DeiT: [_WORDS],
    Thirds: [_WORDS],
    Gru: [_CELL] * 2,
    Lstm: [_CELL] * 3,
}
"""Models, and the shapes of their inputs."""


@cache
def lowered(model: type[nn.Module]) -> tuple[nn.Module, Sequence[Tensor], Callable[..., Any], EdgeProgramManager]:
    """A model, its inputs, the model between integers, and its program."""
    seed()
    network = model().eval()
    samples = [tuple(torch.randn(*shape).tanh() for shape in MODELS[model]) for _ in range(4)]
    quantized = quantize((network, samples[0]), samples, backend="tosa")
    edge = to_edge_transform_and_lower(quantized.program, partitioner=["tosa"])
    return network, samples[0], quantized.program.module(), edge


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_one_partition_of_integers(model: type[nn.Module]) -> None:
    network, inputs, integers, edge = lowered(model)
    assert len(graphs_of(edge)) == 1
    outside = {op.name for op in edge.module.walk() if isinstance(op, SchemaOp)}
    assert outside == {"quantized_decomposed.quantize_per_tensor", "quantized_decomposed.dequantize_per_tensor"}
    found = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in inputs])
    for each, wanted, exact in zip(found, leaves(integers, inputs), leaves(network, inputs), strict=True):
        step = np.diff(np.unique(wanted)).min()
        np.testing.assert_allclose(np.asarray(each), wanted, rtol=0, atol=2.01 * step)
        np.testing.assert_allclose(np.asarray(each), exact, rtol=0, atol=8 * step)


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_each_model(tool: str) -> None:
    validated(tool, "int", {model.__name__: graph for model in MODELS for graph in graphs_of(lowered(model)[3])})


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_computes_each_model_bit_for_bit(python: str) -> None:
    comparison = Comparison(reference_model(python))
    for model in MODELS:
        _, inputs, _, edge = lowered(model)
        interpret(edge.module, edge.context, comparison).run("forward", [item.numpy() for item in inputs])
    assert comparison.compared.total() == len(MODELS) and not comparison.different


@pytest.mark.parametrize("python", installed("tosa-tools"))
@pytest.mark.parametrize("name", drawn(SMALL, parts=8))
def test_a_model_of_a_device_is_that_of_the_reference_model_and_of_our_kernels(python: str, name: str) -> None:
    seed()
    found = compared(SMALL[name](), reference_model(python))
    assert (found.partitions, found.different) == (1, 0) and found.elements and found.share > 0.95 and found.steps <= 1
