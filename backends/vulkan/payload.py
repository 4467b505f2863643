"""Reads and writes payloads: a header, then a flatbuffer.

The header is little-endian: the magic "FLVK", the version, the Adler-32 of the flatbuffer and its size (uint32 each). The flatbuffer says
twice what is computed: as operators of the dialect, for readers, and as dispatches of modules in SPIR-V, for the device. All tensors lie in
one block of memory: a value has the offset of its bytes. Constants are named data of the program, or lie in the payload.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import f16, f32, i8

from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Data, Decoder, Encoder, OneOf, Refs, Scalar, Scalars, Table, Text

MAGIC = b"FLVK"
VERSION = 3
ALIGNMENT = 256
"""Of the offsets of values: every device can bind such offsets."""

_HEADER = struct.Struct("<4sIII")


ELEMENTS = (f32, f16, i8)
"""The elements of tensors, by their numbers in payloads."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: the number of its elements' type, where its bytes lie in the block of memory, and the constant that it is, if it is one."""

    element: int = 0
    shape: tuple[int, ...] = ()
    offset: int = 0
    key: str | None = None
    data: memoryview | None = None


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor as an argument; -1 for an absent one."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class TensorsArgument:
    """A list of tensors as an argument."""

    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IntArgument:
    """An integer or a truth value as an argument."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class FloatArgument:
    """A number as an argument."""

    value: float = 0.0


@dataclass(frozen=True, slots=True)
class IntsArgument:
    """A list of integers as an argument."""

    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TextArgument:
    """A word as an argument."""

    value: str | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operator, of one of the kinds above."""

    kind: Any = None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the dialect: its name there, its arguments in the order of its schema, and its result."""

    name: str | None = None
    arguments: tuple[Argument, ...] = ()
    result: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A module in SPIR-V, and the name of its file."""

    name: str | None = None
    words: memoryview | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A module, specialised by constants."""

    module: int = 0
    constants: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A dispatch of a pipeline, for an operator: the values of its bindings, what is pushed, its workgroups, and if it waits for others."""

    operator: int = 0
    pipeline: int = 0
    values: tuple[int, ...] = ()
    pushed: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """The root table. `memory` is the size of the block in which all values lie."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    memory: int = 0
    values: tuple[Value, ...] = ()
    operators: tuple[Operator, ...] = ()
    modules: tuple[Module, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    calls: tuple[Call, ...] = ()


_UINT = Scalar("I")
_UINTS = Scalars("I")
_ARGUMENT_KINDS = (
    Table(TensorArgument, {"value": Scalar("i")}),
    Table(TensorsArgument, {"values": _UINTS}),
    Table(IntArgument, {"value": Scalar("q")}),
    Table(FloatArgument, {"value": Scalar("d", float)}),
    Table(IntsArgument, {"values": Scalars("q")}),
    Table(TextArgument, {"value": Text()}),
)
_ARGUMENT = Table(Argument, {"kind": OneOf(_ARGUMENT_KINDS)})
_VALUE = Table(Value, {"element": Scalar("B"), "shape": Scalars("Q"), "offset": Scalar("Q"), "key": Text(), "data": Data(16)})
_OPERATOR = Table(Operator, {"name": Text(), "arguments": Refs(_ARGUMENT), "result": _UINT})
_MODULE = Table(Module, {"name": Text(), "words": Data(4)})
_PIPELINE = Table(Pipeline, {"module": _UINT, "constants": _UINTS})
_CALL = Table(
    Call, {"operator": _UINT, "pipeline": _UINT, "values": _UINTS, "pushed": _UINTS, "groups": _UINTS, "waits": Scalar("?", bool)}
)
_PROGRAM = Table(
    Program,
    {
        "inputs": _UINTS,
        "outputs": _UINTS,
        "memory": Scalar("Q"),
        "values": Refs(_VALUE),
        "operators": Refs(_OPERATOR),
        "modules": Refs(_MODULE),
        "pipelines": Refs(_PIPELINE),
        "calls": Refs(_CALL),
    },
)


def refused(what: str) -> BackendError:
    """Returns the error for a damaged or unsupported payload; `what` is the reason."""
    return BackendError(f"Vulkan payload: {what}")


def write_payload(program: Program) -> bytes:
    """Returns the bytes of a payload. Raises BackendError for a number that the format cannot hold."""
    flatbuffer = Encoder(_PROGRAM, MAGIC, BackendError).encode(program)
    return _HEADER.pack(MAGIC, VERSION, zlib.adler32(flatbuffer), len(flatbuffer)) + flatbuffer


def read_payload(data: memoryview) -> Program:
    """Returns the program of a payload. Raises BackendError for bytes that are no payload."""
    if len(data) < _HEADER.size or bytes(data[:4]) != MAGIC:
        raise refused(f"it does not start with {MAGIC!r} and {_HEADER.size - 4} bytes more")
    _, version, checksum, size = _HEADER.unpack_from(data)
    if version != VERSION:
        raise refused(f"it is of version {version}; this backend reads {VERSION}")
    flatbuffer = data[_HEADER.size :]
    if size != len(flatbuffer) or zlib.adler32(flatbuffer) != checksum:
        raise refused(f"it has {len(flatbuffer)} bytes behind its header, and not the {size} bytes with the checksum that the header says")
    return cast(Program, Decoder(flatbuffer, "the Vulkan payload", BackendError).root(_PROGRAM))
