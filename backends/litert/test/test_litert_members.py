"""Backends whose compilers read TFLite models: the same network is a model in the frame of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from quantized_programs import quantized_by_pt2e
from torch import nn
from torch_programs import seed

from flambeau import EdgeProgramManager, get_delegation_info, to_edge_transform_and_lower
from flambeau.backends.litert.payload import BUFFER, OPERATOR, OPERATOR_CODE, SUBGRAPH, TENSOR, write
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError, backend_names, find_backend
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import HardwareOnlyError, interpret

MEMBERS = [name for name in backend_names() if find_backend(name).family == "litert"]


def lowered(backend: str, batch: int = 1) -> tuple[EdgeProgramManager, torch.Tensor]:
    seed()
    network, x = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 5)).eval(), torch.randn(batch, 3, 16, 16)
    return to_edge_transform_and_lower(quantized_by_pt2e(network, x), partitioner=[backend]), x


def payload_of(edge: EdgeProgramManager) -> memoryview:
    (payload,) = (op for op in edge.module.body.block.ops if isinstance(op, PayloadOp))
    return edge.context.blobs.get(payload.data)


@pytest.mark.parametrize("backend", MEMBERS)
def test_a_payload_is_the_model_in_the_frame_of_its_runtime(backend: str) -> None:
    edge, x = lowered(backend)
    data = payload_of(edge)
    model, _ = lowered("litert")
    assert bytes(data).endswith(bytes(payload_of(model)))
    expected = interpret(model.module, model.context, run_payload).run("forward", [x.numpy()])
    found = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(expected[0]))


@pytest.mark.parametrize("backend", MEMBERS)
def test_what_is_not_one_image_stays(backend: str) -> None:
    edge, _ = lowered(backend, 2)
    assert any("it is of 2 images, and the compiler takes one" in reason for _, reason in get_delegation_info(edge).refused)


@pytest.mark.parametrize("backend", MEMBERS)
def test_a_frame_that_is_cut_off_is_refused(backend: str) -> None:
    data, decode = payload_of(lowered(backend)[0]), find_backend(backend).decode
    assert decode is not None
    for size in (0, 1, 5, 12, 16, 40, len(data) - 1):
        with pytest.raises(BackendError, match="damaged"):
            decode(data[:size], {}, BlobStore())


class Writer:
    """A converter that writes a file of the test, and keeps the words and the model that it was given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str):
        self.folder = folder
        program = folder / "converter"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {folder}/words\ncp model.tflite {folder}/given\n'
            f"[ -e {folder}/written ] && cp {folder}/written compiled.bin || {{ echo 'no kernel for CONV_2D'; exit 1; }}\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv(variable, str(program))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))

    def writes(self, data: bytes) -> None:
        """Sets the file that it writes."""
        (self.folder / "written").write_bytes(data)

    @property
    def words(self) -> str:
        """The arguments of its last run."""
        return (self.folder / "words").read_text().strip()


@pytest.mark.parametrize(
    ("backend", "variable", "words"),
    [
        ("neutron{target=imx95}", "FLAMBEAU_NEUTRON_CONVERTER", "--input model.tflite --output compiled.bin --target imx95"),
        ("neuropilot{arch=mdla5.1}", "FLAMBEAU_NCC_TFLITE", "--arch=mdla5.1 model.tflite -d compiled.bin"),
    ],
)
def test_a_vendors_compiler_compiles_where_it_is(
    backend: str, variable: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = bytes(payload_of(lowered("litert")[0]))
    converter, name = Writer(tmp_path, monkeypatch, variable), backend.partition("{")[0]
    edge, _ = lowered(backend)
    assert any("no kernel for CONV_2D" in reason for _, reason in get_delegation_info(edge).refused)
    assert converter.words == words
    written = converted_by_neutron() if name == "neutron" else b"DLA of so many bytes"
    converter.writes(written)
    edge, x = lowered(backend)
    assert (tmp_path / "given").read_bytes() == model
    data = payload_of(edge)
    if name == "neuropilot":
        assert bytes(data) == b"\1\1\0\0\0\1\0\0\0\x14\0\0\0" + written
    else:
        assert bytes(data) == b"".join(item.ljust(16, b"\0") for item in (b"\1\1\1\0\0\0\0\0", b"microcode", b"weights", b"kernels"))
    with pytest.raises(HardwareOnlyError, match=r"is compiled.*only a device reads it"):
        interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    converter.writes(b"nothing")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    if name == "neutron":
        edge, _ = lowered(backend)
        assert any("what neutron-converter writes is damaged" in reason for _, reason in get_delegation_info(edge).refused)


def converted_by_neutron(operator: str = "NeutronGraph") -> bytes:
    """A model of one operator, as NXP's converter writes it: inputs, microcode, weights and kernels; results and scratch memory."""
    names = ("image", "scores", "microcode", "weights", "kernels", "scratch")
    tensors = [TENSOR.record(shape=(4,), type=9, buffer=index if 2 <= index <= 4 else 0, name=name) for index, name in enumerate(names)]
    buffers = [BUFFER.record(data=name.encode() if 2 <= index <= 4 else None) for index, name in enumerate(names)]
    step = OPERATOR.record(opcode_index=0, inputs=[0, 2, 3, 4], outputs=[1, 5])
    code = OPERATOR_CODE.record(deprecated_builtin_code=32, custom_code=operator, builtin_code=32)
    graph = SUBGRAPH.record(tensors=tensors, inputs=[0], outputs=[1], operators=[step], name="main")
    return write(operator_codes=[code], subgraphs=[graph], buffers=buffers)
