"""A source text, with conversion of offsets to lines, columns, positions and locations."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from flambeau.support.position import Position

_NEWLINE = re.compile("\n")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Source:
    """A text, the name of its file for messages, and the number of lines of the file before it."""

    text: str
    file: str = "<string>"
    line_offset: int = 0

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    @cached_property
    def _file_attribute(self) -> StringAttr:
        return StringAttr(self.file)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Returns the line in the file and the column of the character at `offset`; both count from 1."""
        starts = self._line_starts
        line = bisect_right(starts, offset)
        return line + self.line_offset, offset - starts[line - 1] + 1

    def position(self, offset: int, end: int = 0) -> Position:
        """Returns the position of the text from the first character at or after `offset` that is not white space up to `end`, on one line.

        If `offset` equals `end`, the position of that character, white space or not.
        """
        match = None if end == offset else _SPACE.match(self.text, offset)
        start = match.end() if match else offset
        newline = self.text.find("\n", start, end)
        return Position(self.file, *self.line_and_column(start), length=max(1, (end if newline < 0 else newline) - start))

    def line(self, number: int) -> str | None:
        """Returns a line of the file, without the line break; None when the line is not in this text."""
        index = number - self.line_offset - 1
        if not 0 <= index < len(starts := self._line_starts):
            return None
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end]

    def location(self, offset: int) -> FileLineColLoc:
        """Returns the location of the character at `offset`."""
        line, column = self.line_and_column(offset)
        # Each operation has one, so the fields are set directly: xDSL's constructor spends its time on checks that are not needed here.
        found = object.__new__(FileLineColLoc)
        object.__setattr__(found, "filename", self._file_attribute)
        object.__setattr__(found, "line", _number(line))
        object.__setattr__(found, "column", _number(column))
        return found


def _number(value: int) -> IntAttr:
    found: IntAttr = object.__new__(IntAttr)
    object.__setattr__(found, "data", value)
    return found
