"""Reads and writes the `.ptd` format, which holds tensors and other bytes by name. Reading copies no weights.

The reader never reads outside of the given bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flambeau.runtime.flatbuffer import Decoder, Encoder, FlatbufferError, Ref, Refs, Scalar, Scalars, Table, Text
from flambeau.runtime.pte.flatbuffer_tables import DATA_SEGMENT, DataSegment
from flambeau.runtime.pte.records import EMPTY, ScalarType, dense_bytes
from flambeau.runtime.pte.writer import SEGMENT_ALIGNMENT

if TYPE_CHECKING:
    from typing_extensions import Buffer

IDENTIFIER = b"FT01"
HEADER_MAGIC = b"FH01"
HEADER_LENGTH = 40
HEADER_ROOM = 48
"""Bytes between the first two fields and the rest of the flatbuffer, which stays aligned to 16."""


class FlatTensorError(FlatbufferError):
    """Reports bytes that are not a `.ptd`, or data that do not fit a program, in one line for people."""


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """The element type, the sizes and the layout of a tensor; `dim_order` has the dimensions from the outermost to the innermost."""

    scalar_type: ScalarType
    sizes: tuple[int, ...] = ()
    dim_order: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return dense_bytes(self.scalar_type, self.sizes)

    def __str__(self) -> str:
        order = "" if self.dim_order == tuple(range(len(self.sizes))) else f" in dim order {list(self.dim_order)}"
        return f"{self.scalar_type.name.lower()} {list(self.sizes)}{order}"


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """Bytes with a name. With a layout they are a tensor, without a layout the data of a delegate."""

    key: str
    data: memoryview
    tensor_layout: TensorLayout | None = None


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A name for a segment."""

    key: str
    segment_index: int = 0
    tensor_layout: TensorLayout | None = None


@dataclass(frozen=True, slots=True)
class FlatTensor:
    """The root table of the file."""

    version: int = 0
    segments: tuple[DataSegment, ...] = ()
    named_data: tuple[NamedRecord, ...] = ()


LAYOUT = Table(TensorLayout, {"scalar_type": Scalar("b", ScalarType), "sizes": Scalars("i"), "dim_order": Scalars("B")})
NAMED = Table(NamedRecord, {"key": Text(required=True), "segment_index": Scalar("I"), "tensor_layout": Ref(LAYOUT)})
FLAT_TENSOR = Table(FlatTensor, {"version": Scalar("I"), "segments": Refs(DATA_SEGMENT), "named_data": Refs(NAMED)})


def write_flat_tensor(tensors: Iterable[NamedTensor]) -> bytes:
    """Returns the bytes of a `.ptd`. The same data in any order give the same bytes, and equal data are stored once.

    Raises:
        FlatTensorError: two tensors have one name, or the format cannot hold a value.
    """
    parts: list[bytes | memoryview] = []
    segments: list[DataSegment] = []
    indices: dict[bytes, int] = {}
    named: list[NamedRecord] = []
    for item in sorted(tensors, key=lambda item: item.key):
        if named and named[-1].key == item.key:
            raise FlatTensorError(f"there are two data called {item.key!r}")
        content = bytes(item.data)
        if content not in indices:
            end = segments[-1].offset + segments[-1].size if segments else 0
            padding = -end % SEGMENT_ALIGNMENT
            indices[content] = len(segments)
            segments.append(DataSegment(end + padding, len(content)))
            parts += [bytes(padding), content]
        named.append(NamedRecord(item.key, indices[content], item.tensor_layout))
    record = FlatTensor(segments=tuple(segments), named_data=tuple(named))
    encoded = Encoder(FLAT_TENSOR, IDENTIFIER, FlatTensorError).encode(record)
    base = len(encoded) + HEADER_ROOM
    base += -base % SEGMENT_ALIGNMENT
    header = struct.pack("<4sIQQQQ", HEADER_MAGIC, HEADER_LENGTH, HEADER_ROOM, len(encoded), base, sum(map(len, parts)))
    (root,) = struct.unpack_from("<I", encoded)
    start = struct.pack("<I", root + HEADER_ROOM) + IDENTIFIER + header.ljust(HEADER_ROOM, b"\0")
    return b"".join([start, encoded[8:], bytes(base - len(encoded) - HEADER_ROOM), *parts])


def read_flat_tensor(data: Buffer) -> dict[str, NamedTensor]:
    """Returns the tensors and other bytes of a `.ptd`, by name, as views of `data`.

    Raises:
        FlatTensorError: the bytes are not a `.ptd`, are damaged or cut off, or have another version.
    """
    file = memoryview(data).toreadonly()
    file = file.cast("B") if file.nbytes else EMPTY
    if len(file) < 8 + HEADER_LENGTH or bytes(file[4:8]) != IDENTIFIER or bytes(file[8:12]) != HEADER_MAGIC:
        raise FlatTensorError(f"not a .ptd file: its {len(file)} bytes do not begin with {IDENTIFIER!r} and {HEADER_MAGIC!r}")
    length, offset, size, base, data_size = struct.unpack_from("<IQQQQ", file, 12)
    # In Python, these sums cannot overflow.
    if length < HEADER_LENGTH or offset + size > base or base + data_size > len(file):
        raise FlatTensorError(f"the .ptd file is cut off or damaged: it has {len(file)} bytes, its header speaks of {base} + {data_size}")
    record = cast(FlatTensor, Decoder(file[: offset + size], "the .ptd file", FlatTensorError).root(FLAT_TENSOR))
    if record.version != 0:
        raise FlatTensorError(f"the .ptd file has format version {record.version}; version 0 is the only one known")
    found: dict[str, NamedTensor] = {}
    for item in record.named_data:
        if item.key in found:
            raise FlatTensorError(f"the .ptd file is damaged: it has two data called {item.key!r}")
        if item.segment_index >= len(record.segments):
            raise FlatTensorError(f"the .ptd file is damaged: {item.key!r} is in segment {item.segment_index} of {len(record.segments)}")
        segment = record.segments[item.segment_index]
        if segment.offset + segment.size > data_size:
            raise FlatTensorError(
                f"the .ptd file is cut off or damaged: {item.key!r} ends at byte {segment.offset + segment.size} of {data_size}"
            )
        content = file[base + segment.offset : base + segment.offset + segment.size]
        if item.tensor_layout is not None:
            content = content[: _checked(item.tensor_layout, len(content), item.key)]
        found[item.key] = NamedTensor(item.key, content, item.tensor_layout)
    return found


def _checked(layout: TensorLayout, size: int, key: str) -> int:
    """Returns the number of bytes of a tensor. Raises FlatTensorError for an invalid layout or a tensor of more than `size` bytes."""
    if any(extent < 0 for extent in layout.sizes) or sorted(layout.dim_order) != list(range(len(layout.sizes))):
        raise FlatTensorError(
            f"the .ptd file is damaged: {key!r} has sizes {list(layout.sizes)} and the dim order {list(layout.dim_order)}"
        )
    if layout.nbytes > size:
        raise FlatTensorError(f"the .ptd file is damaged: {key!r}, {layout}, takes {layout.nbytes} bytes, and has {size}")
    return layout.nbytes
