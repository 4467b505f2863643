"""Payloads of version 1, whose text is OpenVINO's intermediate representation and which hold all of their constants."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch

from flambeau import to_edge
from flambeau.backends.openvino.payload import write_payload
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program, write_program

TEXT = """<?xml version='1.0' encoding='utf-8'?>
<net name="flambeau" version="11"><layers>
<layer id="0" name="input_0" type="Parameter" version="opset1"><data element_type="f32" shape="1..4,3" />
<output><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="1" name="bias_1" type="Const" version="opset1"><data element_type="f32" shape="3" offset="0" size="12" />
<output><port id="0" precision="FP32"><dim>3</dim></port></output></layer>
<layer id="2" name="forward.Add_2" type="Add" version="opset1">
<input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port><port id="1" precision="FP32"><dim>3</dim></port></input>
<output><port id="2" precision="FP32"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="3" name="output_0" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0" /><edge from-layer="1" from-port="0" to-layer="2" to-port="1" />
<edge from-layer="2" from-port="2" to-layer="3" to-port="0" />
</edges></net>"""
BIAS = np.array([1, 2, 4], np.float32)
X = np.array([[1, -1, 0.5], [0, 8, 3]], np.float32)


def payload(text: str = TEXT) -> bytes:
    data = bytearray(write_payload(text.encode(), [BIAS.data], BIAS.nbytes, 1, 1))
    struct.pack_into("<I", data, 4, 1)
    return bytes(data)


def test_numpy_runs_it():
    (found,) = run_payload("OpenvinoBackend", memoryview(payload()), {}, [X])
    np.testing.assert_array_equal(found, X + BIAS)


def pte_with(data: bytes, processed: bytes) -> bytes:
    """The program with another payload for its delegate."""
    program = read_program(data)
    (plan,) = program.execution_plan
    (delegate,) = plan.delegates
    changed = replace(plan, delegates=(replace(delegate, processed=memoryview(processed)),))
    return b"".join(write_program(replace(program, execution_plan=(changed,))))


@pytest.mark.usefixtures("openvino_library")
def test_the_runtime_runs_it():
    sizes = {0: torch.export.Dim("rows", min=1, max=4)}
    program = torch.export.export(torch.nn.Tanh(), (torch.tensor(X),), dynamic_shapes=(sizes,))
    pte = bytes(to_edge(program).to_backend("openvino").to_executorch().buffer)
    old = pte_with(pte, payload())
    (found,) = Runtime.get().load_program(old).load_method("forward").execute([X])
    np.testing.assert_array_equal(np.asarray(found), X + BIAS)


DAMAGES: list[tuple[str, str, str]] = [
    ('name="flambeau"', 'nome="flambeau"', "expected <net> with name, version, got <net> with nome, version"),
    ('version="11"', 'version="10"', "its text is not a model of version 11"),
    ("</net>", "</not>", "its text is not XML: mismatched tag"),
    ("<net ", "<!DOCTYPE x><net ", "its text declares or comments something"),
    ('id="1" name', 'id="7" name', "layer 1 calls itself '7'"),
    ('from-layer="0"', 'from-layer="99"', r"an edge leads from layer 99 to layer \d+ of \d+"),
    ('from-port="2"', 'from-port="3"', "layer 3 reads output 1 of layer 2, which has 1"),
    ('to-port="1"', 'to-port="0"', r"port 0 of layer \d+ gets two tensors"),
    ('to-port="1"', 'to-port="x"', "'x' is not a number"),
    ('"FP32"><dim>-1</dim>', '"FP32"><dim>5</dim>', "takes another tensor than port 0 of layer 0"),
    ('<port id="2"', '<port id="3"', "port 2 calls itself '3'"),
]


@pytest.mark.parametrize(("old", "new", "message"), DAMAGES)
def test_each_field_is_checked(old: str, new: str, message: str):
    assert re.search(old, TEXT)
    with pytest.raises(BackendError, match=f"^OpenVINO payload: .*{message}") as caught:
        run_payload("OpenvinoBackend", memoryview(payload(re.sub(old, new, TEXT, count=1))), {}, [X])
    assert "\n" not in str(caught.value)
