"""Reads and writes payloads: a model, and a label that describes it.

An *interchange* payload has the label, the model as text, and the small constants, which start at a multiple of 64 bytes. The model is
compiled when a program is loaded. The text has a line for each layer, which `representation.py` explains. A constant has the `offset` of
its bytes from where the constants start, or else a `key`: the program's named data with this name, a digest, have the bytes, for all
methods and delegates. OpenVINO reads one block of weights, with offsets: the runtime writes its text with offsets from the first of all
these bytes, and copies no weight. In version 1, the text is OpenVINO's intermediate representation, and no constant has a key. The label is
little-endian: the magic "FLOV", the version (uint32), `interchange` (16 bytes, filled with zeros), the number of inputs, the number of
outputs and the Adler-32 of the text (uint32 each), 4 zeros, and the size of the text, the position of the constants and their size (uint64
each; 0 without constants).

A *compiled* payload has OpenVINO's export of a model, and then the label, because ExecuTorch's runtime loads payloads that begin with an
export. OpenVINO reads the bytes after an export as the end of an obscured XML text, in which a byte that becomes `<` is an error.
Therefore this label is the magic "flov" and the version, the number of inputs, the number of outputs and the Adler-32 of the export, in
8 letters each from `a` (0) to `p` (15): no key of OpenVINO turns any of them into `<`.

`runtime/payload.c` reads payloads too.
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
VERSION = 2
OLDEST = 1
COMPILED_VERSION = 1
INTERCHANGE = b"interchange"
COMPILED_MAGIC = b"flov"
COMPILED_LABEL_BYTES = 36
ALIGNMENT = 64
"""Of the constants, in bytes."""

_LABEL = struct.Struct("<4sI16sIIIIQQQ")


@dataclass(frozen=True)
class Payload:
    """An interchange payload: the text of the model, the bytes of its small constants, and the numbers of inputs and outputs."""

    is_lines: bool
    text: memoryview
    constants: memoryview
    inputs: int
    outputs: int


def refused(what: str) -> BackendError:
    """Returns the error for a damaged or unsupported payload; `what` is the reason."""
    return BackendError(f"OpenVINO payload: {what}")


def write_payload(text: bytes, constants: Sequence[Buffer], size: int, inputs: int, outputs: int) -> bytes:
    """Returns the bytes of an interchange payload. The pieces `constants` have `size` bytes in all."""
    start = aligned(_LABEL.size + len(text))
    label = _LABEL.pack(MAGIC, VERSION, INTERCHANGE, inputs, outputs, zlib.adler32(text), 0, len(text), start, size)
    return b"".join((label, text, bytes(start - len(label) - len(text)), *constants))


def write_compiled(export: bytes, inputs: int, outputs: int) -> bytes:
    """Returns the bytes of a compiled payload with OpenVINO's export of a model."""
    digits = "".join(f"{number:08x}" for number in (COMPILED_VERSION, inputs, outputs, zlib.adler32(export)))
    return export + COMPILED_MAGIC + bytes(ord("a") + int(digit, 16) for digit in digits)


def read_payload(data: memoryview) -> Payload:
    """Returns the parts of an interchange payload. Raises BackendError for other bytes, and for compiled payloads."""
    if len(data) < _LABEL.size:
        raise refused(f"it has {len(data)} bytes; its label alone takes {_LABEL.size}")
    if bytes(data[:4]) != MAGIC:
        is_compiled = bytes(data[-COMPILED_LABEL_BYTES:][:4]) == COMPILED_MAGIC
        what = "compiled" if is_compiled else f"without the label {MAGIC!r}"
        raise refused(f"it is {what}: only OpenVINO reads it")
    _, version, kind, inputs, outputs, checksum, zero, length, start, size = _LABEL.unpack_from(data)
    if not OLDEST <= version <= VERSION or zero != 0:
        raise refused(f"it is of version {version}; this backend reads {OLDEST} to {VERSION}")
    if kind.rstrip(b"\0") != INTERCHANGE:
        raise refused(f"it is {kind!r}; this backend reads {INTERCHANGE!r}")
    if start < _LABEL.size + length or start % ALIGNMENT or start + size != len(data):
        raise refused(f"its {length} bytes of text and {size} bytes of constants from byte {start} on are not its {len(data)} bytes")
    text = data[_LABEL.size : _LABEL.size + length]
    if zlib.adler32(text) != checksum:
        raise refused("its text is damaged: it has another checksum than its label says")
    return Payload(version > 1, text, data[start:], inputs, outputs)


def aligned(size: int) -> int:
    """Returns the first position at or after `size` bytes where a constant may begin."""
    return -(-size // ALIGNMENT) * ALIGNMENT
