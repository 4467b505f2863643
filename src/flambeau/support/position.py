"""A place in a text, for messages."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Position:
    """A place in a source text, counted from 1."""

    file: str
    line: int
    column: int
    length: int = field(default=1, compare=False)
    """How many characters of the line it covers."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
