"""Activations of int16 and weights of int8: networks, tables of functions, sums of 48 bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mlir_tools import graphs_of, validated
from payload_judges import Comparison
from quantized_calls import QuantizedCall
from quantized_layers import quantized
from reference_model import reference_model
from suite.vendor_tools import installed
from torch import Tensor, nn
from torch_programs import seed

from flambeau import EdgeProgramManager, get_delegation_info, quantize, to_edge_transform_and_lower
from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.dialect.operators import RANGES, i48
from flambeau.backends.tosa.payload import packed, unpacked
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret

INT16 = "tosa{activations=int16}"


class Network(nn.Module):
    """Layers of each kind between functions, sums and images of another size."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.up, self.classes = nn.ConvTranspose2d(8, 4, 2, 2), nn.Linear(4, 5)

    def forward(self, x: Tensor) -> Tensor:
        """The classes of an image."""
        x = torch.relu(self.first(x))
        x = torch.tanh(self.up(x * torch.sigmoid(self.second(x)) + x))
        return self.classes(F.gelu(F.interpolate(x, scale_factor=2, mode="bilinear")).mean((2, 3)))


@cache
def network() -> tuple[nn.Module, tuple[Tensor, ...], Any, EdgeProgramManager]:
    """A network, its inputs, the network between integers, and its program."""
    seed()
    module, samples = Network().eval(), [(torch.randn(1, 3, 16, 16),) for _ in range(4)]
    program = quantize((module, samples[0]), samples, backend=INT16).program
    return module, samples[0], program.module(), to_edge_transform_and_lower(program, partitioner=[INT16])


def test_a_network_is_one_graph_and_nearer_to_its_floats_than_weights_of_int8_are_to_theirs() -> None:
    module, inputs, integers, edge = network()
    (graph,) = graphs_of(edge)
    assert graph
    found = np.asarray(interpret(edge.module, edge.context, run_payload).run("forward", [inputs[0].numpy()])[0])
    wanted, exact = (item(*inputs).detach().numpy() for item in (integers, module))
    largest = np.abs(exact).max()
    assert np.abs(found - wanted).max() < 2e-4 * largest and np.abs(found - exact).max() < 1e-2 * largest


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_gives_the_same(python: str) -> None:
    comparison = Comparison(reference_model(python))
    _, inputs, _, edge = network()
    interpret(edge.module, edge.context, comparison).run("forward", [item.numpy() for item in inputs])
    assert comparison.compared.total() == 1 and not comparison.different


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_it(tool: str) -> None:
    (graph,) = graphs_of(network()[3])
    validated(tool, "int", {"network": graph})


FUNCTIONS: Mapping[Any, tuple[float, float, int]] = {
    torch.sigmoid: (16.0, 1.0, 2),
    torch.tanh: (8.0, 1.0, 4),
    F.gelu: (8.0, 8.0, 2),
    F.silu: (8.0, 8.0, 2),
    F.hardswish: (8.0, 8.0, 15),
    F.hardsigmoid: (8.0, 1.0, 44),
    torch.exp: (2.0, 8.0, 2),
}
"""Functions, the numbers up to which their operands and results go, and the most steps by which their tables are away."""


class Function(nn.Module):
    """A function between int16."""

    def __init__(self, function: Any, low: float, high: float):
        super().__init__()
        self.function, self.scales = function, (low / 2**15, high / 2**15)

    def forward(self, x: Tensor) -> Tensor:
        """The values."""
        return quantized(self.function(quantized(x, self.scales[0], 0, torch.int16)), self.scales[1], 0, torch.int16)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_table_of_a_function_is_as_near_as_the_readme_says(function: Any) -> None:
    low, high, most = FUNCTIONS[function]
    x = torch.linspace(-low, low, 2**16)
    module = Function(function, low, high)
    edge = to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=[INT16])
    assert len(graphs_of(edge)) == 1
    found = np.asarray(interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])[0])
    assert round(float(np.abs(found - module(x).numpy()).max() / module.scales[1])) <= most


def test_what_int16_does_not_have_stays_with_the_reason() -> None:
    call = QuantizedCall("softmax", 0, torch.int16)
    edge = to_edge_transform_and_lower(torch.export.export(call, call.inputs), partitioner=[INT16])
    assert not graphs_of(edge)
    assert ("edge._softmax", "the backend has no _softmax between integers") in get_delegation_info(edge).refused


def test_int48_has_six_bytes_and_its_range() -> None:
    least, most = RANGES[i48]
    numbers = np.array([[least, -1, 0], [1, 2**40 + 3, most]])
    data = packed(numbers, i48)
    assert len(data) == 36 and data[6:12] == b"\xff" * 6
    np.testing.assert_array_equal(unpacked(data, i48, 6), numbers.reshape(-1))
    with pytest.raises(BackendError, match=f"numbers from 0 to {most + 1}, beyond those of int48"):
        packed(np.array([0, most + 1]), i48)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"activations": "int4"}, "is int8 or int16, not 'int4'"), ({"activations": "int16", "profile": "fp"}, "profile fp has no integers")],
)
def test_options_are_checked(options: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TosaOptions(**options)
