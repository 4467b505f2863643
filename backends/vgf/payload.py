"""Reads the inputs and outputs of a VGF file, which is the payload. Source: `schema/vgf.fbs` of ai_ml_sdk_vgf_library.

The file has a header of 128 bytes: the magic "VGF1", 4 bytes of Vulkan's version, the version of the format (3 bytes, of which the first is
0), 5 zeros, and for each of its sections the offset and the size (uint64 each): modules in SPIR-V, the sequence of their calls, the
resources, the constants. The first three are FlatBuffers. A resource is an input, an output or a constant; ExecuTorch's runtime takes the
inputs and outputs in the order of the resources as the arguments of the delegate.

Drivers need not check a graph, and the file has no checksum. Therefore a label follows the last section, at a multiple of 8 bytes: the
magic "FLVG" and the Adler-32 of all bytes before it (uint32, little-endian). What reads VGF files by their sections does not see it, and a
file without it, of another compiler, is read too. `runtime/file.c` reads payloads too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import f16, f32, i1, i8, i16, i32, i64

from flambeau.dialects.ir.tensor_types import ElementType, Tensor, tensor
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Decoder, Ref, Refs, Scalar, Scalars, Table

MAGIC = b"VGF1"
FORMATS: Mapping[int, ElementType] = {14: i8, 75: i16, 76: f16, 99: i32, 100: f32, 111: i64, 1000460000: i1}
"""The element types of Vulkan's formats, by their numbers."""
FORMAT_NAMES: Mapping[ElementType, str] = {
    i1: "R8_BOOL_ARM",
    i8: "R8_SINT",
    i16: "R16_SINT",
    i32: "R32_SINT",
    i64: "R64_SINT",
    f16: "R16_SFLOAT",
    f32: "R32_SFLOAT",
}
INPUT, OUTPUT = 0, 1

LABEL = b"FLVG"

_HEADER = struct.Struct("<4s4x3B5x8Q48x")


@dataclass(frozen=True)
class _Slot:
    binding: int
    mrt_index: int


@dataclass(frozen=True)
class _Description:
    shape: Sequence[int]


@dataclass(frozen=True)
class _Resource:
    vk_descriptor_type: int
    vk_format: int
    category: int
    description: _Description | None


@dataclass(frozen=True)
class _Resources:
    mrt_entry: Sequence[_Resource]


@dataclass(frozen=True)
class _Sequence:
    segments: Sequence[object]
    inputs: Sequence[_Slot]
    outputs: Sequence[_Slot]


_SLOTS = Refs(Table(_Slot, {"binding": Scalar("I"), "mrt_index": Scalar("I")}))
_DESCRIPTION = Table(_Description, {"shape": Scalars("q")})
_NUMBERS = {"vk_descriptor_type": Scalar("I"), "vk_format": Scalar("I"), "category": Scalar("B")}
_RESOURCE = Table(_Resource, {**_NUMBERS, "description": Ref(_DESCRIPTION)})
_RESOURCES = Table(_Resources, {"mrt_entry": Refs(_RESOURCE)})


@dataclass(frozen=True)
class _Segment:
    type: int


_SEGMENT = Table(_Segment, {"type": Scalar("B")})
_SEQUENCE = Table(_Sequence, {"segments": Refs(_SEGMENT), "inputs": _SLOTS, "outputs": _SLOTS})


@dataclass(frozen=True)
class Argument:
    """An input or an output: its type, and the binding by which the graph knows it."""

    kind: Tensor
    binding: int


@dataclass(frozen=True)
class Arguments:
    """The inputs and the outputs of a file, in the order of a delegate's arguments."""

    inputs: Sequence[Argument]
    outputs: Sequence[Argument]


def labelled(file: bytes) -> bytes:
    """Returns the payload of a VGF file."""
    whole = file + bytes(-len(file) % 8)
    return whole + LABEL + zlib.adler32(whole).to_bytes(4, "little")


def arguments_of(data: memoryview) -> Arguments:
    """Returns the inputs and outputs of a VGF file. Raises BackendError for damaged and unsupported files."""
    if len(data) < _HEADER.size or bytes(data[:4]) != MAGIC:
        raise _refused("it does not begin as a VGF file")
    _, major, minor, patch, *places = _HEADER.unpack_from(data)
    if major:
        raise _refused(f"it is of version {major}.{minor}.{patch}, and those of 0 are read")
    _check_label(data, max(offset + size for offset, size in zip(places[::2], places[1::2], strict=True)))
    sequence = cast("_Sequence", _decoder(data, *places[2:4]).root(_SEQUENCE))
    resources = cast("_Resources", _decoder(data, *places[4:6]).root(_RESOURCES)).mrt_entry
    return Arguments(_side(resources, sequence.inputs, INPUT), _side(resources, sequence.outputs, OUTPUT))


def _refused(what: str) -> BackendError:
    return BackendError(f"a payload of 'VgfBackend' is damaged or unsupported: {what}")


def _check_label(data: memoryview, end: int) -> None:
    """Raises BackendError unless the data ends with its label, or, without one, with its last section."""
    if bytes(data[-8:-4]) == LABEL:
        if zlib.adler32(data[:-8]) != int.from_bytes(data[-4:], "little"):
            raise _refused("it has another checksum than its label says")
    elif len(data) > -(-end // 8) * 8:
        raise _refused("what is behind its last section is not its label")


def _decoder(data: memoryview, offset: int, size: int) -> Decoder:
    if offset + size > len(data):
        raise _refused(f"a section ends at byte {offset + size} of {len(data)}")
    return Decoder(data[offset : offset + size], "a payload of 'VgfBackend'", BackendError)


def _side(resources: Sequence[_Resource], slots: Sequence[_Slot], category: int) -> Sequence[Argument]:
    """Returns the inputs, or the outputs, which are the resources of a category. Raises BackendError unless each has one place."""
    bindings = {slot.mrt_index: slot.binding for slot in slots}
    places = [index for index, item in enumerate(resources) if item.category == category]
    if [slot.mrt_index for slot in slots] != places:
        raise _refused("its inputs or outputs are not in the order of its resources")
    return [Argument(_type(resources[place]), bindings[place]) for place in places]


def _type(resource: _Resource) -> Tensor:
    if resource.vk_format not in FORMATS or resource.description is None or min(resource.description.shape, default=1) < 1:
        raise _refused(f"it has a tensor of the format {resource.vk_format}, or of sizes that are unknown")
    return tensor(FORMATS[resource.vk_format], resource.description.shape)
