"""Reads the maps of linkers: how many bytes of an image come from which file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_KEPT = "Linker script and memory map"
_GNU = re.compile(r"^ (\.?\w[\w.$]*)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (/\S+)", re.MULTILINE)
_LLD = re.compile(r"^ *[0-9a-f-]+ +[0-9a-f-]+ +([0-9a-f]+) +(/\S+):\((\S+)\)$", re.MULTILINE)
_VARIABLES = (".data", ".bss", ".sdata", ".sbss", "COMMON")
_CONSTANTS = (".text", ".rodata", ".srodata", ".vectors")


class Piece(NamedTuple):
    """What an image has of one section of a file.

    Attributes:
        file: the path of the object or library.
        size: its bytes.
        is_variable: whether it lies in memory that the program writes.
    """

    file: str
    size: int
    is_variable: bool


def pieces(text: str) -> Iterator[Piece]:
    """Yields the pieces of a map that GNU's linker wrote, or LLVM's for WebAssembly, whose functions have no section."""
    if _KEPT in text:
        for section, size, file in _GNU.findall(text[text.index(_KEPT) :]):
            if section.startswith(_VARIABLES + _CONSTANTS):
                yield Piece(file, int(size, 16), section.startswith(_VARIABLES))
        return
    for size, file, section in _LLD.findall(text):
        yield Piece(file, int(size, 16), section.startswith(_VARIABLES))
