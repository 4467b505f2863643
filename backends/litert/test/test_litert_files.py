"""Whole models as TFLite files: names, signatures, metadata, a memory plan, and the numbers that LiteRT and TFLM compute."""

from __future__ import annotations

import subprocess
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from litert_files import PLAN, decoded_results, file_of
from litert_judge import litert
from quantized_programs import quantized_by_pt2e
from test_litert_models import Network
from tflm_judge import head_bytes, tflm
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, to_edge
from flambeau.backends.litert.file import ALIGNMENT, KEY
from flambeau.backends.litert.payload import OPERATORS, read_model
from flambeau.backends.litert.runtime_versions import runtime_version
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.delegation.interface import BackendError, backend_names, find_backend
from flambeau.passes.rewriting.conversion_report import ConversionError

_NAMES = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter
model = Interpreter(model_path=sys.argv[1])
for key in model.get_signature_list():
    run = model.get_signature_runner(key)
    found = run(**{name: np.ones(item["shape"], item["dtype"]) for name, item in run.get_input_details().items()})
    print(key, list(run.get_input_details()), {name: array.shape for name, array in found.items()})
"""


class Named(nn.Module):
    """Two inputs, and outputs with names."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, left: Tensor, right: Tensor) -> dict[str, Tensor]:
        """A layer of the one, its largest entries with those of the other, and the other as it is."""
        y = torch.relu(self.layer(left))
        return {"layer": y, "most": torch.maximum(y, right), "right": right}


@cache
def named() -> EdgeProgramManager:
    seed()
    return to_edge(torch.export.export(Named().eval(), (torch.randn(2, 4), torch.randn(2, 3))))


@cache
def quantized() -> tuple[bytes, Tensor, Tensor]:
    """The file of a quantized network, an input, and what PyTorch computes of it."""
    seed()
    x = torch.randn(2, 3, 16, 16)
    program = quantized_by_pt2e(Network().eval(), x, per_channel=True)
    module: Any = program.module()
    return file_of(to_edge(program)), x, module(x).detach()


def buffer_of(model: Any, name: bytes) -> bytes:
    (number,) = (item.buffer for item in model.metadata if item.name == name.decode())
    return bytes(model.buffers[number].data)


def test_tensors_have_the_names_of_the_model() -> None:
    model = read_model(memoryview(file_of(named())), "the file")
    (graph,) = model.subgraphs
    names = [item.name for item in graph.tensors]
    assert names[:2] == ["left", "right"] and len(set(names)) == len(names)
    assert {"layer.weight", "most"} <= set(names)
    (signature,) = model.signature_defs
    assert signature.signature_key == KEY
    assert [(item.name, names[item.tensor_index]) for item in signature.outputs] == [
        ("layer", "layer"),
        ("most", "most"),
        ("right", "right_1"),
    ]
    assert buffer_of(model, b"min_runtime_version") == b"2.0.0".ljust(16, b"\0")  # of a linear layer that keeps the dimensions


def test_the_number_around_an_image_is_a_scalar_as_openvino_wants_it() -> None:
    pool = torch.export.export(torch.nn.MaxPool2d(3, 2, 1), (torch.randn(1, 3, 9, 8),))
    model = read_model(memoryview(file_of(to_edge(pool))), "the file")
    (graph,) = model.subgraphs
    padded = next(item for item in graph.operators if len(item.inputs) == 3)
    assert list(graph.tensors[padded.inputs[2]].shape or ()) == []


def test_every_operator_has_a_first_runtime() -> None:
    assert [name for name in OPERATORS if not runtime_version([(name, 1)])] == []
    assert runtime_version([("add", 2), ("transpose", 5)]) == "2.4.0"


def test_numpy_computes_the_file_as_the_program() -> None:
    seed()
    module, left, right = Named().eval(), torch.randn(2, 4), torch.randn(2, 3)
    found = decoded_results(file_of(named()), [left.numpy(), right.numpy()])
    for a, b in zip(found, module(left, right).values(), strict=True):
        np.testing.assert_allclose(a, b.detach(), rtol=1e-6, atol=1e-6)


def test_a_quantized_network_has_floats_at_its_borders_only() -> None:
    data, x, expected = quantized()
    model = read_model(memoryview(data), "the file")
    names = {number: name for name, number in OPERATORS.items()}
    operators = [names[model.operator_codes[step.opcode_index].builtin_code] for step in model.subgraphs[0].operators]
    assert operators[0] == "quantize" and operators[-1] in ("dequantize", "softmax")
    (found,) = decoded_results(data, [x.numpy()])
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=3 / 256)


