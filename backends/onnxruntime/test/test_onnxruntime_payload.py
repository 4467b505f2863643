"""The payload: written and read back, damaged ones refused, int8 within a step, and models as files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import torch
from onnx_judge import Images, onnxruntime
from quantized_programs import quantized_by_pt2e
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.backends.onnxruntime import OnnxRuntimeOptions
from flambeau.backends.onnxruntime.decode import decode
from flambeau.backends.onnxruntime.encode import encode
from flambeau.backends.onnxruntime.label import LABEL_BYTES, labelled, unlabelled
from flambeau.backends.onnxruntime.messages import MODEL, read
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime import protobuf

IDENTIFIER = "OnnxRuntimeBackend"


class Network(nn.Module):
    """A convolution, a weight that is read twice, and a list of results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 4)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        y = torch.relu(self.conv(image)).mean((2, 3))
        first, second = torch.split(torch.softmax(self.linear(self.linear(y)), -1), [1, 3], -1)
        return first, second, image


@cache
def exported() -> torch.export.ExportedProgram:
    seed()
    sizes = {0: torch.export.Dim("batch", min=1, max=4)}
    return torch.export.export(Network().eval(), (torch.randn(2, 3, 5, 6),), dynamic_shapes=(sizes,))


def payloads(edge: EdgeProgramManager) -> list[bytes]:
    return [bytes(edge.context.blobs.get(op.data)) for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]


@cache
def payload() -> bytes:
    (data,) = payloads(to_edge_transform_and_lower(exported(), partitioner=["onnxruntime"]))
    return data


def model_of(data: bytes) -> Any:
    return read(unlabelled(memoryview(data), "the payload"), "the payload")


def test_a_model_says_its_sizes_and_their_bounds() -> None:
    model = model_of(payload())
    assert (model.ir_version, model.opset_import[0].version) == (9, 20)
    sizes = [dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    assert sizes[1:] == [3, 5, 6] and [(item.key, item.value) for item in model.metadata_props] == [(f"bounds of {sizes[0]}", "1..4")]
    assert [node.op_type for node in model.graph.node][:2] == ["Conv", "Relu"] and "conv" in model.graph.node[0].name
    weights = [item for item in model.graph.initializer if list(item.dims) == [4, 4]]
    assert len(weights) == 1, "a constant that two operators read is stored once"


def test_what_is_read_is_written_again() -> None:
    context = FlambeauContext()
    module = decode(memoryview(payload()), {}, context.blobs)
    partition = next(op for op in module.walk() if isinstance(op, PartitionOp))
    again = encode(partition, ModuleConstants(context, module), OnnxRuntimeOptions()).data
    x = np.random.default_rng(0).standard_normal((4, 3, 5, 6), np.float32)
    for data in (payload(), again):
        results = run_payload(IDENTIFIER, memoryview(data), {}, [x])
        for found, expected in zip(results, cast(Any, exported().module())(torch.tensor(x))[:2], strict=True):
            np.testing.assert_allclose(found, expected.detach(), rtol=1e-5, atol=1e-6)


def changed(change: Callable[[Any], None]) -> bytes:
    """The payload with a changed model, whose label fits."""
    model = model_of(payload())
    change(model)
    return labelled(protobuf.encode(MODEL, model), 1, 2)


def _set(place: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(place, name, value)


DAMAGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "opset": (lambda m: _set(m.opset_import[0], version=30), r"opsets \[30\]"),
    "no graph": (
        lambda m: _set(
            m,
            graph=None,
        ),
        "without a graph",
    ),
    "operator": (lambda m: _set(m.graph.node[0], op_type="Convolve"), "node 0, Convolve, is not read"),
    "domain": (lambda m: _set(m.graph.node[0], domain="com.microsoft"), "node 0, Conv, is not read"),
    "input": (lambda m: _set(m.graph.node[1], input=["nothing"]), "there is no tensor 'nothing' before it is read"),
    "inputs": (lambda m: _set(m.graph.node[1], input=["i0", "i0"]), "1 inputs and 0 attributes too many"),
    "lacking": (lambda m: _set(m.graph.node[0], input=["i0"]), "it lacks its input 'w'"),
    "output": (lambda m: _set(m.graph.node[1], output=["i0"]), "defines the tensor 'i0' again"),
    "outputs": (lambda m: _set(m.graph.node[1], output=["a", "b"]), "gives 1 tensors, and names 2"),
    "attribute": (lambda m: _set(m.graph.node[0].attribute[0], type=1), "is of the type 1, not 7"),
    "bytes": (lambda m: _set(m.graph.initializer[0], raw_data=b"abc"), "has not as many bytes"),
    "size": (lambda m: _set(m, metadata_props=[]), "has a size that is not known"),
    "type": (lambda m: _set(m.graph.output[0].type.tensor_type, elem_type=7), "and is declared as"),
    "results": (lambda m: _set(m.graph, output=[]), "it has no outputs"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_field_is_checked(name: str) -> None:
    change, message = DAMAGES[name]
    with pytest.raises(BackendError, match=message) as caught:
        decode(memoryview(changed(change)), {}, FlambeauContext().blobs)
    assert "\n" not in str(caught.value)


LABELS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data[:20], "its 20 bytes do not begin with a label"),
    (lambda data: b"FLOY" + data[4:], "do not begin with a label"),
    (lambda data: data[:4] + struct.pack("<I", 9) + data[8:], "is of version 9, and 1 is read"),
    (lambda data: data[:-1], "another checksum"),
    (lambda data: data[:-1] + b"?", "another checksum"),
]


@pytest.mark.parametrize(("change", "message"), LABELS)
def test_the_label_is_checked(change: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        decode(memoryview(change(payload())), {}, FlambeauContext().blobs)


def test_bytes_that_are_no_model_are_refused() -> None:
    model, rng, refused = unlabelled(memoryview(payload()), "it"), np.random.default_rng(0), 0
    for _ in range(200):
        data = np.frombuffer(model, np.uint8).copy()
        data[rng.integers(0, len(data), 10)] = rng.integers(0, 256, 10)
        try:
            decode(memoryview(labelled(data.tobytes(), 1, 3)), {}, FlambeauContext().blobs)
        except BackendError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_int8_is_within_a_step_of_pytorch(python: str) -> None:
    seed()
    x = torch.randn(2, 3, 16, 16)
    program = quantized_by_pt2e(Images().eval(), x, per_channel=True)
    module: Any = program.module()
    (data,) = payloads(to_edge_transform_and_lower(program, partitioner=["onnxruntime"]))
    names = [node.op_type for node in model_of(data).graph.node]
    assert names.count("DequantizeLinear") > 8 and "QuantizeLinear" in names
    (found,) = onnxruntime(python, LABEL_BYTES).run(data, [x.numpy()])
    (by_rows,) = run_payload(IDENTIFIER, memoryview(data), {}, [x.numpy()])
    expected = module(x).detach().numpy()
    step = np.diff(np.unique(expected)).min()
    assert np.abs(by_rows - expected).max() <= 1.01 * step and np.abs(found - expected).max() <= 1.01 * step
