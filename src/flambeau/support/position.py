"""A position in a text: file, line and column, for messages."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Position:
    """A position in a source text; line and column count from 1."""

    file: str
    line: int
    column: int
    length: int = field(default=1, compare=False)
    """The number of characters on the line, from the column on."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
