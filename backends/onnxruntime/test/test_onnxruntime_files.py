"""Whole programs as ONNX files: names, states, and what ONNX Runtime computes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from device_models import Step, inputs_of_step
from onnx_judge import onnxruntime
from test_onnxruntime_payload import exported
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import to_edge
from flambeau.backends.onnxruntime.messages import read
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.rewriting.conversion_report import ConversionError


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_a_file_has_the_names_of_the_model(python: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    edge = to_edge(exported())
    edge.save(path)
    model = read(memoryview(path.read_bytes()), "the file")
    assert [item.name for item in model.graph.input] == ["image"]
    assert {"conv.weight", "conv.bias", "linear.weight"} <= {item.name for item in model.graph.initializer}
    assert model.graph.name == "forward" and [node.op_type for node in model.graph.node][-1] == "Identity"
    x = torch.randn(3, 3, 5, 6)
    results = onnxruntime(python, 0).run(path.read_bytes(), [x.numpy()])
    for found, expected in zip(results, cast(Any, exported().module())(x), strict=True):
        np.testing.assert_allclose(found, expected.detach(), rtol=1e-5, atol=1e-6)


class Counted(nn.Module):
    """A state that begins with ones, and is called as an input is."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Buffer(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.x.add_(x)
        return self.x * x


def file_of(module: nn.Module, example: tuple[Tensor, ...], path: Path) -> bytes:
    with torch.no_grad():
        to_edge(torch.export.export(module.eval(), example)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
@pytest.mark.parametrize(("make", "calls"), [(Step, [inputs_of_step(step) for step in range(4)]), (Counted, [(torch.ones(3),)] * 3)])
def test_a_state_is_an_input_with_its_first_value_and_an_output(
    make: type[nn.Module], calls: list[tuple[Tensor, ...]], python: str, tmp_path: Path
) -> None:
    seed()
    module, states = make().eval(), list[Any]()
    data, judge = file_of(module, calls[0], tmp_path / "model.onnx"), onnxruntime(python, 0)
    for call in calls:
        with torch.no_grad():
            expected = module(*call).numpy()
        found, *states = judge.run(data, [*(value.numpy() for value in call), *states])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for found, buffer in zip(states, module.buffers(), strict=False):
        np.testing.assert_allclose(found, buffer.numpy(), rtol=1e-5, atol=1e-6)


def test_names_of_states_are_those_of_the_buffers(tmp_path: Path) -> None:
    model = read(memoryview(file_of(Counted(), (torch.ones(3),), tmp_path / "model.onnx")), "the file")
    assert [item.name for item in model.graph.input] == ["x", "x_1"]
    assert [item.name for item in model.graph.output] == ["output", "x.next"]
    assert {item.key: item.value for item in model.metadata_props} == {"state x_1": "x.next"}


class Counting(nn.Module):
    """Numbers up to a size that only the run knows, and a mask of them."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        places = torch.arange(x.shape[1])
        visible = places[:, None] >= torch.arange(3, x.shape[1] + 5, 2)
        return places * 2, visible, nn.functional.scaled_dot_product_attention(x, x, x, places[:, None] >= places)


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_sizes_of_inputs_are_counted_to(python: str, tmp_path: Path) -> None:
    path, size = tmp_path / "model.onnx", torch.export.Dim("words", min=2, max=9)
    edge = to_edge(torch.export.export(Counting(), (torch.rand(2, 4, 8),), dynamic_shapes=({1: size},)))
    edge.save(path)
    (declared,) = read(memoryview(path.read_bytes()), "the file").graph.input
    assert [item.dim_param for item in declared.type.tensor_type.shape.dim] == [None, "words", None]
    for words in (2, 9, 5):
        x = torch.rand(2, words, 8)
        for found, expected in zip(onnxruntime(python, 0).run(path.read_bytes(), [x.numpy()]), Counting()(x), strict=True):
            np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="the option 'sizes' is of files"):
        edge.to_backend("onnxruntime{sizes=true}").to_executorch()


def test_what_no_file_holds_is_refused(tmp_path: Path) -> None:
    path, x = tmp_path / "model.onnx", torch.randn(3)
    two = {name: torch.export.export(nn.ReLU(), (x,)) for name in ("encode", "decode")}
    with pytest.raises(BackendError, match="an ONNX file has one graph, and the program the methods encode, decode"):
        to_edge(two).save(path)
    with pytest.raises(ConversionError, match=r"cannot be converted to a .onnx file: edge.topk"):
        to_edge(torch.export.export(Sorted(), (x,))).save(path)
    assert not any(tmp_path.iterdir())


class Sorted(nn.Module):
    """What no file of the backend has."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sort(x).values
