"""Writes records as the bytes of a `.pte`: the same records give the same bytes, and equal data is written once."""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast

from flatbuffers.builder import Builder

from flambeau.runtime.pte import flatbuffer_tables as schema
from flambeau.runtime.pte.check import check_program
from flambeau.runtime.pte.reader import HEADER_MAGIC, IDENTIFIER
from flambeau.runtime.pte.records import ExecutionPlan, Program, PteError

HEADER_LENGTH = 32
SEGMENT_ALIGNMENT = 128
"""The alignment of segments in bytes, which is ExecuTorch's."""


def write_program(program: Program, *, constant_alignment: int = 16) -> list[bytes | memoryview]:
    """The parts of a `.pte`, whose concatenation is the file. Weights are passed on as the views they are.

    Args:
        program: must satisfy `check_program`.
        constant_alignment: a power of two up to `SEGMENT_ALIGNMENT`: each constant starts at a multiple of it, in bytes. 16 suits every
            runtime; 64 suits kernels that read whole cache lines.

    Raises:
        PteError: the records do not make sense, or are too large for the format.
    """
    if constant_alignment not in (1, 2, 4, 8, 16, 32, 64, SEGMENT_ALIGNMENT):
        raise PteError(f"constants cannot be aligned to {constant_alignment} bytes: a power of two up to {SEGMENT_ALIGNMENT} can be")
    check_program(program)
    segments = _Segments()
    record = _to_record(program, segments, constant_alignment)
    flatbuffer = Encoder().encode(record)
    if not segments.contents:
        return [flatbuffer]
    size = len(flatbuffer) + HEADER_LENGTH
    base = size + _padding(size, SEGMENT_ALIGNMENT)
    (root,) = struct.unpack_from("<I", flatbuffer)
    header = struct.pack("<4sIQQQ", HEADER_MAGIC, HEADER_LENGTH, size, base, segments.size)
    start = struct.pack("<I", root + HEADER_LENGTH) + IDENTIFIER + header
    return [start, flatbuffer[8:], bytes(base - size), *segments.parts]


def _padding(position: int, alignment: int) -> int:
    return -position % alignment


@dataclass
class _Segments:
    """The bytes after the flatbuffer. Equal contents are one segment."""

    parts: list[bytes | memoryview] = field(default_factory=list[bytes | memoryview])
    table: list[schema.DataSegment] = field(default_factory=list[schema.DataSegment])
    contents: dict[bytes, int] = field(default_factory=dict[bytes, int])
    size: int = 0

    def add(self, parts: Sequence[bytes | memoryview]) -> int:
        """The index of a segment of these bytes."""
        digest = hashlib.blake2b(digest_size=32)
        for part in parts:
            digest.update(part)
        return self._append(parts, digest.digest())

    def add_unshared(self, parts: Sequence[bytes | memoryview]) -> int:
        """The index of a new segment, which no other content is compared with: weights are not hashed."""
        return self._append(parts, b"%d" % len(self.table))

    def _append(self, parts: Sequence[bytes | memoryview], key: bytes) -> int:
        if (known := self.contents.get(key)) is not None:
            return known
        if pad := _padding(self.size, SEGMENT_ALIGNMENT):
            self.parts.append(bytes(pad))
        offset = self.size + pad
        length = sum(map(len, parts))
        self.parts += parts
        self.size = offset + length
        self.table.append(schema.DataSegment(offset, length))
        index = self.contents[key] = len(self.table) - 1
        return index


def _to_record(program: Program, segments: _Segments, constant_alignment: int) -> schema.ProgramRecord:
    """The tables of the file; fills `segments` in ExecuTorch's order: constants, initial values, delegates, named data."""
    constant_segment = _entries(program.constants, segments, constant_alignment)
    mutable = tuple(_entries(entries, segments, 1) for entries in program.mutable_data)
    plans = tuple(_to_plan(plan, segments) for plan in program.execution_plan)
    named = tuple(schema.NameRecord(item.key, segments.add([item.data])) for item in program.named_data)
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
        if pad := _padding(size, alignment):
            parts.append(bytes(pad))
        offsets.append(size + pad)
        parts.append(entry)
        size += pad + len(entry)
    return schema.SubsegmentOffsets(segments.add_unshared(parts), tuple(offsets))


