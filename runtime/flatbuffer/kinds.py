"""The tables of a FlatBuffers format as data: what a reader and a writer need of a schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


class FlatbufferError(ValueError):
    """Bytes that are not what a schema says, or records that the format cannot hold. One line, for people."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number in the table itself: `code` is its `struct` format, `reads` what it is read as."""

    code: str
    reads: type[int] | type[float] | type[bool] = int
    default: int | float = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    required: bool = False


@dataclass(frozen=True, slots=True)
class Ref:
    """Another table."""

    table: "Table"


@dataclass(frozen=True, slots=True)
class Scalars:
    """A vector of numbers."""

    code: str
    reads: type[int] | type[float] | type[bool] = int


@dataclass(frozen=True, slots=True)
class Data:
    """A vector of bytes, which is read as a view; `alignment`: of its first byte."""

    alignment: int = 1


@dataclass(frozen=True, slots=True)
class Refs:
    """A vector of tables; `optional`: its absence is None, not the empty tuple."""

    table: "Table | Union"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union beside other fields, which takes two slots: the number of the member, from 1 on, and the member. Its absence is None."""

    members: "tuple[Table, ...]"


Kind: TypeAlias = Scalar | Text | Ref | Scalars | Data | Refs | OneOf


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the format: the record that it is read as, and its fields by name, in order."""

    record: type
    fields: Mapping[str, Kind]

    @property
    def slots(self) -> int:
        """The number of its slots."""
        return sum(1 + isinstance(kind, OneOf) for kind in self.fields.values())


@dataclass(frozen=True, eq=False)
class Union:
    """A table that holds nothing but a union: field 0 is the number of the member, field 1 the member."""

    name: str
    members: tuple[Table, ...]
