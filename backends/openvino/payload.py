"""The payload: a header, the text of the intermediate representation, and the bytes of its constants.

The header has 64 bytes, little-endian: the magic "FLOV", the version (uint32), what the payload is (16 bytes of text, filled with zeros),
the number of inputs and of outputs, the CRC-32 of the text (uint32 each), 4 zeros, the size of the text, where the constants begin, and
their size (uint64 each). The text follows the header. `runtime/openvino.c` is its other reader.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flambeau.passes.delegation.interface import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

MAGIC = b"FLOV"
VERSION = 1
INTERCHANGE = b"interchange"
"""What a payload is that OpenVINO compiles when it is loaded."""
ALIGNMENT = 64
"""Of the constants, in bytes."""

_HEADER = struct.Struct("<4sI16sIIIIQQQ")


@dataclass(frozen=True)
class Payload:
    """A model: its text, the bytes that its constants are in, and how many arguments a call has."""

    text: memoryview
    constants: memoryview
    inputs: int
    outputs: int


def refused(what: str) -> BackendError:
    """The error for a payload that is damaged, or not supported here."""
    return BackendError(f"OpenVINO payload: {what}")


def write_payload(text: bytes, constants: Sequence[Buffer], size: int, inputs: int, outputs: int) -> bytes:
    """The bytes of a model whose constants are in pieces of `size` bytes in all."""
    start = aligned(_HEADER.size + len(text))
    header = _HEADER.pack(MAGIC, VERSION, INTERCHANGE, inputs, outputs, zlib.crc32(text), 0, len(text), start, size)
    return b"".join((header, text, bytes(start - len(header) - len(text)), *constants))


def read_payload(data: memoryview) -> Payload:
    """The model in a payload. Raises BackendError for bytes that are none."""
    if len(data) < _HEADER.size:
        raise refused(f"it has {len(data)} bytes; its header alone takes {_HEADER.size}")
    magic, version, kind, inputs, outputs, checksum, zero, length, start, size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise refused(f"it starts with {magic!r}, not with {MAGIC!r}")
    if version != VERSION or zero != 0:
        raise refused(f"it is of version {version}; this backend reads {VERSION}")
    if kind.rstrip(b"\0") != INTERCHANGE:
        raise refused(f"it is {kind!r}; this backend reads {INTERCHANGE!r}")
    if start < _HEADER.size + length or start % ALIGNMENT or start + size != len(data):
        raise refused(f"its {length} bytes of text and {size} bytes of constants from byte {start} on are not its {len(data)} bytes")
    text = data[_HEADER.size : _HEADER.size + length]
    if zlib.crc32(text) != checksum:
        raise refused("its text is damaged: it has another checksum than its header says")
    return Payload(text, data[start:], inputs, outputs)


def aligned(size: int) -> int:
    """The first place behind `size` bytes where constants may begin."""
    return -(-size // ALIGNMENT) * ALIGNMENT
