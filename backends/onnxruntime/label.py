"""Writes and checks the label of a payload, which stands before the model.

Little-endian: the magic "FLOX", the version, the numbers of inputs and outputs, the Adler-32 of the model, a zero (uint32 each), and the
size of the model (uint64). The inputs of the model are called `i0`, `i1` and so on, its outputs `o0`. `runtime/payload.c` reads labels too.
"""

from __future__ import annotations

import struct
import zlib

from flambeau.passes.delegation.interface import BackendError

MAGIC = b"FLOX"
VERSION = 1
_LABEL = struct.Struct("<4sIIIIIQ")
LABEL_BYTES = _LABEL.size


def labelled(model: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the payload of a model with so many inputs and outputs."""
    return _LABEL.pack(MAGIC, VERSION, inputs, outputs, zlib.adler32(model), 0, len(model)) + model


def unlabelled(data: memoryview, what: str) -> memoryview:
    """Returns the model of a payload. Raises BackendError for damaged payloads, which it calls `what`."""
    if len(data) <= _LABEL.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise BackendError(f"{what} is damaged: its {len(data)} bytes do not begin with a label")
    _, version, _, _, checksum, zero, size = _LABEL.unpack_from(data)
    if version != VERSION or zero != 0:
        raise BackendError(f"{what} is of version {version}, and {VERSION} is read")
    model = data[_LABEL.size :]
    if len(model) != size or zlib.adler32(model) != checksum:
        raise BackendError(f"{what} is damaged: its model has {len(model)} bytes, not {size}, or another checksum than its label says")
    return model
