"""What the backend takes, and the frame of its payloads.

Source of the frame: `backends/mediatek/preprocess.py` of ExecuTorch 1.5: a version (1 byte, 1), the numbers of inputs and outputs and the
size of what follows (uint32 each, little-endian): the network that MediaTek's ncc-tflite makes of a TFLite model, or without it the model.
The limits are this backend's own choice, tensors of up to 4 dimensions and one image, as the compiler and its documents are not public.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flambeau.backends.litert.members import COMPILED, MODEL, OPERATORS, Converter, framed, is_not_transposed, narrowed, unframed
from flambeau.backends.litert.payload import IDENTIFIER
from flambeau.backends.neuropilot import COMPILER
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.interface import BackendError, CompiledError

if TYPE_CHECKING:
    from flambeau.backends.neuropilot import NeuropilotOptions

VERSION = 1
MOST_DIMENSIONS = 4
_HEADER = struct.Struct("<BIII")


def table(options: NeuropilotOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return narrowed(OPERATORS, {"convolution": (is_not_transposed,)}, MOST_DIMENSIONS)


def _frame(model: bytes, inputs: int, outputs: int) -> bytes:
    return _HEADER.pack(VERSION, inputs, outputs, len(model)) + model


def _model_of(data: memoryview) -> memoryview:
    if len(data) < _HEADER.size:
        raise BackendError(f"a payload of 'NeuropilotBackend' is damaged: it has {len(data)} bytes, and its header {_HEADER.size}")
    version, _, _, size = _HEADER.unpack_from(data)
    model = data[_HEADER.size :]
    if version != VERSION or size != len(model):
        raise BackendError(f"a payload of 'NeuropilotBackend' is damaged: version {version}, and {len(model)} bytes of {size}")
    if bytes(model[4:8]) != IDENTIFIER:
        raise CompiledError("a payload of 'NeuropilotBackend' is compiled, and only a device reads it")
    return model


def _arguments(options: NeuropilotOptions) -> Sequence[str] | None:
    return (f"--arch={options.arch}", MODEL, "-d", COMPILED) if options.arch else None


encode = framed(_frame, Converter(COMPILER, _arguments, _frame))
decode = unframed("NeuropilotBackend", _model_of)