def _to_plan(plan: ExecutionPlan, segments: _Segments) -> schema.PlanRecord:
    delegates = tuple(
        schema.DelegateRecord(item.id, schema.DelegateReference(1, segments.add([item.processed])), item.compile_specs)
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


class _Builder(Protocol):
    """The interface of `flatbuffers.Builder`, which has no types."""

    Bytes: bytearray
    head: int

    def Finish(self, rootTable: int, file_identifier: bytes) -> object: ...
    def Output(self) -> bytearray: ...
    def StartObject(self, numfields: int) -> object: ...
    def Prep(self, size: int, additionalBytes: int) -> object: ...
    def PrependUOffsetTRelative(self, off: int) -> object: ...
    def Slot(self, slotnum: int) -> object: ...
    def EndObject(self) -> int: ...
    def StartVector(self, elemSize: int, numElems: int, alignment: int) -> object: ...
    def EndVector(self) -> int: ...
    def CreateString(self, s: str) -> int: ...


class Encoder:
    """Encodes tables depth first. Equal tables and vectors become one, which the format permits and readers need not know."""

    def __init__(self) -> None:
        self.builder = cast(_Builder, Builder(1 << 16))
        self.memo: dict[object, int] = {}

    def encode(self, record: schema.ProgramRecord) -> bytes:
        """The finished flatbuffer."""
        self.builder.Finish(self._table(record, schema.PROGRAM), file_identifier=IDENTIFIER)
        return bytes(self.builder.Output())

    def _table(self, record: object, table: schema.Table) -> int:
        fields: list[tuple[int, str, bytes | int]] = []
        for slot, (name, kind) in enumerate(table.fields.items()):
            value = getattr(record, name)
            if isinstance(kind, schema.Scalar):
                packed = _pack(kind.code, [value], name)
                if not self._is_default(kind, packed, name):
                    fields.append((slot, kind.code, packed))
            elif value is not None:
                fields.append((slot, "ref", self._reference(value, kind, name)))
        return self._object(table, len(table.fields), fields)

    def _is_default(self, kind: schema.Scalar, packed: bytes, name: str) -> bool:
        """Whether a field may be left out."""
        return packed == _pack(kind.code, [kind.default], name)

    def _object(self, table: object, slots: int, fields: Sequence[tuple[int, str, bytes | int]]) -> int:
        key = (table, *fields)
        if (known := self.memo.get(key)) is None:
            builder = self.builder
            builder.StartObject(slots)
            # Wide fields first leave no gaps between them.
            for slot, _, value in sorted(fields, key=lambda item: -_width(item[1])):
                if isinstance(value, int):
                    builder.PrependUOffsetTRelative(value)
                else:
                    builder.Prep(len(value), 0)
                    _place(builder, value)
                builder.Slot(slot)
            known = self.memo[key] = builder.EndObject()
        return known

    def _union(self, value: object, union: schema.Union) -> int:
        for number, member in enumerate(union.members, 1):
            if isinstance(value, member.record):
                return self._object(union, 2, [(0, "B", bytes([number])), (1, "ref", self._table(value, member))])
        raise PteError(f"a {type(value).__name__} is not a kind of {union.name}")

    def _reference(self, value: object, kind: schema.Kind, name: str) -> int:
        match kind:
            case schema.Ref():
                return self._table(value, kind.table)
            case schema.Text():
                return self._text(cast(str, value))
            case schema.Scalars():
                items = cast(Sequence[int], value)
                return self._vector(_pack(kind.code, items, name), len(items), struct.calcsize(kind.code))
            case schema.Data():
                data = bytes(cast(memoryview, value))
                return self._vector(data, len(data), 1)
            case schema.Refs():
                encode = (
                    partial(self._union, union=kind.table)
                    if isinstance(kind.table, schema.Union)
                    else partial(self._table, table=kind.table)
                )
                return self._references([encode(item) for item in cast(Iterable[object], value)])
            case schema.Scalar():
                raise AssertionError("a scalar is not a reference")

    def _text(self, text: str) -> int:
        if (known := self.memo.get(text)) is None:
            if "\0" in text:
                raise PteError(f"the text {text!r} has a zero byte in it, which the format cannot hold")
            try:
                known = self.memo[text] = self.builder.CreateString(text)
            except UnicodeEncodeError:
                raise PteError(f"the text {text!r} is not Unicode") from None
        return known

    def _vector(self, packed: bytes, length: int, width: int) -> int:
        key = (packed, length)
        if (known := self.memo.get(key)) is None:
            self.builder.StartVector(width, length, width)
            _place(self.builder, packed)
            known = self.memo[key] = self.builder.EndVector()
        return known

    def _references(self, offsets: Sequence[int]) -> int:
        key = ("refs", *offsets)
        if (known := self.memo.get(key)) is None:
            self.builder.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                self.builder.PrependUOffsetTRelative(offset)
            known = self.memo[key] = self.builder.EndVector()
        return known


def _width(code: str) -> int:
    return 4 if code == "ref" else struct.calcsize(code)


def _pack(code: str, items: Sequence[float], name: str) -> bytes:
    try:
        return struct.pack(f"<{len(items)}{code}", *items)
    except struct.error:
        raise PteError(f"{name} = {items[0] if len(items) == 1 else list(items)} is out of the range that the format has for it") from None


def _place(builder: _Builder, packed: bytes) -> None:
    """Writes bytes for which the builder has made room."""
    builder.head -= len(packed)
    builder.Bytes[builder.head : builder.head + len(packed)] = packed
