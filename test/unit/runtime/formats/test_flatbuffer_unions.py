"""Tables of FlatBuffers that are written and read back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flambeau.runtime.flatbuffer import Decoder, Encoder, OneOf, Scalar, Table


@dataclass(frozen=True)
class Member:
    number: int


@dataclass(frozen=True)
class Root:
    first: int
    choice: Member | None
    behind: int


MEMBER = Table(Member, {"number": Scalar("i")})
ROOT = Table(Root, {"first": Scalar("i"), "choice": OneOf((MEMBER,)), "behind": Scalar("i")})


@pytest.mark.parametrize("choice", [None, Member(5)])
def test_a_field_behind_a_union_is_read_whether_the_union_is_there_or_not(choice: Member | None) -> None:
    record = Root(1, choice, 7)
    data = Encoder(ROOT, b"TEST").encode(record)
    assert Decoder(memoryview(data), "the data").root(ROOT) == record
