"""Writes and checks the label of a payload, which stands behind the model: readers of models do not look there.

Little-endian: the magic "FLTF", the version, the numbers of inputs and outputs, the Adler-32 of the model (uint32 each), and 12 zeros.
XNNPACK may read the first of these bytes, behind a constant at the end of the model. In version 2, the least and the greatest size of
the first dimension of each input (uint32 each) stand between the model and the label; the Adler-32 is of both. `runtime/payload.c`
reads labels too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from flambeau.passes.delegation.interface import BackendError

MAGIC = b"FLTF"
STATIC, OPEN = 1, 2
"""The versions of payloads whose sizes are known, and of those whose first sizes the run decides."""
_LABEL = struct.Struct("<4sIIII12x")
LABEL_BYTES = _LABEL.size
_RANGE = struct.Struct("<II")
Range = tuple[int, int]


def labelled(model: bytes, inputs: int, outputs: int, ranges: Sequence[Range] = ()) -> bytes:
    """Returns the payload of a model with so many inputs and outputs, and a range for the first size of each input, or none for any."""
    packed = b"".join(_RANGE.pack(*item) for item in ranges)
    return model + packed + _LABEL.pack(MAGIC, OPEN if ranges else STATIC, inputs, outputs, zlib.adler32(model + packed))


def unlabelled(data: memoryview, what: str) -> tuple[memoryview, Sequence[Range]]:
    """Returns the model of a payload, and the ranges. Raises BackendError for damaged payloads, which it calls `what`."""
    model = data[:-LABEL_BYTES]
    if len(model) == 0 or bytes(data[len(model) :][: len(MAGIC)]) != MAGIC:
        raise BackendError(f"{what} is damaged: it does not end with a label")
    _, version, inputs, _, checksum = _LABEL.unpack(data[len(model) :])
    if version not in (STATIC, OPEN):
        raise BackendError(f"{what} is of version {version}, and those of {STATIC} and {OPEN} are read")
    if zlib.adler32(model) != checksum:
        raise BackendError(f"{what} is damaged: its model has another checksum than its label says")
    size = len(model) - (inputs * _RANGE.size if version == OPEN else 0)
    ranges = list(_RANGE.iter_unpack(model[size:])) if size > 0 else []
    if size <= 0 or not all(0 < least <= most for least, most in ranges):
        raise BackendError(f"{what} is damaged: the sizes of its inputs are not in order")
    return model[:size], ranges
