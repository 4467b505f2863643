"""Decodes a flatbuffer to records by tables. The decoder never reads outside of the given bytes, and copies no data."""

import struct
from collections.abc import Callable
from typing import cast

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


class Decoder:
    """Decodes the tables of one flatbuffer.

    Each table and vector is decoded once, however many references it has, and the work is limited by the number of bytes: overlapping
    tables that would expand to more than the file are refused.
    """

    def __init__(self, data: memoryview, name: str, error: type[ValueError] = FlatbufferError):
        """Creates a decoder of `data`, which raises `error` with messages that call the data `name`, such as "the program"."""
        self.name = name
        self.error = error
        self.data = data
        self.size = len(data)
        self.budget = len(data)
        self.memo: dict[tuple[int, object], object] = {}

    def root(self, table: Table, start: int = 0) -> object:
        """Returns the root table, whose offset is at byte `start`, as a record. Raises `error` for damaged data."""
        return self._table(self._follow(start, "the root"), table)

    def _damaged(self, what: str) -> ValueError:
        return self.error(f"{self.name} is damaged: {what}")

    def _spend(self, amount: int) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise self._damaged("its tables overlap")

    def _unpack(self, code: str, position: int, what: str) -> int:
        width = struct.calcsize(code)
        if position % width or position + width > self.size:
            raise self._damaged(f"{what} is at byte {position} of {self.size}")
        return struct.unpack_from("<" + code, self.data, position)[0]

    def _follow(self, position: int, what: str) -> int:
        return position + self._unpack("I", position, what)

    def _table(self, position: int, table: Table) -> object:
        key = (position, table)
        if (known := self.memo.get(key)) is not None:
            return known
        name = table.record.__name__
        places = iter(self._places(position, name, table.slots))
        values: dict[str, object] = {}
        for field, kind in table.fields.items():
            place, what = next(places), f"{name}.{field}"
            if isinstance(kind, OneOf):
                member = next(places)
                values[field] = self._one_of(place, member, kind.members, what) if place else None
            elif place:
                values[field] = self._field(place, kind, what)
            elif isinstance(kind, Scalar):
                values[field] = kind.reads(kind.default)
            elif isinstance(kind, Scalars | Texts) or (isinstance(kind, Refs) and not kind.optional):
                values[field] = ()
            elif isinstance(kind, Text) and kind.required:
                raise self._damaged(f"a {name} lacks its {field}")
        record = table.record(**values)
        self.memo[key] = record
        return record

    def _union(self, position: int, union: Union) -> object:
        number_at, member_at = self._places(position, union.name, 2)
        return self._one_of(number_at, member_at, union.members, union.name)

    def _one_of(self, number_at: int, member_at: int, members: tuple[Table, ...], what: str) -> object:
        number = self._unpack("B", number_at, what) if number_at else 0
        if not 1 <= number <= len(members) or not member_at:
            raise self._damaged(f"{number} is not a kind of {what} (byte {number_at})")
        return self._table(self._follow(member_at, what), members[number - 1])

    def _places(self, position: int, name: str, count: int) -> list[int]:
        """Returns the offsets of the fields of a table; 0 for an absent field."""
        vtable = position - self._unpack("i", position, name)
        if vtable < 0:
            raise self._damaged(f"{name} at byte {position} has no field table")
        width = self._unpack("H", vtable, name)
        extent = self._unpack("H", vtable + 2, name)
        if width < 4 or width % 2 or vtable + width > self.size or extent < 4 or position + extent > self.size:
            raise self._damaged(f"{name} at byte {position} does not fit in the file")
        present = min(count, (width - 4) // 2)
        offsets = struct.unpack_from(f"<{present}H", self.data, vtable + 4)
        self._spend(1)
        if any(offset >= extent for offset in offsets):
            raise self._damaged(f"a field of {name} at byte {position} lies outside of it")
        return [position + offset if offset else 0 for offset in offsets] + [0] * (count - present)

    def _field(self, place: int, kind: Kind, what: str) -> object:
        match kind:
            case Scalar():
                value = self._unpack(kind.code, place, what)
                try:
                    return kind.reads(value)
                except ValueError:
                    raise self._damaged(f"{value} is not a {kind.reads.__name__} ({what}, byte {place})") from None
            case Text():
                return self._text(self._follow(place, what), what)
            case Texts():
                return self._references(self._follow(place, what), kind, self._text, what)
            case Ref():
                return self._table(self._follow(place, what), kind.table)
            case Scalars():
                return self._scalars(self._follow(place, what), kind, what)
            case Data():
                start, length = self._vector(self._follow(place, what), 1, what)
                return self.data[start : start + length]
            case Refs():
                return self._refs(self._follow(place, what), kind.table, what)
            case OneOf():
                raise AssertionError("a union takes two places")

    def _vector(self, position: int, width: int, what: str) -> tuple[int, int]:
        """Returns the position of a vector's first element, and the number of its elements, each of `width` bytes."""
        length = self._unpack("I", position, what)
        start = position + 4
        if start + length * width > self.size or (length and start % width):
            raise self._damaged(f"{what} of {length} elements at byte {position} does not fit in the file")
        return start, length

    def _text(self, position: int, what: str) -> str:
        key = (position, str)
        if (known := self.memo.get(key)) is None:
            start, length = self._vector(position, 1, what)
            self._spend(length)
            if start + length >= self.size or self.data[start + length]:
                raise self._damaged(f"the text {what} at byte {position} does not end with a zero byte")
            try:
                known = str(self.data[start : start + length], "utf-8")
            except UnicodeDecodeError:
                raise self._damaged(f"the text {what} at byte {position} is not UTF-8") from None
            if "\0" in known:
                raise self._damaged(f"the text {what} at byte {position} has a zero byte in it")
            self.memo[key] = known
        return cast(str, known)

    def _scalars(self, position: int, kind: Scalars, what: str) -> object:
        key = (position, kind.code)
        if (known := self.memo.get(key)) is None:
            start, length = self._vector(position, struct.calcsize(kind.code), what)
            self._spend(length)
            known = self.memo[key] = struct.unpack_from(f"<{length}{kind.code}", self.data, start)
        return known

    def _refs(self, position: int, table: Table | Union, what: str) -> object:
        def decode(position: int, what: str) -> object:
            return self._union(position, table) if isinstance(table, Union) else self._table(position, table)

        return self._references(position, table, decode, what)

    def _references(self, position: int, kind: object, decode: Callable[[int, str], object], what: str) -> object:
        """Returns what `decode` makes of each reference of a vector; `kind` tells vectors at one position apart."""
        key = (position, (Refs, kind))
        if (known := self.memo.get(key)) is None:
            start, length = self._vector(position, 4, what)
            self._spend(length)
            offsets = struct.unpack_from(f"<{length}I", self.data, start)
            known = self.memo[key] = tuple(decode(start + 4 * index + offset, what) for index, offset in enumerate(offsets))
        return known
