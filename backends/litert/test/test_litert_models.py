"""TFLite models: integers cross each border, the numbers of types stand at the tensors, and LiteRT computes what numpy does."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from litert_judge import litert
from model_comparison import compared_model
from models_in_litert import SMALL_MODELS
from payload_judges import Comparison
from quantized_programs import quantized_by_pt2e
from shares import drawn
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.backends.litert.decode import decode, decoded
from flambeau.backends.litert.payload import OPERATORS, read, write
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret


class Network(nn.Module):
    """Layers of images with each way to pad, a residual sum, joined channels, and classes."""

    def __init__(self):
        super().__init__()
        self.stem, self.each = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.point, self.classes = nn.Conv2d(16, 8, 1, bias=False), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        """The probabilities of classes, [batch, 5], of images [batch, 3, 16, 16]."""
        x = torch.relu(self.stem(x))
        y = nn.functional.relu6(self.each(x))
        z = torch.relu(self.point(torch.cat([x + y, y], 1)))
        return self.classes(nn.functional.max_pool2d(z, 2).mean((2, 3))).softmax(-1)


def models_of(edge: EdgeProgramManager) -> list[memoryview]:
    return [edge.context.blobs.get(op.data) for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


def float_network(x: Tensor) -> EdgeProgramManager:
    return to_edge_transform_and_lower(torch.export.export(Network().eval(), (x,)), partitioner=["litert{precision=float32}"])


def operators_of_model(data: memoryview) -> list[str]:
    model, names = read(data, "the model"), {number: name for name, number in OPERATORS.items()}
    return [names[model.operator_codes[step.opcode_index].builtin_code] for step in model.subgraphs[0].operators]


def test_a_quantized_network_is_one_model_with_types_at_its_tensors() -> None:
    seed()
    x = torch.randn(2, 3, 16, 16)
    program = quantized_by_pt2e(Network().eval(), x, per_channel=True)
    edge = to_edge_transform_and_lower(program, partitioner=["litert"])
    (data,) = models_of(edge)
    graph = read(data, "the model").subgraphs[0]
    weights = [item.quantization for item in graph.tensors if item.type == 9 and len(item.shape) == 4 and item.buffer]
    assert [len(item.scale) for item in weights] == [8, 8, 8] and [item.quantized_dimension for item in weights] == [0, 3, 0]
    activations = [item for item in graph.tensors if item.type == 9 and not item.buffer]
    assert all(item.quantization is not None and len(item.quantization.scale) == 1 for item in activations)
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    module: Any = program.module()
    np.testing.assert_allclose(np.asarray(found), module(x).detach(), rtol=0, atol=3 / 256)


def test_a_constant_is_a_tensor_for_each_type_as_which_it_is_read() -> None:
    seed()
    x = torch.randn(1, 4, 4, 4)
    network = nn.Sequential(*(nn.Conv2d(4, 4, 1, bias=False) for _ in range(2))).eval()
    edge = to_edge_transform_and_lower(quantized_by_pt2e(network, x), partitioner=["litert"])
    (data,) = models_of(edge)
    biases = [item.quantization for item in read(data, "the model").subgraphs[0].tensors if item.type == 2 and item.quantization]
    assert len(biases) == 2 and biases[0] != biases[1]


@pytest.mark.parametrize("python", installed("litert-test"))
@pytest.mark.parametrize(("name", "precision"), drawn([*product(SMALL_MODELS, ("int8", "float32"))]))
def test_litert_computes_whole_models(name: str, precision: str, python: str) -> None:
    seed()
    found = compared_model(SMALL_MODELS[name](), f"litert{{precision={precision}}}", litert(python), in_floats=precision == "float32")
    assert found.elements and not found.different and found.share > 0.95
    assert found.distance < (1e-4 if precision == "float32" else 0.1)


def test_floats_in_the_other_precision() -> None:
    seed()
    x = torch.randn(1, 3, 16, 16)
    edge = float_network(x)
    (data,) = models_of(edge)
    assert operators_of_model(data).count("transpose") == 1 and "pad" in operators_of_model(data)
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    seed()
    x = torch.randn(1, 3, 16, 16)
    np.testing.assert_allclose(np.asarray(found), Network().eval()(x).detach(), rtol=1e-5, atol=1e-6)


def test_bytes_that_are_no_model_are_refused() -> None:
    seed()
    (data,) = models_of(float_network(torch.randn(1, 3, 16, 16)))
    rng, refused = np.random.default_rng(0), 0
    for _ in range(200):
        changed = np.frombuffer(data, np.uint8).copy()
        changed[rng.integers(0, len(changed), 20)] = rng.integers(0, 256, 20)
        try:
            decode(memoryview(changed[: rng.integers(1, len(changed) + 1)].tobytes()), {}, BlobStore())
        except BackendError as error:
            refused += 1
            assert str(error).startswith("a payload of 'LiteRtBackend' is") and "\n" not in str(error)
    assert refused > 150


FEWEST_OPERANDS = {"concatenation": 1, "depthwise_conv_2d": 2, "fully_connected": 2}
"""Of operators that may have more."""


def test_operators_without_some_of_their_operands_are_refused() -> None:
    seed()
    x = torch.randn(2, 3, 16, 16)
    (data,) = models_of(to_edge_transform_and_lower(quantized_by_pt2e(Network().eval(), x, per_channel=True), partitioner=["litert"]))
    model = read(data, "the model")
    graph, fewest = model.subgraphs[0], {OPERATORS[name]: count for name, count in FEWEST_OPERANDS.items()}
    for place, operator in enumerate(graph.operators):
        for count in range(fewest.get(model.operator_codes[operator.opcode_index].builtin_code, len(operator.inputs))):
            operators = [replace(item, inputs=item.inputs[:count]) if item is operator else item for item in graph.operators]
            fields = {"operator_codes": model.operator_codes, "buffers": model.buffers, "subgraphs": [replace(graph, operators=operators)]}
            with pytest.raises(BackendError, match=f"operator {place}, "):
                decoded(memoryview(write(**fields)), (), BlobStore(), "LiteRtBackend")


@pytest.mark.parametrize("python", installed("litert-test"))
def test_litert_computes_the_same_of_drawn_graphs(python: str) -> None:
    comparison = Comparison(litert(python))
    comparison.graphs(Partitioner("litert{precision=float32}"), range(8))
    assert comparison.compared["graph"] and not comparison.different
