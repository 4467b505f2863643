"""Positions in a text as editors count them, and their mapping across an edit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

_UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}


@dataclass(frozen=True)
class Lines:
    """A text as lines, whose characters the editor counts in units of an encoding."""

    text: str
    encoding: str = "utf-16"

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        end = self.text.find("\n")
        while end >= 0:
            starts.append(end + 1)
            end = self.text.find("\n", end + 1)
        return starts

    def start(self, line: int) -> int:
        """Returns the offset of a line, counted from 0; the end of the text for a line past the last."""
        return self._starts[line] if 0 <= line < len(self._starts) else len(self.text)

    def line_at(self, offset: int) -> int:
        """Returns the line of an offset, counted from 0."""
        return bisect_right(self._starts, offset) - 1

    def line(self, number: int) -> str:
        """Returns a line, without its end."""
        return self.text[self.start(number) : self.start(number + 1)].rstrip("\r\n")

    def offset(self, position: types.Position) -> int:
        """Returns the offset of an editor's position, limited to its line."""
        line = self.line(position.line)
        count = _UNITS[self.encoding]
        if line.isascii():
            return self.start(position.line) + min(position.character, len(line))
        column = units = 0
        while column < len(line) and units < position.character:
            units += count(line[column])
            column += 1
        return self.start(position.line) + column

    def position(self, offset: int) -> types.Position:
        """Returns the editor's position of an offset."""
        offset = min(max(offset, 0), len(self.text))
        line = self.line_at(offset)
        return types.Position(line, _UNITS[self.encoding](self.text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        """Returns the editor's range between two offsets."""
        return types.Range(self.position(start), self.position(end))


@dataclass(frozen=True)
class Edit:
    """An edit of a text: the stretch from `start` to `old_end` became the stretch from `start` to `new_end`."""

    start: int
    old_end: int
    new_end: int

    @staticmethod
    def between(old: str, new: str) -> Edit:
        """Returns the smallest single edit between two texts; among equal ones, one that begins at a line start."""
        if old == new:
            return Edit(len(old), len(old), len(new))
        shorter = min(len(old), len(new))
        start = _longest(shorter, lambda size: old[:size] == new[:size])
        tail = _longest(shorter - start, lambda size: old[len(old) - size :] == new[len(new) - size :])
        return _at_line(Edit(start, len(old) - tail, len(new) - tail), old, new)

    def to_old(self, offset: int) -> int | None:
        """Returns the place in the old text of a place in the new one; None for an inserted place."""
        if offset <= self.start:
            return offset
        return None if offset < self.new_end else offset - self.new_end + self.old_end

    def to_new(self, offset: int) -> int | None:
        """Returns the place in the new text of a place in the old one; None for a deleted place."""
        if offset <= self.start:
            return offset
        return None if offset < self.old_end else offset - self.old_end + self.new_end


def _at_line(edit: Edit, old: str, new: str) -> Edit:
    """Returns the same insertion or deletion, moved to the start of the line if the changed text allows that."""
    longer, end = (new, edit.new_end) if edit.old_end == edit.start else (old, edit.old_end)
    if edit.start not in (edit.old_end, edit.new_end):
        return edit
    by = 0
    while edit.start > by and longer[edit.start - by - 1] != "\n" and longer[edit.start - by - 1] == longer[end - by - 1]:
        by += 1
    if edit.start > by and longer[edit.start - by - 1] != "\n":
        return edit
    return Edit(edit.start - by, edit.old_end - by, edit.new_end - by)


def _longest(limit: int, fits: Callable[[int], bool]) -> int:
    """Returns the largest size up to `limit` that fits, if fitting is monotonic."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