def test_equal_constants_are_stored_once() -> None:
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False)
            self.b.weight = nn.Parameter(self.a.weight.detach().clone())

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.a(x))

    data = file_of(to_edge(torch.export.export(Twice(), (torch.randn(1, 64),))))
    assert 64 * 64 * 4 < len(data) < 64 * 64 * 4 + 2000


def test_the_plan_lets_no_two_live_tensors_share_bytes() -> None:
    model = read_model(memoryview(quantized()[0]), "the file")
    graph: Any = model.subgraphs[0]
    numbers: list[int] = np.frombuffer(buffer_of(model, PLAN), np.int32).tolist()
    offsets = numbers[3:]
    assert numbers[1:3] == [1, len(graph.tensors)] and len(offsets) == len(graph.tensors)
    steps: list[Any] = list(graph.operators)
    last: dict[int, int] = {number: len(steps) for number in graph.outputs}
    for step in reversed(range(len(steps))):
        for number in steps[step].inputs:
            last.setdefault(number, step)
    live: set[int] = set(graph.inputs)
    tensors: list[Any] = list(graph.tensors)
    sizes: list[int] = [prod(item.shape) * {0: 4, 2: 4, 9: 1}[item.type] for item in tensors]
    assert all((offset < 0) == bool(item.buffer) for offset, item in zip(offsets, graph.tensors, strict=True))
    assert not any(offset % ALIGNMENT for offset in offsets if offset >= 0)
    for step, operator in enumerate(steps):
        live |= set(operator.outputs)
        spans = sorted((offsets[number], offsets[number] + sizes[number]) for number in live)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        live = {number for number in live if last.get(number, -1) > step}


def test_methods_are_graphs_with_a_signature_each() -> None:
    module = Named().eval()
    inputs = (torch.randn(2, 4), torch.randn(2, 3))
    programs = {name: torch.export.export(module, inputs) for name in ("encode", "decode")}
    model = read_model(memoryview(file_of(to_edge(programs))), "the file")
    assert [item.signature_key for item in model.signature_defs] == ["encode", "decode"]
    assert [graph.name for graph in model.subgraphs] == ["encode", "decode"]
    weights = [item.buffer for graph in model.subgraphs for item in graph.tensors if item.shape == (3, 4)]
    assert len(weights) == 2 and len(set(weights)) == 1
    assert [item.name for item in model.metadata] == ["min_runtime_version"]


def test_what_no_file_holds_is_refused(tmp_path: Path) -> None:
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = nn.Buffer(torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.count.add_(x)
            return self.count * x

    class Written(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x.mul_(x)
            return x + x

    path = tmp_path / "model.tflite"
    x = torch.randn(3)
    for module, error, words in (
        (Counted(), ConversionError, "no state, no control flow"),
        (Written(), OperationError, "@forward writes its input 'x', and a file's inputs are only read"),
    ):
        with pytest.raises(error) as caught:
            to_edge(torch.export.export(module, (x,))).save(path)
        assert words in str(caught.value) + "".join(map(str, getattr(caught.value, "notes", ())))
    other = next(name for name in backend_names() if find_backend(name).file is None)
    with pytest.raises(BackendError, match=f"made by the backend 'litert', and not by {other}"):
        named().save(path, other)
    with pytest.raises(BackendError, match="is tensor<3xf64>, and a TFLite model has tensors of f32"):
        to_edge(torch.export.export(nn.Identity(), (x.double(),))).save(path)
    with pytest.raises(ValueError, match=r"is IR, which is of no backend; there are files of backends by the suffixes .*tflite"):
        named().save(tmp_path / "model.mlir", "litert")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("python", installed("litert-test"))
def test_tflm_takes_the_plan_of_the_file(python: str) -> None:
    data = quantized()[0]
    plan = buffer_of(read_model(memoryview(data), "the file"), PLAN)
    numbers = np.frombuffer(plan, np.int32).copy()
    numbers[3:] += np.where(numbers[3:] >= 0, 4096, 0)
    assert head_bytes(python, data.replace(plan, numbers.tobytes())) == head_bytes(python, data) + 4096


@pytest.mark.parametrize("python", installed("litert-test"))
def test_litert_finds_the_names(python: str, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(file_of(named()))
    said = subprocess.run([python, "-c", _NAMES, path], capture_output=True, text=True, check=True).stdout
    assert said == f"{KEY} ['left', 'right'] {{'layer': (2, 3), 'most': (2, 3), 'right': (2, 3)}}\n"


@pytest.mark.parametrize("python", installed("litert-test"))
@pytest.mark.parametrize("runtime", [litert, tflm])
def test_runtimes_compute_the_same_bits(python: str, runtime: Any) -> None:
    data, x, _ = quantized()
    (found,) = runtime(python).run(data, [x.numpy()])
    (expected,) = decoded_results(data, [x.numpy()])
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7)  # the softmax at the end is of floats
