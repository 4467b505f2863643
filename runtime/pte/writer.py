"""Writes records as the bytes of a `.pte`. The same records always give the same bytes, and equal data are written once."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flambeau.runtime import flatbuffer
from flambeau.runtime.pte import flatbuffer_tables as schema
from flambeau.runtime.pte.check import check_program
from flambeau.runtime.pte.reader import HEADER_MAGIC, IDENTIFIER
from flambeau.runtime.pte.records import ExecutionPlan, Program, PteError

HEADER_LENGTH = 32
SEGMENT_ALIGNMENT = 128
"""The alignment of segments in bytes, which is ExecuTorch's."""

_LINE = 64
"""Bytes of a line of a cache. A vector that lies in two lines takes about twice as long to load."""

_LARGE = 1024
"""Bytes of a constant that is worth a line of its own: of which the bytes before it are a few percent."""


def write_program(program: Program, *, constant_alignment: int = 16) -> list[bytes | memoryview]:
    """Returns the parts of a `.pte`, whose concatenation is the file. Weights are not copied: their parts are the program's views.

    Args:
        program: must satisfy `check_program`.
        constant_alignment: a power of two up to `SEGMENT_ALIGNMENT`; each constant starts at a multiple of that many bytes, and a large one
            at a cache line at least. 16 suits every runtime.

    Raises:
        PteError: the records contradict each other, or are too large for the format.
    """
    if constant_alignment not in (1, 2, 4, 8, 16, 32, 64, SEGMENT_ALIGNMENT):
        raise PteError(f"constants cannot be aligned to {constant_alignment} bytes: a power of two up to {SEGMENT_ALIGNMENT} can be")
    check_program(program)
    segments = _Segments()
    record = _to_record(program, segments, constant_alignment)
    encoded = Encoder().encode(record)
    if not segments.table:
        return [encoded]
    size = len(encoded) + HEADER_LENGTH
    base = size + _padding(size, SEGMENT_ALIGNMENT)
    (root,) = struct.unpack_from("<I", encoded)
    header = struct.pack("<4sIQQQ", HEADER_MAGIC, HEADER_LENGTH, size, base, segments.size)
    start = struct.pack("<I", root + HEADER_LENGTH) + IDENTIFIER + header
    return [start, encoded[8:], bytes(base - size), *segments.parts]


def _padding(position: int, alignment: int) -> int:
    return -position % alignment


class _Content:
    """Bytes as a dictionary key, which hashes their size, their start and their end. Compares whole contents only if these are equal."""

    def __init__(self, data: memoryview):
        self.data = data

    def __hash__(self) -> int:
        return hash((len(self.data), bytes(self.data[:64]), bytes(self.data[-64:])))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.digest == other.digest

    @cached_property
    def digest(self) -> bytes:
        return hashlib.blake2b(self.data, digest_size=32).digest()


@dataclass
class _Segments:
    """The segments after the flatbuffer, in which equal contents share a segment."""

    parts: list[bytes | memoryview] = field(default_factory=list[bytes | memoryview])
    table: list[schema.DataSegment] = field(default_factory=list[schema.DataSegment])
    contents: dict[_Content, int] = field(default_factory=dict[_Content, int])
    size: int = 0

    def add(self, data: bytes | memoryview) -> int:
        """Returns the index of a segment with these bytes, which is new unless a segment has them."""
        content = _Content(memoryview(data))
        if content not in self.contents:
            self.contents[content] = self.add_unshared([data])
        return self.contents[content]

    def add_unshared(self, parts: Sequence[bytes | memoryview]) -> int:
        """Returns the index of a new segment with these parts. It shares no other segment's bytes, so that weights need no hash."""
        if pad := _padding(self.size, SEGMENT_ALIGNMENT):
            self.parts.append(bytes(pad))
        offset = self.size + pad
        length = sum(map(len, parts))
        self.parts += parts
        self.size = offset + length
        self.table.append(schema.DataSegment(offset, length))
        return len(self.table) - 1


def _to_record(program: Program, segments: _Segments, constant_alignment: int) -> schema.ProgramRecord:
    """Returns the root table. Adds the data to `segments` in ExecuTorch's order: constants, initial values, delegates, named data."""
    constant_segment = _entries(program.constants, segments, constant_alignment)
    mutable = tuple(_entries(entries, segments, 1) for entries in program.mutable_data)
    plans = tuple(_to_plan(plan, segments) for plan in program.execution_plan)
    named = tuple(schema.NameRecord(item.key, segments.add(item.data)) for item in program.named_data)
    return schema.ProgramRecord(
        version=program.version,
        execution_plan=plans,
        segments=tuple(segments.table) or None,
        constant_segment=constant_segment,
        mutable_data_segments=mutable or None,
        named_data=named or None,
    )


def _entries(entries: Sequence[memoryview], segments: _Segments, alignment: int) -> schema.SubsegmentOffsets:
    if len(entries) <= 1:
        return schema.SubsegmentOffsets(0, (0,))
    parts: list[bytes | memoryview] = []
    offsets = [0]
    size = 0
    for entry in entries[1:]:
        if pad := _padding(size, max(alignment, _LINE) if len(entry) >= _LARGE else alignment):
            parts.append(bytes(pad))
        offsets.append(size + pad)
        parts.append(entry)
        size += pad + len(entry)
    return schema.SubsegmentOffsets(segments.add_unshared(parts), tuple(offsets))


def _to_plan(plan: ExecutionPlan, segments: _Segments) -> schema.PlanRecord:
    delegates = tuple(
        schema.DelegateRecord(item.id, schema.DelegateReference(1, segments.add(item.processed)), item.compile_specs)
        for item in plan.delegates
    )
    return schema.PlanRecord(
        name=plan.name,
        container_meta_type=plan.container_meta_type,
        values=plan.values,
        inputs=plan.inputs,
        outputs=plan.outputs,
        chains=plan.chains,
        operators=plan.operators,
        delegates=delegates,
        non_const_buffer_sizes=plan.non_const_buffer_sizes,
        non_const_buffer_device=plan.non_const_buffer_device,
    )


class Encoder(flatbuffer.Encoder):
    """Encodes the root table of a program."""

    def __init__(self) -> None:
        super().__init__(schema.PROGRAM, IDENTIFIER, PteError)
