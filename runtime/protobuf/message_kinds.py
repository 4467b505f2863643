"""Types that describe the messages of a format of Protocol Buffers, for a reader and a writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, TypeAlias

from flambeau.support.one_line import OneLineError


class ProtobufError(OneLineError):
    """Reports bytes that contradict a schema, or records that the format cannot hold, in one line for people."""


class Record(SimpleNamespace):
    """The fields of one message by name, as the reader gives them and the writer takes them."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a message has no field {name!r}: it has {', '.join(vars(self))}")


class Wire(Enum):
    """How the bytes of a field end, by the number of the format for it."""

    VARINT = 0
    EIGHT_BYTES = 1
    SIZED = 2
    FOUR_BYTES = 5


class Number(Enum):
    """Types of numbers: their wire type, a name that is the `struct` format of those of fixed size, and the zero that an absent field is.

    `INT` is int32, int64 and enumerations; `UINT` is uint32 and uint64; `ZIGZAG` is sint32 and sint64.
    """

    INT = Wire.VARINT, "int", 0
    UINT = Wire.VARINT, "uint", 0
    ZIGZAG = Wire.VARINT, "zigzag", 0
    BOOL = Wire.VARINT, "bool", False
    FLOAT = Wire.FOUR_BYTES, "f", 0.0
    DOUBLE = Wire.EIGHT_BYTES, "d", 0.0
    FIXED32 = Wire.FOUR_BYTES, "I", 0
    FIXED64 = Wire.EIGHT_BYTES, "Q", 0

    @property
    def wire(self) -> Wire:
        """The wire type of one such number."""
        return self.value[0]

    @property
    def code(self) -> str:
        """The `struct` format of a number of fixed size."""
        return self.value[1]

    @property
    def zero(self) -> int | float | bool:
        """The value of an absent field."""
        return self.value[2]


class Scalar(Enum):
    """Fields whose bytes are theirs: `TEXT` is read as a str, `DATA` as a view of the bytes."""

    TEXT = "text"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Map:
    """A field that is a table: keys of one kind, and values of another one. It is read and written as a dictionary."""

    key: Number | Scalar
    value: Kind


Kind: TypeAlias = "Number | Scalar | Message | Callable[[], Message]"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Attributes:
        number: its number in the schema.
        kind: what it holds. A function gives a message that is declared later, such as one that holds itself.
        many: whether it holds a sequence; an absent one is read as the empty tuple.
        packed: whether a sequence of numbers is written as one run of bytes. Both forms are read.
        optional: whether an absent number or text is None, and a zero or an empty text is written. Members of a `oneof` are so.
    """

    number: int
    kind: Kind | Map
    many: bool = False
    packed: bool = True
    optional: bool = False

    @property
    def absent(self) -> Any:
        """The value of an absent field."""
        if self.many:
            return ()
        if isinstance(self.kind, Map):
            return {}
        if self.optional:
            return None
        if isinstance(self.kind, Number):
            return self.kind.zero
        return {Scalar.TEXT: "", Scalar.DATA: memoryview(b"")}[self.kind] if isinstance(self.kind, Scalar) else None


@dataclass(frozen=True, eq=False)
class Message:
    """A message of the format: its name, and its fields by name, in the order in which they are written."""

    name: str
    fields: Mapping[str, Field]

    def record(self, **values: Any) -> Record:
        """Returns a record with these fields; the others are absent. Raises TypeError for a field that the message does not have."""
        if not values.keys() <= self.fields.keys():
            raise TypeError(f"{self.name} has no fields {', '.join(values.keys() - self.fields.keys())}")
        return Record(**{name: values[name] if name in values else field.absent for name, field in self.fields.items()})

    @cached_property
    def by_number(self) -> Mapping[int, tuple[str, Field]]:
        """The fields by number, with their names."""
        return {field.number: (name, field) for name, field in self.fields.items()}


@cache
def entry_of(kind: Map) -> Message:
    """Returns the message that the format has for each entry of a table."""
    return Message("an entry", {"key": Field(1, kind.key), "value": Field(2, kind.value)})


def message_of(kind: Message | Callable[[], Message]) -> Message:
    """Returns the message of a kind."""
    return kind if isinstance(kind, Message) else kind()
