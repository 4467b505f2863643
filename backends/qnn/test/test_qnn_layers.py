"""Layers between integers: biases of int32 in steps of the sums, and weights of 4 bits for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx_judge import onnxruntime
from payload_judges import Comparison
from torch import Tensor, nn
from torch_programs import seed
from vendor_converter import payload_of
from vendor_tools import installed

import flambeau
from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.backends.onnxruntime.messages import ELEMENTS, NARROW, read
from flambeau.backends.qnn.payload import HEADER_BYTES, model_of
from flambeau.dialects.ir.tensor_types import i8, i32
from flambeau.runtime.interpreter import interpret


class Layers(nn.Module):
    """A convolution, one that enlarges, a layer of vectors, and one of rows of them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.up = nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 4, 2, 2)
        self.rows, self.vectors = nn.Linear(12, 8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.up(torch.relu(self.conv(x))))
        return self.vectors(torch.relu(self.rows(y)).reshape(-1, 8))


def constants_of(edge: EdgeProgramManager) -> list[tuple[int, int]]:
    """The element type and the number of dimensions of each constant."""
    model = read(model_of(memoryview(payload_of(edge))), "the model")
    return [(item.data_type, len(item.dims)) for item in model.graph.initializer]


@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_biases_are_of_int32_and_right_to_a_step(precision: str, python: str) -> None:
    seed()
    x, name = torch.randn(1, 3, 8, 8), f"qnn{{precision={precision}}}"
    program = flambeau.quantize((Layers().eval(), (x,)), [(torch.randn(1, 3, 8, 8),) for _ in range(4)], backend=name).program
    edge = to_edge_transform_and_lower(program, partitioner=[name])
    assert constants_of(edge).count((ELEMENTS[i32], 1)) >= 4
    comparison = Comparison(onnxruntime(python, HEADER_BYTES), steps=1)
    (found,) = interpret(edge.module, edge.context, comparison).run("forward", [x.numpy()])
    assert comparison.compared and not comparison.different
    module: Any = program.module()
    expected = module(x).detach().numpy()
    assert np.abs(np.asarray(found) - expected).max() <= (0.02 if precision == "int8" else 0.002) * np.abs(expected).max()


class Narrow(nn.Module):
    """A layer between uint8 whose weights are of 4 bits, with a scale for each output."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Buffer(torch.randint(-8, 8, (5, 12), dtype=torch.int8))
        self.scales, self.zeros = nn.Buffer(torch.rand(5).double() * 0.1), nn.Buffer(torch.zeros(5, dtype=torch.int64))
        self.bias = nn.Buffer(torch.randn(5))

    def forward(self, x: Tensor) -> Tensor:
        made: Any = torch.ops.quantized_decomposed
        weight = made.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -8, 7, torch.int8)
        x = made.dequantize_per_tensor(x, 0.02, 100, 0, 255, torch.uint8)
        return made.quantize_per_tensor(nn.functional.linear(x, weight, self.bias), 0.05, 120, 0, 255, torch.uint8)


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_weights_of_4_bits_are_stored_so(python: str) -> None:
    import torch.ao.quantization.fx._decomposed as decomposed

    assert decomposed.quantized_decomposed_lib
    seed()
    module, x = Narrow(), torch.randint(0, 256, (3, 12), dtype=torch.uint8)
    edge = to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=["qnn"])
    assert (NARROW[i8], 2) in constants_of(edge)
    comparison = Comparison(onnxruntime(python, HEADER_BYTES), steps=1)
    (found,) = interpret(edge.module, edge.context, comparison).run("forward", [x.numpy()])
    assert comparison.compared and not comparison.different
    assert np.abs(np.asarray(found).astype(int) - module(x).numpy().astype(int)).max() <= 1
