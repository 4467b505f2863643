"""Types that describe the tables of a FlatBuffers format, for a reader and a writer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from flambeau.support.one_line import OneLineError


class FlatbufferError(OneLineError):
    """Reports bytes that contradict a schema, or records that the format cannot hold, in one line for people."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number in the table itself: `code` is its `struct` format, `reads` the type to which the reader converts it."""

    code: str
    reads: type[int] | type[float] | type[bool] = int
    default: int | float = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A field that refers to a string."""

    required: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """A field that refers to a vector of strings. An absent field is read as the empty tuple."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A field that refers to another table."""

    table: "Table"


@dataclass(frozen=True, slots=True)
class Scalars:
    """A field that refers to a vector of numbers."""

    code: str
    reads: type[int] | type[float] | type[bool] = int


@dataclass(frozen=True, slots=True)
class Data:
    """A field that refers to a vector of bytes, read as a view. The first byte starts at a multiple of `alignment`."""

    alignment: int = 1


@dataclass(frozen=True, slots=True)
class Refs:
    """A field that refers to a vector of tables. An absent field is read as the empty tuple, or as None if `optional`."""

    table: "Table | Union"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field that holds a union, in two slots: the number of the member, from 1 on, and the member. An absent field is read as None."""

    members: "tuple[Table, ...]"


Kind: TypeAlias = Scalar | Text | Texts | Ref | Scalars | Data | Refs | OneOf


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the format: the type of its record, and its fields by name, in order."""

    record: type
    fields: Mapping[str, Kind]

    @property
    def slots(self) -> int:
        """The number of the table's slots."""
        return sum(1 + isinstance(kind, OneOf) for kind in self.fields.values())


@dataclass(frozen=True, eq=False)
class Union:
    """A table that holds only a union: field 0 is the number of the member, field 1 the member."""

    name: str
    members: tuple[Table, ...]
