"""The file that Ethos-U's part of ExecuTorch's runtime reads: named blocks of 16-byte multiples.

Source: `backends/arm/runtime/VelaBinStream.h` of ExecuTorch 1.5.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from flambeau.passes.delegation.interface import BackendError

_HEADER = struct.Struct("<16sIB11x")
_ARGUMENT = struct.Struct("<9i")
_COUNT = struct.Struct("<i")
_SIZE = struct.Struct("<I")
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_BLOCKS = ("cmd_data", "weight_data", "scratch_size", "inputs", "outputs")
DIMENSIONS = 6


@dataclass(frozen=True)
class Argument:
    """An input or an output.

    Attributes:
        shape: 6 sizes.
        element_bytes: the size of an element.
        offset: its place in the memory of the region, in bytes.
        region: the number of that memory.
    """

    shape: Sequence[int]
    element_bytes: int
    offset: int
    region: int

    @property
    def size(self) -> int:
        """The bytes of all elements."""
        return prod(self.shape) * self.element_bytes


@dataclass(frozen=True)
class CompiledGraph:
    """A graph as Vela compiled it.

    Attributes:
        commands: the actions of the driver, with the command stream.
        weights: the encoded weights and scales, which the stream reads.
        scratch: the bytes of the memory that inputs, outputs and what is between them share.
        inputs: the inputs, in the order of the graph.
        outputs: the outputs.
    """

    commands: bytes
    weights: bytes
    scratch: int
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]


def write(graph: CompiledGraph) -> bytes:
    """Returns the blocks of a compiled graph. Raises BackendError for a size that the format cannot hold."""
    try:
        contents = (graph.commands, graph.weights, _SIZE.pack(graph.scratch), _packed(graph.inputs), _packed(graph.outputs))
        return b"".join(_block(*item) for item in ((_FIRST, b""), *zip(_BLOCKS, contents, strict=True), (_LAST, b"")))
    except struct.error as error:
        raise BackendError(f"Vela's result does not fit a bin stream: {error}") from error


def read(data: memoryview) -> CompiledGraph:
    """Returns the compiled graph of blocks. Raises BackendError for damaged ones, and for those whose content is elsewhere."""
    blocks = _blocks(bytes(data))
    try:
        commands, weights, scratch, inputs, outputs = (blocks[name] for name in _BLOCKS)
        return CompiledGraph(commands, weights, _SIZE.unpack(scratch)[0], _unpacked(inputs), _unpacked(outputs))
    except KeyError as error:
        raise _damaged(f"it has no block {error}") from error
    except struct.error as error:
        raise _damaged(str(error)) from error


def _block(name: str, content: bytes) -> bytes:
    return _HEADER.pack(name.encode(), len(content), 0) + content + bytes(-len(content) % 16)


def _packed(arguments: Sequence[Argument]) -> bytes:
    items = (_ARGUMENT.pack(*item.shape, item.element_bytes, item.offset, item.region) for item in arguments)
    return _COUNT.pack(len(arguments)) + b"".join(items)


def _blocks(data: bytes) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    place = 0
    while _LAST not in found:
        if len(data) - place < _HEADER.size:
            raise _damaged(f"it ends at byte {len(data)} before {_LAST!r}")
        raw, size, is_elsewhere = _HEADER.unpack_from(data, place)
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        if not found and name != _FIRST:
            raise _damaged(f"it begins with {name!r}, not with {_FIRST!r}")
        if is_elsewhere:
            raise _damaged(f"block {name!r} is in named data, where it is not read")
        place += _HEADER.size
        if len(data) - place < size:
            raise _damaged(f"block {name!r} has {size} bytes, and {len(data) - place} are left")
        found[name] = data[place : place + size]
        place += size + -size % 16
    return found


def _unpacked(content: bytes) -> Sequence[Argument]:
    (count,) = _COUNT.unpack_from(content)
    if len(content) != _COUNT.size + count * _ARGUMENT.size:
        raise _damaged(f"{count} arguments do not take {len(content)} bytes")
    numbers = _ARGUMENT.iter_unpack(content[_COUNT.size :])
    return [Argument(item[:DIMENSIONS], *item[DIMENSIONS:]) for item in numbers]


def _damaged(what: str) -> BackendError:
    return BackendError(f"a payload of 'EthosUBackend' is damaged: {what}")
