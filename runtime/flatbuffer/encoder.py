"""Encodes records as a flatbuffer by tables. The same records always give the same bytes."""

import struct
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol, cast

from flatbuffers.builder import Builder

from flambeau.runtime.flatbuffer.kinds import (
    Data,
    FlatbufferError,
    Kind,
    OneOf,
    Ref,
    Refs,
    Scalar,
    Scalars,
    Table,
    Text,
    Texts,
    Union,
)


class _Builder(Protocol):
    """The interface of `flatbuffers.Builder`, which has no types."""

    Bytes: bytearray
    head: int

    def Finish(self, rootTable: int, file_identifier: bytes | None) -> object: ...
    def FinishSizePrefixed(self, rootTable: int, file_identifier: bytes | None) -> object: ...
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
    """Encodes tables depth first. Writes equal tables and vectors once, which the format permits, and which readers do not notice."""

    def __init__(self, root: Table, identifier: bytes, error: type[ValueError] = FlatbufferError, *, size_prefixed: bool = False):
        """Creates an encoder of the table `root` for the format `identifier`, which may be empty.

        `size_prefixed` writes the size before the flatbuffer. The encoder raises `error`.
        """
        self.root = root
        self.identifier = identifier
        self.error = error
        self.size_prefixed = size_prefixed
        self.builder = cast(_Builder, Builder(1 << 16))
        self.memo: dict[object, int] = {}

    def encode(self, record: object) -> bytes:
        """Returns the flatbuffer of a record. Raises `error` for values that the format cannot hold."""
        finish = self.builder.FinishSizePrefixed if self.size_prefixed else self.builder.Finish
        finish(self._table(record, self.root), file_identifier=self.identifier or None)
        return bytes(self.builder.Output())

    def _table(self, record: object, table: Table) -> int:
        fields: list[tuple[int, str, bytes | int]] = []
        slot = 0
        for name, kind in table.fields.items():
            value = getattr(record, name)
            if isinstance(kind, Scalar):
                packed = self._pack(kind.code, [value], name)
                if not self._is_default(kind, packed, name):
                    fields.append((slot, kind.code, packed))
            elif isinstance(kind, OneOf):
                fields += self._one_of(value, kind.members, name, slot) if value is not None else ()
                slot += 1
            elif value is not None:
                fields.append((slot, "ref", self._reference(value, kind, name)))
            slot += 1
        return self._object(table, table.slots, fields)

    def _is_default(self, kind: Scalar, packed: bytes, name: str) -> bool:
        """Returns whether a field has its default value, and may be left out."""
        return packed == self._pack(kind.code, [kind.default], name)

    def _object(self, table: object, slots: int, fields: Sequence[tuple[int, str, bytes | int]]) -> int:
        key = (table, *fields)
        if (known := self.memo.get(key)) is None:
            builder = self.builder
            builder.StartObject(slots)
            # Fields in order of width leave no gaps.
            for slot, _, value in sorted(fields, key=lambda item: -_width(item[1])):
                if isinstance(value, int):
                    builder.PrependUOffsetTRelative(value)
                else:
                    builder.Prep(len(value), 0)
                    _place(builder, value)
                builder.Slot(slot)
            known = self.memo[key] = builder.EndObject()
        return known

    def _union(self, value: object, union: Union) -> int:
        return self._object(union, 2, self._one_of(value, union.members, union.name, 0))

    def _one_of(self, value: object, members: tuple[Table, ...], name: str, slot: int) -> list[tuple[int, str, bytes | int]]:
        """Returns the two fields of a union, the first of them in `slot`."""
        for number, member in enumerate(members, 1):
            if isinstance(value, member.record):
                return [(slot, "B", bytes([number])), (slot + 1, "ref", self._table(value, member))]
        raise self.error(f"a {type(value).__name__} is not a kind of {name}")

    def _reference(self, value: object, kind: Kind, name: str) -> int:
        match kind:
            case Ref():
                return self._table(value, kind.table)
            case Text():
                return self._text(cast(str, value))
            case Texts():
                return self._references([self._text(item) for item in cast(Iterable[str], value)])
            case Scalars():
                items = cast(Sequence[int], value)
                return self._vector(self._pack(kind.code, items, name), len(items), struct.calcsize(kind.code))
            case Data():
                data = bytes(cast(memoryview, value))
                return self._vector(data, len(data), kind.alignment)
            case Refs():
                encode = partial(self._union, union=kind.table) if isinstance(kind.table, Union) else partial(self._table, table=kind.table)
                return self._references([encode(item) for item in cast(Iterable[object], value)])
            case Scalar() | OneOf():
                raise AssertionError("neither a scalar nor a union is one reference")

    def _text(self, text: str) -> int:
        if (known := self.memo.get(text)) is None:
            if "\0" in text:
                raise self.error(f"the text {text!r} has a zero byte in it, which the format cannot hold")
            try:
                known = self.memo[text] = self.builder.CreateString(text)
            except UnicodeEncodeError:
                raise self.error(f"the text {text!r} is not Unicode") from None
        return known

    def _vector(self, packed: bytes, length: int, alignment: int) -> int:
        key = (packed, length, alignment)
        if (known := self.memo.get(key)) is None:
            self.builder.StartVector(len(packed) // max(length, 1), length, alignment)
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

    def _pack(self, code: str, items: Sequence[float], name: str) -> bytes:
        try:
            return struct.pack(f"<{len(items)}{code}", *items)
        except struct.error:
            raise self.error(
                f"{name} = {items[0] if len(items) == 1 else list(items)} is out of the range that the format has for it"
            ) from None


def _width(code: str) -> int:
    return 4 if code == "ref" else struct.calcsize(code)


def _place(builder: _Builder, packed: bytes) -> None:
    """Writes bytes for which the builder has made room."""
    builder.head -= len(packed)
    builder.Bytes[builder.head : builder.head + len(packed)] = packed
