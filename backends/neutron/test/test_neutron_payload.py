"""Payloads of Neutron: a header of bytes, and a model that no runtime of a device takes for compiled."""

from __future__ import annotations

import pytest

from flambeau.backends.neutron.payload import MODEL_VERSION, frame, model_of
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
