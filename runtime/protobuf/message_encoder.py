"""Encodes records as messages of Protocol Buffers. The same records always give the same bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from flambeau.runtime.protobuf.message_kinds import Field, Kind, Map, Message, Number, ProtobufError, Scalar, Wire, entry_of, message_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

_NEGATIVE = 1 << 64
"""What is added to a negative number, which has the bits of an unsigned one."""


def encode(message: Message, record: object, error: type[ValueError] = ProtobufError) -> bytes:
    """Returns the bytes of a record. Raises `error` for values that the format cannot hold."""
    return b"".join(pieces(message, record, error))


def pieces(message: Message, record: object, error: type[ValueError] = ProtobufError) -> Sequence[Buffer]:
    """Returns the bytes of a record in pieces, without a copy of its data. Raises `error` for values that the format cannot hold."""
    found, _ = _Encoder(error).message(message, record)
    return found


def varint(number: int) -> bytes:
    """Returns an unsigned number in 7 bits a byte, the lowest first."""
    if number < 0x80:
        return bytes((number,))
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def tag(number: int, wire: Wire) -> bytes:
    """Returns the bytes before the value of a field."""
    return varint(number << 3 | wire.value)


_Pieces = tuple["list[Buffer]", int]
"""Pieces, and the number of their bytes."""


class _Encoder:
    """Encodes messages depth first: the size of a message stands before it."""

    def __init__(self, error: type[ValueError]):
        self.error = error

    def message(self, message: Message, record: object) -> _Pieces:
        """Returns the bytes of a message, without its size."""
        found: list[Buffer] = []
        size = 0
        for name, field in message.fields.items():
            value = getattr(record, name)
            try:
                if value is None or (not field.optional and _is_absent(field, value)):
                    continue
                more, count = self._field(field, value)
            except (TypeError, AttributeError, struct.error, OverflowError) as error:
                raise self.error(f"{message.name}.{name} cannot be {value!r:.100}: {error}") from None
            found += more
            size += count
        return found, size

    def _field(self, field: Field, value: Any) -> _Pieces:
        kind = field.kind
        if isinstance(kind, Map):
            entry = entry_of(kind)
            items = [entry.record(key=key, value=item) for key, item in cast("Mapping[Any, Any]", value).items()]
            return self._each(field.number, entry, items)
        if not field.many:
            return self._each(field.number, kind, [value])
        if isinstance(kind, Number) and field.packed:
            run = self._run(kind, value)
            return [tag(field.number, Wire.SIZED) + varint(len(run)), run], len(tag(field.number, Wire.SIZED)) + len(
                varint(len(run))
            ) + len(run)
        return self._each(field.number, kind, value)

    def _each(self, number: int, kind: Kind, values: Sequence[Any]) -> _Pieces:
        """Returns the bytes of values, each behind the number of its field."""
        if isinstance(kind, Number):
            data = b"".join(tag(number, kind.wire) + self._run(kind, [value]) for value in values)
            return [data], len(data)
        found: list[Buffer] = []
        size = 0
        for value in values:
            more, count = self._sized(kind, value)
            start = tag(number, Wire.SIZED) + varint(count)
            found += [start, *more]
            size += len(start) + count
        return found, size

    def _sized(self, kind: Scalar | Message | Callable[[], Message], value: Any) -> _Pieces:
        if kind is Scalar.TEXT:
            try:
                data = cast(str, value).encode()
            except UnicodeEncodeError:
                raise self.error(f"the text {value!r} is not Unicode") from None
            return [data], len(data)
        if kind is Scalar.DATA:
            view = memoryview(value).cast("B") if len(value) else memoryview(b"")
            return [view], len(view)
        assert not isinstance(kind, Scalar)
        return self.message(message_of(kind), value)

    def _run(self, kind: Number, values: Sequence[Any]) -> bytes:
        """Returns the bytes of numbers one after another."""
        if kind.wire is not Wire.VARINT:
            return struct.pack(f"<{len(values)}{kind.code}", *values)
        return b"".join(varint(self._bits(kind, value)) for value in values)

    def _bits(self, kind: Number, value: Any) -> int:
        """Returns the unsigned number that stands for a number."""
        number = int(value)
        low, high = (0, _NEGATIVE) if kind is Number.UINT else (0, 2) if kind is Number.BOOL else (-_NEGATIVE // 2, _NEGATIVE // 2)
        if number != value or not low <= number < high:
            raise OverflowError(f"{value} is not a whole number from {low} to {high - 1}")
        if kind is Number.ZIGZAG:
            return number << 1 if number >= 0 else (-number << 1) - 1
        return number + _NEGATIVE if number < 0 else number


def _is_absent(field: Field, value: Any) -> bool:
    """Returns whether a field has the value of an absent one, and may be left out."""
    if field.many or isinstance(field.kind, Map | Scalar):
        return len(value) == 0
    # The bits of -0.0 are not those of an absent number.
    return isinstance(field.kind, Number) and not value and str(value) != "-0.0"
