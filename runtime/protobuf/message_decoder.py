"""Decodes messages of Protocol Buffers to records. The decoder never reads outside of the given bytes, and copies no data."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from flambeau.runtime.protobuf.message_kinds import (
    Field,
    Kind,
    Map,
    Message,
    Number,
    ProtobufError,
    Record,
    Scalar,
    Wire,
    entry_of,
    message_of,
)

MOST_NESTED = 100
"""The most messages that stand inside of one another, as other readers have it."""
_MOST_BYTES = 10
"""The bytes of the longest number."""
_SIZES = {Wire.FOUR_BYTES: 4, Wire.EIGHT_BYTES: 8}


def decode(
    message: Message, data: memoryview, name: str, error: type[ValueError] = ProtobufError, *, skips_unknown: bool = False
) -> Record:
    """Returns the record of a message. Raises `error` for damaged data, which it calls `name`.

    Fields that the schema does not have are errors, unless `skips_unknown`. So is a second value of a field that has one.
    """
    return _Decoder(name, error, skips_unknown).message(message, data, 0)


class _Decoder:
    def __init__(self, name: str, error: type[ValueError], skips_unknown: bool):
        self.name = name
        self.error = error
        self.skips_unknown = skips_unknown

    def _damaged(self, what: str) -> ValueError:
        return self.error(f"{self.name} is damaged: {what}")

    def message(self, message: Message, data: memoryview, depth: int) -> Record:
        """Returns the record of a message that stands in `depth` others."""
        if depth > MOST_NESTED:
            raise self._damaged(f"more than {MOST_NESTED} messages stand inside of one another")
        found: dict[str, Any] = {}
        at = 0
        while at < len(data):
            number, wire, at = self._tag(data, at, message.name)
            if number not in message.by_number:
                if not self.skips_unknown:
                    raise self._damaged(f"a {message.name} has a field {number}, which is not known here")
                _, at = self._raw(data, at, wire, message.name)
                continue
            name, field = message.by_number[number]
            what = f"{message.name}.{name}"
            raw, at = self._raw(data, at, wire, what)
            self._add(found, name, field, self._values(field, wire, raw, what, depth), what)
        return Record(**{name: found[name] if name in found else field.absent for name, field in message.fields.items()})

    def _add(self, found: dict[str, Any], name: str, field: Field, values: Sequence[Any], what: str) -> None:
        """Adds values to what is found of a field."""
        if isinstance(field.kind, Map):
            table = found.setdefault(name, {})
            for entry in values:
                if entry.key in table:
                    raise self._damaged(f"{what} has the key {entry.key!r} twice")
                table[entry.key] = entry.value
        elif field.many:
            found.setdefault(name, []).extend(values)
        elif name in found:
            raise self._damaged(f"{what} stands twice")
        else:
            found[name] = values[0]

    def _varint(self, data: memoryview, at: int, what: str) -> tuple[int, int]:
        """Returns an unsigned number, and where the bytes behind it begin."""
        number = 0
        for place, byte in enumerate(data[at : at + _MOST_BYTES]):
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if number >> 64:
                    break
                return number, at + place + 1
        raise self._damaged(f"the number at byte {at} of {len(data)} ({what}) does not end")

    def _tag(self, data: memoryview, at: int, what: str) -> tuple[int, Wire, int]:
        tag, behind = self._varint(data, at, what)
        try:
            wire = Wire(tag & 7)
        except ValueError:
            raise self._damaged(f"a field of {what} at byte {at} is of the wire type {tag & 7}") from None
        if not 0 < tag >> 3 < 1 << 29:
            raise self._damaged(f"a field of {what} at byte {at} has the number {tag >> 3}")
        return tag >> 3, wire, behind

    def _raw(self, data: memoryview, at: int, wire: Wire, what: str) -> tuple[memoryview, int]:
        """Returns the bytes of a value, and where those behind it begin."""
        if wire is Wire.VARINT:
            _, end = self._varint(data, at, what)
            return data[at:end], end
        size, at = self._varint(data, at, what) if wire is Wire.SIZED else (_SIZES[wire], at)
        if size > len(data) - at:
            raise self._damaged(f"{what} of {size} bytes at byte {at} does not fit in {len(data)} bytes")
        return data[at : at + size], at + size

    def _values(self, field: Field, wire: Wire, raw: memoryview, what: str, depth: int) -> Sequence[Any]:
        """Returns the values that some bytes of a field hold: several, where numbers are packed."""
        kind = field.kind
        wanted = kind.wire if isinstance(kind, Number) else Wire.SIZED
        if isinstance(kind, Number) and field.many and wire is Wire.SIZED:
            return self._numbers(kind, raw, what)
        if wire is not wanted:
            raise self._damaged(f"{what} is of the wire type {wire.value}, not {wanted.value}")
        return [self._value(entry_of(kind) if isinstance(kind, Map) else kind, raw, what, depth)]

    def _value(self, kind: Kind, raw: memoryview, what: str, depth: int) -> Any:
        if isinstance(kind, Number):
            return self._numbers(kind, raw, what)[0]
        if kind is Scalar.DATA:
            return raw
        if kind is Scalar.TEXT:
            try:
                return str(raw, "utf-8")
            except UnicodeDecodeError:
                raise self._damaged(f"the text {what} is not UTF-8") from None
        assert not isinstance(kind, Scalar)
        return self.message(message_of(kind), raw, depth + 1)

    def _numbers(self, kind: Number, raw: memoryview, what: str) -> Sequence[Any]:
        """Returns the numbers that stand one after another."""
        if kind.wire is not Wire.VARINT:
            width = _SIZES[kind.wire]
            if len(raw) % width:
                raise self._damaged(f"{what} has {len(raw)} bytes, which are not numbers of {width}")
            return struct.unpack(f"<{len(raw) // width}{kind.code}", raw)
        found: list[int] = []
        at = 0
        while at < len(raw):
            number, at = self._varint(raw, at, what)
            found.append(self._number(kind, number, what))
        return found

    def _number(self, kind: Number, bits: int, what: str) -> int:
        """Returns the number for which an unsigned one stands."""
        if kind is Number.BOOL and bits > 1:
            raise self._damaged(f"{what} is {bits}, neither true nor false")
        match kind:
            case Number.BOOL:
                return bool(bits)
            case Number.INT:
                return bits - (1 << 64) if bits >> 63 else bits
            case Number.ZIGZAG:
                return bits >> 1 if bits % 2 == 0 else -(bits >> 1) - 1
            case _:
                return bits
