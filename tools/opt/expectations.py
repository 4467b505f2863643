"""`--verify-diagnostics`: comments in the text say which diagnostics are expected, and exactly these must come, as in mlir-opt.

    %0 = test.op : i32  // expected-error {{part of the message}}
    // expected-error-re @+1 {{operand {{[0-9]+}} is wrong}}
    // expected-note @above {{…}} expected-remark @below {{…}}
    // expected-warning @unknown {{…}}

A comment refers to its own line, to a line at a distance above or below, to the nearest line above or below without such a comment, or to
diagnostics without a place in the text. Each diagnostic and each of its notes matches one comment, and each comment one diagnostic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flambeau.dialects.ir.diagnostics import SEVERITIES, Diagnostic
from flambeau.dialects.text.source_text import Source
from flambeau.support.position import Position

_START = re.compile(r"expected-(?P<severity>\w+)(?P<regex>-re)?[ \t]*(?:@(?P<place>[^\s{]*))?[ \t]*(?P<open>\{\{)?")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//')
_OFFSET = re.compile(r"[+-][0-9]{1,9}")


@dataclass(eq=False)
class _Expectation:
    severity: str
    text: str
    pattern: re.Pattern[str]
    position: Position
    line: int | None
    """The line of the expected diagnostic, from 1; None for diagnostics without a place."""
    met: bool = False


class Expectations:
    """The diagnostics that the comments of one text expect, and the received ones."""

    def __init__(self, source: Source, *, only_expected: bool = False):
        self.problems: list[Diagnostic] = []
        """The faults so far: malformed comments, and diagnostics that no comment expects."""
        self._file = source.file
        self._only_expected = only_expected
        self._expectations: list[_Expectation] = []
        self._scan(source)

    @property
    def severities(self) -> set[str]:
        """Returns the severities of the expected diagnostics."""
        return {item.severity for item in self._expectations}

    def see(self, diagnostic: Diagnostic) -> None:
        """Receives one diagnostic, with its position if known, and its notes."""
        self._see(diagnostic)
        for note in diagnostic.notes:
            self.see(note)

    def finish(self) -> list[Diagnostic]:
        """Returns all deviations, once every diagnostic has been received."""
        unmet = [
            Diagnostic("error", f'expected {item.severity} "{item.text}" was not produced', item.position)
            for item in self._expectations
            if not item.met
        ]
        return [*self.problems, *unmet]

    def _see(self, diagnostic: Diagnostic) -> None:
        position = diagnostic.position
        line = position.line if position is not None and position.file == self._file else None
        near: _Expectation | None = None
        for item in self._expectations:
            if item.met or item.line != line or not item.pattern.search(diagnostic.message):
                continue
            if item.severity == diagnostic.severity:
                item.met = True
                return
            near = item
        if self._only_expected:
            return
        if near is not None:
            message = f"{diagnostic.severity} where this expects {near.severity}: {diagnostic.message}"
            self.problems.append(Diagnostic("error", message, near.position))
        else:
            self.problems.append(Diagnostic("error", f"unexpected {diagnostic.severity}: {diagnostic.message}", position, diagnostic.op))

    def _scan(self, source: Source) -> None:
        lines = source.text.split("\n")
        plain = 1
        """The nearest line above without a comment that expects anything."""
        waiting: list[_Expectation] = []
        for number, line in enumerate(lines, source.line_offset + 1):
            comment = next((match.start() for match in _STRING_OR_COMMENT.finditer(line) if match[0] == "//"), None)
            starts = [] if comment is None else list(_START.finditer(line, comment))
            found = False
            for index, start in enumerate(starts):
                end = starts[index + 1].start() if index + 1 < len(starts) else len(line)
                expectation = self._read(start, line[:end].rstrip(), number)
                if expectation is None:
                    continue
                found = True
                match start["place"]:
                    case "above":
                        expectation.line = plain
                    case "below":
                        expectation.line = source.line_offset + len(lines)
                        waiting.append(expectation)
                    case _:
                        pass
                self._expectations.append(expectation)
            if not found:
                plain = number
                for expectation in waiting:
                    expectation.line = number
                waiting.clear()

    def _read(self, start: re.Match[str], line: str, number: int) -> _Expectation | None:
        """Returns the expectation at `start`; `line` ends before the next expectation. None if the words are prose or malformed."""
        severity, place = start["severity"], start["place"]
        position = Position(self._file, number, start.start() + 1, length=len(line) - start.start())
        known = severity in SEVERITIES
        if not known and start["open"] is None:
            return None
        fault = None
        if not known:
            fault = f"there is no severity {severity!r}; there are {', '.join(SEVERITIES)}"
        elif start["open"] is None:
            fault = "expected {{ after it, and }} at the end"
        elif not line.endswith("}}") or len(line) < start.end() + 2:
            fault = "it must end with }}, and nothing may follow"
        elif place is not None and place not in ("above", "below", "unknown") and not _OFFSET.fullmatch(place):
            fault = f"there is no place @{place}; write @+N, @-N, @above, @below or @unknown"
        text = line[start.end() : -2]
        pattern: re.Pattern[str] | None = None
        if fault is None:
            try:
                pattern = _pattern(text) if start["regex"] else re.compile(re.escape(text))
            except ValueError as error:
                fault = str(error)
            except (re.error, OverflowError, RecursionError) as error:
                fault = f"invalid regular expression: {error}"
        if fault is not None or pattern is None:
            self.problems.append(Diagnostic("error", f"this expectation is malformed: {fault}", position))
            return None
        line_number = None if place == "unknown" else number + (int(place) if place and _OFFSET.fullmatch(place) else 0)
        return _Expectation(severity, text, pattern, position, line_number)


def _pattern(text: str) -> re.Pattern[str]:
    """Compiles literal text with regular expressions between double braces. Raises ValueError and re.error."""
    pieces: list[str] = []
    while text:
        literal, opened, rest = text.partition("{{")
        pieces.append(re.escape(literal))
        if not opened:
            break
        expression, closed, text = rest.partition("}}")
        if not closed:
            raise ValueError("a regular expression begins with {{ and never ends with }}")
        re.compile(expression)
        pieces.append(f"(?:{expression})")
    return re.compile("".join(pieces))
