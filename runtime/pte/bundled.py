"""The program inside of a bundled program (`.bpte`), for whatever takes a `.pte`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flambeau.runtime.flatbuffer import Data, Decoder, Scalar, Scalars, Table
from flambeau.runtime.pte.records import EMPTY, PteError

if TYPE_CHECKING:
    from typing_extensions import Buffer

BUNDLED_IDENTIFIER = b"BP08"
PROGRAM_SUFFIXES = (".pte", ".bpte")
"""The suffixes of files that have a program."""


@dataclass(frozen=True, slots=True)
class _Bundle:
    """The content of a `.bpte`, with the places of its test cases unread."""

    version: int = 0
    method_test_suites: tuple[int, ...] = ()
    program: memoryview = EMPTY


_BUNDLE = Table(_Bundle, {"version": Scalar("I"), "method_test_suites": Scalars("I"), "program": Data(alignment=32)})


def is_bundled(data: Buffer) -> bool:
    """Returns whether bytes begin like a `.bpte`."""
    return bytes(memoryview(data)[4:8]) == BUNDLED_IDENTIFIER


def program_in(data: Buffer) -> Buffer:
    """Returns the bytes of the program in a `.bpte`, as a view; other bytes as they are. Raises PteError for a damaged `.bpte`."""
    if not is_bundled(data):
        return data
    return cast(_Bundle, Decoder(memoryview(data).toreadonly().cast("B"), "the bundled program", PteError).root(_BUNDLE)).program
