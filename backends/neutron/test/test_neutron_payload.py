"""Payloads of Neutron: a header of bytes, and a model that no runtime of a device takes for compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from vendor_converter import VendorConverter, check_only_devices_run, lowered, payload_of

from flambeau import get_delegation_info
from flambeau.backends.litert.label import LABEL_BYTES
from flambeau.backends.litert.payload import BUFFER, OPERATOR, OPERATOR_CODE, SUBGRAPH, TENSOR, write
from flambeau.backends.neutron import NeutronOptions
from flambeau.backends.neutron.payload import MODEL_VERSION, compiled_frame, frame, model_of
from flambeau.passes.delegation.interface import BackendError


@pytest.mark.parametrize(("inputs", "outputs", "start"), [(1, 1, 16), (3, 3, 16), (4, 3, 32)])
def test_the_model_stands_at_a_multiple_of_16_bytes(inputs: int, outputs: int, start: int) -> None:
    payload = frame(b"model", inputs, outputs)
    assert payload[:3] == bytes((inputs, outputs, inputs)) and payload[start:] == b"model"
    assert payload[3 : 3 + inputs + outputs] == bytes(inputs + outputs)
    assert payload[3 + inputs + outputs :][: inputs + outputs + 1] == bytes((*range(inputs), *range(outputs), MODEL_VERSION))
    assert bytes(model_of(memoryview(payload))) == b"model"


def test_a_compiled_payload_is_for_devices() -> None:
    payload = bytearray(frame(b"model", 1, 1))
    payload[7] = 1
    with pytest.raises(BackendError, match=r"is compiled \(version 1\), and only a device reads it"):
        model_of(memoryview(bytes(payload)))


def test_more_tensors_than_a_byte_counts_are_refused() -> None:
    with pytest.raises(BackendError, match="up to 255 inputs and outputs, not 256 and 1"):
        frame(b"model", 256, 1)


def converted(names: tuple[str, ...], outputs: int) -> bytes:
    """A model of operators with an input, three constants, and so many results."""
    tensors = [TENSOR.record(shape=(4,), type=9, buffer=index if 1 <= index <= 3 else 0, name="x") for index in range(4 + outputs)]
    buffers = [BUFFER.record(data=bytes((index,)) if index else None) for index in range(4)]
    step = OPERATOR.record(opcode_index=0, inputs=[0, 1, 2, 3], outputs=list(range(4, 4 + outputs)))
    codes = [OPERATOR_CODE.record(deprecated_builtin_code=32, custom_code=name, builtin_code=32) for name in names]
    graph = SUBGRAPH.record(tensors=tensors, inputs=[0], outputs=[4], operators=[step] * len(names), name="main")
    return write(operator_codes=codes, subgraphs=[graph], buffers=buffers)


@pytest.mark.parametrize(("outputs", "version"), [(2, 0), (4, 1)])
def test_the_version_says_whether_there_are_results_of_profiles(outputs: int, version: int) -> None:
    parts = bytes((1, 1, 1, 0, 0, 0, 0, version)), b"\1", b"\2", b"\3"
    assert compiled_frame(converted(("NeutronGraph",), outputs), 1, 1) == b"".join(part.ljust(16, b"\0") for part in parts)


@pytest.mark.parametrize(
    ("model", "inputs", "why"),
    [
        (converted((), 2), 1, r"leaves 0 operators \(\), not one NeutronGraph"),
        (converted(("NeutronGraph", "Other"), 2), 1, r"leaves 2 operators \(NeutronGraph\), not one"),
        (converted(("NeutronGraph",), 2), 2, "a graph with 1 inputs and 1 outputs, not 2 and 1"),
        (converted(("NeutronGraph",), 3), 1, "what neutron-converter writes is damaged: .* not in"),
        (converted(("NeutronGraph",), 1), 1, "a graph with 1 inputs and 0 outputs, not 1 and 1"),
        (b"nothing of a model", 1, "what neutron-converter writes is damaged"),
    ],
)
def test_what_is_not_one_operator_of_neutron_is_refused(model: bytes, inputs: int, why: str) -> None:
    with pytest.raises(BackendError, match=why):
        compiled_frame(model, inputs, 1)


def test_the_converter_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "neutron-converter is not on PATH" in (NeutronOptions().only_here or "")
    converter, backend, model = (
        VendorConverter(tmp_path, monkeypatch, "FLAMBEAU_NEUTRON_CONVERTER"),
        "neutron{target=imx95}",
        lowered("litert")[0],
    )
    assert NeutronOptions().only_here is None
    assert any("no kernel for CONV_2D" in reason for _, reason in get_delegation_info(lowered(backend)[0]).refused)
    assert converter.words == "--input model.tflite --output compiled.bin --target imx95"
    converter.writes(written := converted(("NeutronGraph",), 2))
    edge, x = lowered(backend)
    assert converter.given == payload_of(model)[:-LABEL_BYTES] and payload_of(edge) == compiled_frame(written, 1, 1)
    check_only_devices_run(edge, x)
