"""Functions of floats as TOSA graphs: in one graph they compute what PyTorch does, and Arm's reference model the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mlir_tools import graphs_of, validated
from payload_judges import Comparison
from reference_model import reference_model
from suite.vendor_tools import installed
from torch import Tensor, nn
from torch_programs import seed

from flambeau import EdgeProgramManager, get_delegation_info, to_edge_transform_and_lower
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret


class Functions(nn.Module):
    """Functions of three tensors, the second of which has numbers to divide by, the third those that int32 has not."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.norm.running_mean = torch.tensor([0.5, -1.0, 2.0])
        self.norm.running_var = torch.tensor([0.5, 1.0, 2.0])
        self.convolution = nn.ConvTranspose2d(3, 4, 3, 2, 1, 1, groups=1)
        self.register_buffer("places", torch.tensor([2, 0]))

    def named(self, x: Tensor, y: Tensor, z: Tensor) -> Mapping[str, Tensor]:
        """The results of the functions by their names."""
        holds = (x > y) & (x != 0) | ~(x <= 1)
        return {
            "activations": F.silu(x) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.hardswish(x) + F.hardsigmoid(x) + F.elu(x, 1.5),
            "leaky": F.leaky_relu(x, 0.25),
            "arithmetic": (2 - x) / 3 + x / y * 4 - 1,
            "powers": x**2 + x**3 - x.abs() ** 1.5 + y**-1 + torch.sqrt(y),
            "condition": torch.where(holds, x, y),
            "numbers": holds.float() + x.to(torch.int32).float() + x.bool().float(),
            "extremes": z.to(torch.int32),
            "norm": self.norm(x),
            "places": torch.index_select(x, 1, self.get_buffer("places")),
            "reversed": x.flip(1),
            "images": F.interpolate(self.convolution(x), scale_factor=2, mode="bilinear"),
        }

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        """The results."""
        return tuple(self.named(x, y, z).values())


@pytest.fixture(scope="module", params=[torch.float32, torch.float16], ids=str)
def functions(request: pytest.FixtureRequest) -> tuple[Functions, tuple[Tensor, ...], EdgeProgramManager]:
    seed()
    most = 3e9 if request.param == torch.float32 else 6e4
    extremes = torch.tensor([most, -most, float("inf"), float("nan"), -1.5])
    drawn = torch.randn(2, 3, 5, 4) * 3, torch.rand(5, 1) + 0.5, extremes
    network, inputs = Functions().eval().to(request.param), tuple(item.to(request.param) for item in drawn)
    return network, inputs, to_edge_transform_and_lower(torch.export.export(network, inputs), partitioner=["tosa{profile=fp}"])


def test_functions_are_those_of_pytorch(functions: tuple[Functions, tuple[Tensor, ...], EdgeProgramManager]) -> None:
    network, inputs, edge = functions
    assert not get_delegation_info(edge).refused
    found = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in inputs])
    for (name, wanted), result in zip(network.named(*inputs).items(), found, strict=True):
        near = 1e-3 if wanted.dtype == torch.float16 else 1e-5
        np.testing.assert_allclose(np.asarray(result), wanted.detach(), rtol=near, atol=near, err_msg=name)


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_them(tool: str, functions: tuple[Functions, tuple[Tensor, ...], EdgeProgramManager]) -> None:
    validated(tool, "fp", {f"graph{index}": graph for index, graph in enumerate(graphs_of(functions[2]))})


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_computes_the_same(python: str, functions: tuple[Functions, tuple[Tensor, ...], EdgeProgramManager]) -> None:
    _, inputs, edge = functions
    comparison = Comparison(reference_model(python))
    interpret(edge.module, edge.context, comparison).run("forward", [item.numpy() for item in inputs])
    assert comparison.compared.total() and not comparison.different
