"""Payloads of QNN: the frame, the limits, what ONNX Runtime computes of them, and the user's compiler."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx_judge import Images, onnxruntime
from payload_judges import Comparison
from torch import Tensor, nn
from torch_programs import seed
from vendor_converter import payload_of
from vendor_tools import installed

import flambeau
from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.backends.onnxruntime.messages import read
from flambeau.backends.qnn import CHIPS, QnnOptions
from flambeau.backends.qnn.payload import HEADER_BYTES, INTERCHANGE, framed, model_of
from flambeau.passes.delegation.interface import BackendError, CompiledError
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager.errors import PassError
from flambeau.runtime.interpreter import interpret


@cache
def quantized(precision: str) -> tuple[Any, Tensor, Tensor]:
    """A program for the backend, an input, and what the network computes in floats."""
    seed()
    network, x = Images().eval(), torch.randn(2, 3, 16, 16)
    samples = [(torch.randn(2, 3, 16, 16),) for _ in range(4)] + [(x,)]
    return flambeau.quantize((network, (x,)), samples, backend=f"qnn{{precision={precision}}}").program, x, network(x).detach()


def lowered(precision: str, more: str = "") -> EdgeProgramManager:
    return to_edge_transform_and_lower(quantized(precision)[0], partitioner=[f"qnn{{precision={precision}{more}}}"])


def test_the_frame_is_that_of_executorch() -> None:
    data = framed(b"model", INTERCHANGE)
    magic, signature, size = struct.unpack_from("<IqQ", data)
    assert (magic, size, data[20:31], len(data)) == (0x5678ABCD, 5, INTERCHANGE, HEADER_BYTES + 5)
    assert signature == struct.unpack_from("<q", framed(b"model"), 4)[0] != struct.unpack_from("<q", framed(b"other"), 4)[0]
    assert bytes(model_of(memoryview(data))) == b"model"


def test_other_bytes_are_refused() -> None:
    data = framed(b"model", INTERCHANGE)
    for damaged in (b"", data[:-1], b"?" + data[1:], data[:4] + b"?" + data[5:], data[:-1] + b"?"):
        with pytest.raises(BackendError, match="its header is not that of its"):
            model_of(memoryview(damaged))
    with pytest.raises(CompiledError, match=r"is compiled .*, and only a device reads it"):
        model_of(memoryview(framed(b"context")))


@pytest.mark.parametrize(("precision", "element"), [("int8", 2), ("int16", 4)])
@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_a_network_is_one_model_between_integers(precision: str, element: int, python: str) -> None:
    edge, (_, x, expected) = lowered(precision), quantized(precision)
    model = read(model_of(memoryview(payload_of(edge))), "the model")
    borders = [item.type.tensor_type.elem_type for item in (*model.graph.input, *model.graph.output)]
    assert borders == [element, element]
    comparison = Comparison(onnxruntime(python, HEADER_BYTES), steps=1)
    (found,) = interpret(edge.module, edge.context, comparison).run("forward", [x.numpy()])
    assert comparison.compared and not comparison.different
    assert np.abs(np.asarray(found) - expected.numpy()).max() < (0.02 if precision == "int8" else 0.002) * float(expected.abs().max())


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_onnx_runtime_computes_drawn_graphs_to_one_step(python: str) -> None:
    comparison = Comparison(onnxruntime(python, HEADER_BYTES), steps=1)
    comparison.graphs(Partitioner("qnn"), range(1, 24, 2))
    assert comparison.compared["graph"] and not comparison.different


def test_floats_of_16_bits() -> None:
    seed()
    network, x = Images().eval().half(), torch.randn(1, 3, 16, 16).half()
    edge = to_edge_transform_and_lower(torch.export.export(network, (x,)), partitioner=["qnn{precision=f16}"])
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    np.testing.assert_allclose(np.asarray(found).astype(np.float32), network(x).detach().float(), rtol=0, atol=4e-3)


def test_what_is_beyond_the_limits_has_a_reason() -> None:
    class Beyond(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(x.reshape(1, 2, 1, 2, 1, 2)).cumsum(-1)

    exported = torch.export.export(Beyond(), (torch.randn(2, 2, 2).half(),))
    reasons = {reason for _, reason in flambeau.to_edge(exported).survey("qnn{precision=f16}").refused}
    assert "the backend has no such operator" in reasons
    assert any("has 6 dimensions, and its kernel takes 1 to 5" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"soc": "SM1"}, "option 'soc' is one of QCM6490, .*, not 'SM1'"),
        ({"precision": "f32"}, "option 'precision' is one of int8, int16, f16, not 'f32'"),
    ],
)
def test_options_that_are_wrong_are_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QnnOptions(**words)


def test_without_a_compiler_it_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLAMBEAU_QNN_COMPILER", str(tmp_path / "nothing"))
    with pytest.raises(PassError, match=r"qnn: to compile now it needs .*FLAMBEAU_QNN_COMPILER.*") as caught:
        lowered("int8", " compiled=true")
    assert "\n" not in str(caught.value).strip()


def test_the_program_of_the_user_compiles_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "compiler"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncp model.onnx {tmp_path}/given\nprintf context > context.bin\n')
    program.chmod(0o755)
    monkeypatch.setenv("FLAMBEAU_QNN_COMPILER", str(program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = payload_of(lowered("int8", " compiled=true soc=SM8750"))
    assert data == framed(b"context")
    assert (tmp_path / "words").read_text().split() == "--input model.onnx --output context.bin --soc SM8750 --htp-arch 79".split()
    assert (tmp_path / "given").read_bytes() == bytes(model_of(memoryview(payload_of(lowered("int8")))))
    assert {chip.architecture for chip in CHIPS.values()} == {68, 69, 73, 75, 79, 81}
