"""The payload: written and read back, read by OpenVINO itself, damaged ones refused."""

from __future__ import annotations

import random
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import torch

from flambeau import to_edge
from flambeau.backends.openvino import OpenvinoOptions
from flambeau.backends.openvino.compiled import import_openvino
from flambeau.backends.openvino.decode import decode
from flambeau.backends.openvino.encode import encode
from flambeau.backends.openvino.payload import read_payload, write_compiled, write_payload
from flambeau.backends.openvino.representation import read_lines, write_model
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.pte import read_program

nn = torch.nn


class Net(nn.Module):
    """A convolution, a weight that is read twice, and a list of results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.relu(self.conv(x)).mean((2, 3))
        return torch.split(torch.softmax(self.linear(self.linear(y)), -1), [1, 3], -1)


@dataclass
class Compiled:
    """A payload, and what it computes of some inputs."""

    data: bytes
    inputs: list[Any]
    expected: list[Any]


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    cast(Any, torch).manual_seed(0)
    module, x = Net().eval(), torch.randn(2, 3, 5, 6)
    sizes = {0: torch.export.Dim("batch", min=1, max=4)}
    program = torch.export.export(module, (x,), dynamic_shapes=(sizes,))
    return Compiled(payload_of(program), [x.numpy()], [y.detach().numpy() for y in module(x)])


def payload_of(program: torch.export.ExportedProgram) -> bytes:
    """That of a program which is one delegate."""
    (delegate,) = read_program(to_edge(program).to_backend("openvino").to_executorch().buffer).execution_plan[0].delegates
    return bytes(delegate.processed)


def text_of(payload: bytes) -> str:
    return bytes(read_payload(memoryview(payload)).text).decode()


def with_text(payload: bytes, old: str, new: str) -> bytes:
    """The payload with another text, whose label fits."""
    read, text = read_payload(memoryview(payload)), text_of(payload)
    assert re.search(old, text, re.MULTILINE), text
    changed = re.sub(old, new, text, count=1, flags=re.MULTILINE).encode()
    return write_payload(changed, [read.constants], len(read.constants), read.inputs, read.outputs)


def operators(module: Any) -> list[str]:
    return [str(op) for op in module.walk() if op.name.startswith("openvino.")]


def test_a_payload_says_what_it_is(compiled: Compiled):
    assert compiled.data[:24] == b"FLOV\2\0\0\0interchange\0\0\0\0\0"
    read = read_payload(memoryview(compiled.data))
    assert (read.inputs, read.outputs) == (1, 2)
    assert 'shape="1..4,3,5,6"' in text_of(compiled.data), "the sizes that the run decides have their limits"
    assert re.search("^Convolution\t1\t.*\tconv\t", text_of(compiled.data), re.MULTILINE), "layers have the paths of modules"


def test_equal_constants_are_one_layer(compiled: Compiled):
    assert len(re.findall('^Const\t.*element_type="f32" shape="4,4"', text_of(compiled.data), re.MULTILINE)) == 1
    sizes = (432, 16, 64, 16, 16, 8, 16)
    assert len(read_payload(memoryview(compiled.data)).constants) == sum(-(-size // 64) * 64 for size in sizes)


def test_a_long_chain_takes_few_bytes():
    """An operator is a line: the text of OpenVINO, with ports and edges, would have some 600 bytes."""

    class Chain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(100):
                x = torch.tanh(x) * torch.sigmoid(x)
            return x

    payload = payload_of(torch.export.export(Chain(), (torch.ones(4, 4),)))
    assert text_of(payload).count("\n") == 302 and len(payload) < 302 * 25


def test_what_is_read_is_written_again(compiled: Compiled):
    context = FlambeauContext()
    module = decode(memoryview(compiled.data), {}, context.blobs)
    module.verify()
    partition = next(op for op in module.walk() if isinstance(op, PartitionOp))
    again = encode(partition, ModuleConstants(context, module), OpenvinoOptions()).data
    assert operators(decode(memoryview(again), {}, FlambeauContext().blobs)) == operators(module)
    for found, expected in zip(run_payload("OpenvinoBackend", memoryview(again), {}, compiled.inputs), compiled.expected, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("openvino_library")
def test_openvino_reads_the_same_model(compiled: Compiled):
    openvino = import_openvino()
    read = read_payload(memoryview(compiled.data))
    model = openvino.Core().read_model(write_model(read_lines(read.text)), bytes(read.constants))
    assert str(model.input(0).partial_shape) == "[1..4,3,5,6]"
    assert [str(output.partial_shape) for output in model.outputs] == ["[1..4,1]", "[1..4,3]"]
    run = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for found, expected in zip(run(compiled.inputs).values(), compiled.expected, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


DAMAGES: list[tuple[str, str, str]] = [
    (r"\n\Z", "", "its text does not end with a line"),
    ("^Parameter\t1\t", "Parameter\t", "layer 0 has 5 fields, not 6"),
    ("^Convolution\t1\t0 ", "Convolution\t1\t99 ", r"layer \d+ reads layer 99; layers follow those that they read"),
    ("^Convolution\t1\t0 ", "Convolution\t1\t0.1 ", r"layer \d+ reads output 1 of layer 0, which has 1"),
    ("^Convolution\t1\t0 ", "Convolution\t1\tx ", "'x' is not a number"),
    ('element_type="f32" shape="1', "element_type", r"layer 0, Parameter, has other data than names with values"),
    (
        'element_type="f32" shape="1',
        'element_type="f64" shape="1',
        "layer 0, Parameter, is of 'f64'; f32, boolean, i64, i8, u8 are supported here",
    ),
    (r'shape="1\.\.4', 'shape="4..1', r"layer 0, Parameter, has a size '4\.\.1'"),
    ("^Parameter\t1\t\tFP32", "Parameter\t1\t\tI64", "layer 0, Parameter, gives .*, and its port says I64"),
    ('shape="4,3,3,3" offset="0"', 'shape="4,3,3,3" offset="99999"', r"layer \d+, Const, takes bytes 99999 to 100431"),
    ('shape="4,3,3,3" offset="0"', 'shape="4,3,3,3" key="a"', r"layer \d+, Const, needs the named data 'a', which the program lacks"),
    ('size="432"', 'size="428"', r"layer \d+, Const, takes bytes 0 to 428"),
    ("^Convolution\t", "Conv\t", r"layer \d+, Conv of opset1, is not supported here"),
    ("^Convolution\t1", "Convolution\t2", r"layer \d+, Convolution of opset2, is not supported here"),
    ('strides="1,1"', 'strides="0,1"', r"layer \d+, Convolution: openvino.Convolution: pads must not be negative, and strides"),
    ('strides="1,1"', 'strides="1,y"', r"layer \d+, Convolution, has the strides '1,y'"),
    ('strides="1,1" ', "", r"layer \d+, Convolution, has the strides None"),
    ('strides="1,1"', 'strides="1,1" groups="1"', r"layer \d+, Convolution, has more inputs or data than such a layer"),
    ('keep_dims="false"', 'keep_dims="no"', r"layer \d+, ReduceMean, has the keep_dims 'no'"),
    ('axis="1"', 'axis="9"', r"layer \d+, SoftMax: .*dim 9 is out of range for rank 2"),
    ("FP32 FP32\t", "FP32\t", "layer .* reads output 1 of layer"),
]


@pytest.mark.parametrize(("old", "new", "message"), DAMAGES)
def test_each_field_is_checked(compiled: Compiled, old: str, new: str, message: str):
    with pytest.raises(BackendError, match=f"^OpenVINO payload: .*{message}") as caught:
        decode(memoryview(with_text(compiled.data, old, new)), {}, FlambeauContext().blobs)
    assert "\n" not in str(caught.value)


def relabelled(payload: bytes, place: int, value: int, kind: str = "<I") -> bytes:
    changed = bytearray(payload)
    struct.pack_into(kind, changed, place, value)
    return bytes(changed)


def test_the_label_is_checked(compiled: Compiled):
    data = compiled.data
    for damaged, message in (
        (b"", "it has 0 bytes; its label alone takes 64"),
        (bytes(64) + data, r"it is without the label b'FLOV': only OpenVINO reads it"),
        (write_compiled(b"export" * 20, 1, 2), "it is compiled: only OpenVINO reads it"),
        (relabelled(data, 4, 3), "it is of version 3; this backend reads 1 to 2"),
        (relabelled(data, 4, 0), "it is of version 0; this backend reads 1 to 2"),
        (relabelled(data, 8, 0), r"it is b'\\x00.*'; this backend reads b'interchange'"),
        (relabelled(data, 32, 0), "its text is damaged: it has another checksum than its label says"),
        (relabelled(data, 40, 2**63, "<Q"), r"its 9223372036854775808 bytes of text and \d+ bytes of constants"),
        (data[:-1], r"bytes of constants from byte \d+ on are not its \d+ bytes"),
        (relabelled(data, 28, 3), "its label says 1 inputs and 3 outputs, and its text has 1 and 2"),
    ):
        with pytest.raises(BackendError, match=f"^OpenVINO payload: .*{message}"):
            decode(memoryview(damaged), {}, FlambeauContext().blobs)


KEYS = bytes.fromhex("306070020408 3f6f7274787f 00")
"""What OpenVINO obscures the text of an export with, byte by byte in turn, and the label after it; or nothing."""


@pytest.mark.parametrize("seed", range(50))
def test_no_label_of_a_compiled_model_ends_its_text(seed: int):
    export = random.Random(seed).randbytes(20)
    label = write_compiled(export, seed, seed**4)[len(export) :]
    assert not {byte ^ key for byte in label for key in KEYS} & set(b"<")


def test_a_damaged_text_is_refused_or_runs(compiled: Compiled):
    """Some mutations change a number and nothing else; none crashes, hangs or raises anything but BackendError."""
    chance = random.Random(5)
    read = read_payload(memoryview(compiled.data))
    refused = accepted = 0
    for _ in range(400):
        text = bytearray(read.text)
        for _ in range(chance.randint(1, 2)):
            digits = [place for place, byte in enumerate(text) if chr(byte).isdigit()]
            text[chance.choice(digits) if chance.random() < 0.7 else chance.randrange(len(text))] = chance.choice(b'0123456789-.,ax"<>')
        damaged = write_payload(bytes(text), [read.constants], len(read.constants), read.inputs, read.outputs)
        assert zlib.adler32(text) == struct.unpack_from("<I", damaged, 32)[0]
        try:
            run_payload("OpenvinoBackend", memoryview(damaged), {}, compiled.inputs)
        except BackendError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            accepted += 1
    assert refused > 100 and accepted > 2
