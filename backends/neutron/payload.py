"""The frame of a payload: a header of bytes, and at multiples of 16 bytes microcode, weights and kernels, or the model.

The header has the numbers of inputs, of outputs and of arguments, the layout of each input and output (0: channels first), the place of
each among the arguments, and the version of what follows. What neutron-converter makes of a model is a model of one operator, whose last
operands are microcode, weights and kernels. Without it the model stands in their place, and the version is one that no runtime has.
Source: `PayloadComposer` and `neutron_node_extraction.py` in `backends/nxp` of ExecuTorch 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.backends.litert.members import COMPILED, MODEL, Converter, framed, unframed
from flambeau.backends.litert.payload import read
from flambeau.backends.neutron import CONVERTER
from flambeau.passes.delegation.interface import BackendError, CompiledError

ALIGNMENT = 16
MODEL_VERSION = 255
"""The version of a payload that holds a model: runtimes of the device refuse it."""
OPERATOR = "NeutronGraph"
"""The operator that a whole graph becomes."""
_WITH_PROFILE = 2
"""The results, of profile and of debugging, that operators of version 1 have before the scratch memory."""


def frame(model: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the payload of a model with so many inputs and outputs. Raises BackendError for more than a byte counts."""
    return _aligned(_header(range(inputs), range(outputs), inputs, MODEL_VERSION)) + model


def compiled_frame(converted: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the payload of a converted model. Raises BackendError unless it is one operator of Neutron."""
    model = read(memoryview(converted), "what neutron-converter writes")
    graph = model.subgraphs[0]
    try:
        steps = [model.operator_codes[step.opcode_index].custom_code or "another" for step in graph.operators]
        if steps != [OPERATOR]:
            raise BackendError(f"neutron-converter leaves {len(steps)} operators ({', '.join(sorted(set(steps)))}), not one {OPERATOR}")
        *given, microcode, weights, kernels = graph.operators[0].inputs
        results = graph.operators[0].outputs[:-1]  # without the scratch memory
        version = int(len(results) == len(graph.outputs) + _WITH_PROFILE)
        places = [graph.inputs.index(number) for number in given]
        results = [graph.outputs.index(number) for number in results[: len(results) - _WITH_PROFILE * version]]
        parts = [bytes(model.buffers[graph.tensors[number].buffer].data) for number in (microcode, weights, kernels)]
    except BackendError:
        raise
    except (IndexError, TypeError, ValueError) as error:
        raise BackendError(f"what neutron-converter writes is damaged: {error}") from error
    if (len(graph.inputs), len(results)) != (inputs, outputs):
        found = f"{len(graph.inputs)} inputs and {len(results)} outputs"
        raise BackendError(f"neutron-converter gives a graph with {found}, not {inputs} and {outputs}")
    return b"".join(map(_aligned, (_header(places, results, inputs, version), *parts)))


def _header(inputs: Sequence[int], outputs: Sequence[int], arguments: int, version: int) -> bytes:
    counts = len(inputs), len(outputs), arguments
    if max(counts) > 255:
        raise BackendError(f"a payload of 'NeutronBackend' has up to 255 inputs and outputs, not {arguments} and {len(outputs)}")
    return bytes((*counts, *bytes(len(inputs) + len(outputs)), *inputs, *outputs, version))


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def model_of(data: memoryview) -> memoryview:
    """Returns the model in a payload. Raises BackendError for a damaged payload, and CompiledError."""
    size = 4 + 2 * (data[0] + data[1]) if len(data) > 2 else len(data)
    start = size + -size % ALIGNMENT
    if start >= len(data):
        raise BackendError(f"a payload of 'NeutronBackend' is damaged: it has {len(data)} bytes, and its header {size}")
    if data[size - 1] != MODEL_VERSION:
        raise CompiledError(f"a payload of 'NeutronBackend' is compiled (version {data[size - 1]}), and only a device reads it")
    return data[start:]


def _arguments(options: Any) -> Sequence[str]:
    return "--input", MODEL, "--output", COMPILED, "--target", options.target


encode = framed(frame, Converter(CONVERTER, _arguments, compiled_frame))
decode = unframed("NeutronBackend", model_of)
