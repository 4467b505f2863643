"""The frame of a payload: a header of bytes, and at a multiple of 16 bytes the model.

The header has the numbers of inputs, of outputs and of arguments, the layout of each input and output (0: channels first), the place of
each among the arguments, and the version of what follows. In place of microcode, weights and kernels stands a TFLite model, and the
version is one that no runtime has. Source: `PayloadComposer` in `backends/nxp` of ExecuTorch 1.5.
"""

from __future__ import annotations

from flambeau.backends.litert.members import framed, unframed
from flambeau.passes.delegation.interface import BackendError

ALIGNMENT = 16
MODEL_VERSION = 255
"""The version of a payload that holds a model: runtimes of the device refuse it."""


def frame(model: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the payload of a model with so many inputs and outputs. Raises BackendError for more than a byte counts."""
    if max(inputs, outputs) > 255:
        raise BackendError(f"a payload of 'NeutronBackend' has up to 255 inputs and outputs, not {inputs} and {outputs}")
    layouts = bytes(inputs + outputs)
    header = bytes((inputs, outputs, inputs)) + layouts + bytes(range(inputs)) + bytes(range(outputs)) + bytes((MODEL_VERSION,))
    return header + bytes(-len(header) % ALIGNMENT) + model


def model_of(data: memoryview) -> memoryview:
    """Returns the model in a payload. Raises BackendError for payloads that are damaged, or compiled."""
    size = 4 + 2 * (data[0] + data[1]) if len(data) > 2 else len(data)
    start = size + -size % ALIGNMENT
    if start >= len(data):
        raise BackendError(f"a payload of 'NeutronBackend' is damaged: it has {len(data)} bytes, and its header {size}")
    if data[size - 1] != MODEL_VERSION:
        raise BackendError(f"a payload of 'NeutronBackend' is compiled (version {data[size - 1]}), and only a device reads it")
    return data[start:]


encode = framed(frame)
decode = unframed("NeutronBackend", model_of)
