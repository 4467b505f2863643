"""Writes and checks the label of a payload, which stands behind the model: readers of models do not look there.

Little-endian: the magic "FLTF", the version, the numbers of inputs and outputs, the Adler-32 of the model (uint32 each), and 12 zeros.
XNNPACK may read the first of these bytes, behind a constant at the end of the model. `runtime/payload.c` reads labels too.
"""

from __future__ import annotations

import struct
import zlib

from flambeau.passes.delegation.interface import BackendError

MAGIC = b"FLTF"
VERSION = 1
_LABEL = struct.Struct("<4sIIII12x")
LABEL_BYTES = _LABEL.size


def labelled(model: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the payload of a model with so many inputs and outputs."""
    return model + _LABEL.pack(MAGIC, VERSION, inputs, outputs, zlib.adler32(model))


def unlabelled(data: memoryview, what: str) -> memoryview:
    """Returns the model of a payload. Raises BackendError for damaged payloads, which it calls `what`."""
    model = data[:-LABEL_BYTES]
    if len(model) == 0 or bytes(data[len(model) :][: len(MAGIC)]) != MAGIC:
        raise BackendError(f"{what} is damaged: it does not end with a label")
    _, version, _, _, checksum = _LABEL.unpack(data[len(model) :])
    if version != VERSION:
        raise BackendError(f"{what} is of version {version}, and those of {VERSION} are read")
    if zlib.adler32(model) != checksum:
        raise BackendError(f"{what} is damaged: its model has another checksum than its label says")
    return model
