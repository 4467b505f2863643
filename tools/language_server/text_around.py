"""Words around a place in the text, from its characters alone: the text need not parse."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUFFIX = r"[A-Za-z0-9_$.\-]"
_WORD = re.compile(rf'[%@^#]?(?:"[^"\n]*"|{_SUFFIX}+)|[%@^]')
_OPERATION = re.compile(r'[ \t]*(?:(?:%[\w$.\-]+(?::\d+)?\s*,?\s*)+=\s*)?"?(?P<name>[A-Za-z_]\w*(?:\.[\w.$]+)+)"?')
_ATTRIBUTES = re.compile(r"attributes\s*\{[^{}]*\}\Z")
MOST_LINES = 20
"""The number of lines above within which an operation may begin."""
_DEFINITION = re.compile(r"(%[\w$.\-]+)(?::\d+)?(?=\s*(?:=|,[^=()\n{}]*=))|(?<=[(,])\s*(%[\w$.\-]+)\s*(?=:)")


@dataclass(frozen=True)
class Word:
    """A word and its offset."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)


def word_at(text: str, offset: int) -> Word | None:
    """Returns the word at or directly before an offset: an operation, a name with its sigil, a key."""
    line = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for match in _WORD.finditer(text, line, end if end >= 0 else len(text)):
        if match.start() <= offset <= match.end():
            return Word(match[0], match.start())
    return None


def statement_before(text: str, offset: int) -> tuple[str | None, str]:
    """Returns the name of the operation around an offset, and its text up to the offset.

    An operation that begins on a line above counts only if one of its brackets is still open. If there is no operation, the name is None,
    and the text is that of the line.
    """
    line = start = text.rfind("\n", 0, offset) + 1
    for _ in range(MOST_LINES):
        found = _OPERATION.match(text, start, offset)
        if found is not None:
            rest = text[found.end() : offset]
            return (found["name"], rest) if start == line or _open_bracket(rest) is not None else (None, text[line:offset])
        if start == 0:
            break
        start = text.rfind("\n", 0, start - 1) + 1
    return None, text[line:offset]


def open_brace(text: str) -> int | None:
    """Returns the offset of the innermost open bracket, if it is a brace."""
    place = _open_bracket(text)
    return place if place is not None and text[place] == "{" else None


def opens_region(text: str, brace: int) -> bool:
    """Returns whether an open brace in the text of an operation opens a region, not a dictionary of attributes."""
    before = text[:brace].rstrip()
    if _open_bracket(before) is not None:
        return before.endswith(("(", "},"))  # the generic form, with regions in parentheses
    return _ATTRIBUTES.search(before) is not None or not before.endswith(("attributes", "}"))


def _open_bracket(text: str) -> int | None:
    """Returns the offset of the innermost open bracket outside of quoted text."""
    stack: list[int] = []
    quoted = False
    for index, character in enumerate(text):
        if character == '"' and (index == 0 or text[index - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif character in "{([<":
            stack.append(index)
        elif character in "})]" and stack:
            stack.pop()
        elif character == ">" and stack and text[stack[-1]] == "<":
            stack.pop()
    return stack[-1] if stack else None


def in_comment(text: str, offset: int) -> bool:
    """Returns whether an offset is behind `//`."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return "//" in re.sub(r'"[^"]*"', "", line)


def definitions(text: str) -> dict[str, int]:
    """Returns the names of values that a text seems to define, with their offsets."""
    found: dict[str, int] = {}
    for match in _DEFINITION.finditer(text):
        group = 1 if match[1] is not None else 2
        found.setdefault(match[group], match.start(group))
    return found
