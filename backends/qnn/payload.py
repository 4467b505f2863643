"""The frame of a payload, as ExecuTorch's Qualcomm backend has it: 256 bytes, and a context binary behind them.

Little-endian: the magic number 0x5678ABCD (uint32), a signature by which the runtime tells context binaries apart (int64), the size of what
follows (uint64), and bytes that runtimes skip. In an *interchange* payload, these begin with the word `interchange`, and an ONNX model
stands in the place of the context binary, which Qualcomm's libraries refuse. The signature is from the digest of what follows.
Source: `QnnCustomProtocol.h` in `backends/qualcomm` of ExecuTorch.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from hashlib import sha256

from xdsl.dialects.builtin import ModuleOp

from flambeau.backends.onnxruntime.decode import decoded
from flambeau.backends.onnxruntime.encode import encode_model
from flambeau.backends.qnn import CHIPS, COMPILER, QnnOptions
from flambeau.backends.qnn.specification import KEY, specification
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError, CompiledError, Encoded, RefusedError, State
from flambeau.passes.rewriting.constants import ModuleConstants

MAGIC = 0x5678ABCD
HEADER_BYTES = 256
INTERCHANGE = b"interchange"
MODEL, COMPILED = "model.onnx", "context.bin"
"""The files that the user's program reads and writes."""
_HEAD = struct.Struct("<IqQ")


def framed(content: bytes, kind: bytes = b"") -> bytes:
    """Returns the payload of a context binary, or of what a kind of payload has in its place."""
    (signature,) = struct.unpack("<q", sha256(content).digest()[:8])
    return (_HEAD.pack(MAGIC, signature, len(content)) + kind).ljust(HEADER_BYTES, b"\0") + content


def model_of(data: memoryview) -> memoryview:
    """Returns the model in a payload. Raises BackendError for a damaged payload, and CompiledError."""
    content = data[HEADER_BYTES:]
    magic, signature, size = _HEAD.unpack_from(data) if len(data) >= HEADER_BYTES else (0, 0, 0)
    if magic != MAGIC or size != len(content) or bytes(data[: len(data) - size]) != framed(bytes(content), _kind(data))[:HEADER_BYTES]:
        raise BackendError(f"a payload of 'QnnBackend' is damaged: its header is not that of its {len(data)} bytes")
    if _kind(data) != INTERCHANGE:
        raise CompiledError(f"a payload of 'QnnBackend' is compiled (signature {signature}), and only a device reads it")
    return content


def _kind(data: memoryview) -> bytes:
    return bytes(data[_HEAD.size : HEADER_BYTES]).rstrip(b"\0")


def encode(partition: PartitionOp, constants: ModuleConstants, options: QnnOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError where it is to be compiled, and nothing compiles it."""
    model = encode_model(partition, constants, has_int4=True)
    if not options.compiled:
        return Encoded(framed(model, INTERCHANGE), specs={KEY: specification(options)})
    if (missing := COMPILER.missing()) is not None:
        raise BackendError(f"qnn: to compile now it needs {missing}")
    arguments = "--input", MODEL, "--output", COMPILED, "--soc", options.soc, "--htp-arch", f"{CHIPS[options.soc].architecture}"
    try:
        result = COMPILER.run(arguments, {MODEL: model}, [COMPILED])
    except BackendError as error:
        raise RefusedError({partition: str(error)}) from error
    return Encoded(framed(result.file), state=State.COMPILED, made_by=COMPILER.find().label, specs={KEY: specification(options)})


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of an interchange payload. Raises BackendError, and CompiledError."""
    return decoded(model_of(data), blobs, "QnnBackend")
