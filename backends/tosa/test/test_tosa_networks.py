"""Quantized networks as TOSA graphs: integers cross each border, and the graph that is written computes what the operators do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from quantized_layers import QuantizedFunction, QuantizedLayer, QuantizedPool, QuantizedProduct, QuantizedSum, quantized
from quantized_programs import ops, quantized_by_pt2e
from torch import nn
from torch_programs import seed
from xdsl.dialects.builtin import i8

from flambeau import EdgeProgramManager, get_delegation_info, to_edge_transform_and_lower
from flambeau.backends.tosa.decode import decode
from flambeau.backends.tosa.payload import read
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret


def payloads_of(edge: EdgeProgramManager) -> list[PayloadOp]:
    return [op for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


class Residual(nn.Module):
    """A residual block, in whose middle may be an operator that the backend lacks."""

    def __init__(self, middle: bool):
        super().__init__()
        self.middle = middle
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.last, self.classes = nn.Conv2d(8, 8, 1), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The classes of an image."""
        x = torch.relu(self.first(x))
        y = self.last(nn.functional.relu6(self.second(x)))
        x = torch.relu(x + (torch.cumsum(y, 1) if self.middle else y))
        x = nn.functional.max_pool2d(x, 2).mean((2, 3))
        return self.classes(x)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("middle", [False, True])
def test_a_residual_network_is_as_many_partitions_as_it_must_be(middle: bool, per_channel: bool) -> None:
    seed()
    x = torch.randn(1, 3, 16, 16)
    program = quantized_by_pt2e(Residual(middle), x, per_channel=per_channel)
    edge = to_edge_transform_and_lower(program, partitioner=["tosa"])
    payloads = payloads_of(edge)
    assert len(payloads) == 1 + middle
    for payload in payloads:
        kind = payload.function_type
        assert kind is not None and {element_of(item) for item in (*kind.inputs, *kind.outputs)} == {i8}
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    wanted = cast(Any, program.module())(x).detach().numpy()
    step = np.diff(np.unique(wanted)).min()
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=2.01 * step)


LAYERS = (QuantizedLayer, QuantizedSum, QuantizedProduct, QuantizedFunction, QuantizedPool)


class Layers(nn.Module):
    """Layers beside each other."""

    def __init__(self, layers: Sequence[Any]):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.inputs = tuple(item for layer in layers for item in layer.inputs)
        self.steps = [layer.output_scale for layer in layers]

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """The results of each."""
        given = iter(inputs)
        return [layer(*(next(given) for _ in cast(Any, layer).inputs)) for layer in self.layers]


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_within_a_step_of_its_floats(kind: type[Any]) -> None:
    layers = Layers([kind(number) for number in range(12)])
    edge = to_edge_transform_and_lower(torch.export.export(layers, layers.inputs), partitioner=["tosa"])
    assert payloads_of(edge)
    results = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in layers.inputs])
    for found, wanted, step in zip(results, layers(*layers.inputs), layers.steps, strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted.detach(), rtol=0, atol=1.01 * step)


class LargeBias(nn.Module):
    """A layer between integers, whose bias is more than the sums of its products have room for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sums."""
        kernel = ops.dequantize_per_tensor(torch.full((3, 4), 5, dtype=torch.int8), 0.01, 0, -127, 127, torch.int8)
        sums = nn.functional.linear(quantized(x, 0.01, 0, torch.int8), kernel, torch.tensor([1.0, 1e6, 1.0]))
        return quantized(sums, 1e4, 0, torch.int8)


def test_a_layer_stays_whose_sums_may_not_fit() -> None:
    edge = to_edge_transform_and_lower(torch.export.export(LargeBias(), (torch.randn(2, 4),)), partitioner=["tosa"])
    assert not payloads_of(edge)
    assert any("may not fit int32" in reason for _, reason in get_delegation_info(edge).refused)


def test_floats_in_the_other_profile() -> None:
    seed()
    network, x = Residual(False).eval(), torch.randn(1, 3, 16, 16)
    edge = to_edge_transform_and_lower(torch.export.export(network, (x,)), partitioner=["tosa{profile=fp}"])
    assert len(payloads_of(edge)) == 1
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    np.testing.assert_allclose(np.asarray(found), network(x).detach(), rtol=1e-5, atol=1e-6)


class Repeated(nn.Module):
    """Results that are inputs, or other results."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Three results of two kinds."""
        z = torch.relu(x + y)
        return z, y.view(2, 3), z.view(2, 3)


def test_each_output_is_the_result_of_an_operator_of_its_own() -> None:
    inputs = torch.randn(2, 3), torch.randn(2, 3)
    edge = to_edge_transform_and_lower(torch.export.export(Repeated(), inputs), partitioner=["tosa{profile=fp}"])
    (payload,) = payloads_of(edge)
    block = read(edge.context.blobs.get(payload.data))
    made = [name for step in block.operators for name in step.outputs]
    assert len({*block.outputs}) == len(block.outputs) and {*block.outputs} <= {*made}
    found = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in inputs])
    for a, b in zip(found, Repeated()(*inputs), strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_damage_is_refused() -> None:
    seed()
    network, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), torch.randn(2, 4)
    edge = to_edge_transform_and_lower(torch.export.export(network, (x,)), partitioner=["tosa{profile=fp}"])
    (payload,) = payloads_of(edge)
    data = bytes(edge.context.blobs.get(payload.data))
    rng, refused = np.random.default_rng(0), 0
    for _ in range(300):
        bad = bytearray(data)
        for place in rng.integers(0, len(bad), 3):
            bad[place] ^= int(rng.integers(1, 256))
        try:
            decode(memoryview(bytes(bad[: rng.integers(1, len(bad) + 1)])), {}, BlobStore())
        except BackendError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 200
