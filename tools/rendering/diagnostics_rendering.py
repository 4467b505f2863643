"""Renders diagnostics as text: position, message, the line with a caret, and the location in the user's model."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import cast

from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from flambeau.dialects.ir.diagnostics import Diagnostic, Severity, listening
from flambeau.dialects.ir.locations import describe_location, file_positions
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.dialects.text.source_text import Source
from flambeau.passes.manager import PassCrash
from flambeau.passes.manager.errors import ResultChanged
from flambeau.support.position import Position
from flambeau.support.terminal import wants_colour
from flambeau.support.tracebacks import in_one_line, raised_outside

LINE_WIDTH = 160
"""Longer lines of text are cut around the caret."""
MOST_ERRORS = 20
"""The most errors of one module that are shown; the rest are counted."""

_COLOURS: dict[Severity, str] = {"error": "\x1b[1;31m", "warning": "\x1b[1;35m", "remark": "\x1b[1;34m", "note": "\x1b[1;36m"}
_BOLD, _CARET, _RESET = "\x1b[1m", "\x1b[1;32m", "\x1b[0m"


def placed(diagnostic: Diagnostic, parsed: ParsedModule) -> Diagnostic:
    """Returns the diagnostic and its notes with the positions of their operations in the text of `parsed`, if known."""
    position = diagnostic.position
    if position is None and diagnostic.op is not None:
        position = position_of(diagnostic.op, parsed)
    return replace(diagnostic, position=position, notes=tuple(placed(note, parsed) for note in diagnostic.notes))


def position_of(op: Operation, parsed: ParsedModule) -> Position | None:
    """Returns the position in the text of an operation, or of the operation that it was made from."""
    position = parsed.position(op)
    if position is None:
        # A pass made the operation: rewrites keep the location of the replaced operation.
        found = next((loc for loc in file_positions(op.location) if loc.filename.data == parsed.file), None)
        position = None if found is None else Position(parsed.file, found.line.data, found.column.data)
    return position


def diagnostics_of(error: Exception) -> tuple[Diagnostic, ...] | None:
    """Returns the message of an exception for the user; None for a bug, whose message is not for the user."""
    if isinstance(found := getattr(error, "diagnostics", None), tuple):
        return cast("tuple[Diagnostic, ...]", found)
    if isinstance(found := getattr(error, "diagnostic", None), Diagnostic):
        return (found,)
    if isinstance(error, OSError) and error.filename is not None:
        return (Diagnostic("error", f"{error.filename}: {error.strerror}"),)
    if isinstance(error, ValueError | RuntimeError | OSError) and not isinstance(error, RecursionError | NotImplementedError):
        return (Diagnostic("error", str(error)),)
    return None


def internal_error(error: Exception) -> Diagnostic:
    """Returns a bug as one line, with its position if it is in a plug-in."""
    place = raised_outside(error)
    notes = () if place is None else (Diagnostic("note", "raised here", place),)
    return Diagnostic("error", f"internal error: {in_one_line(error)}", notes=notes)


def files_of(error: Exception) -> tuple[Diagnostic, ...]:
    """Returns the file with more about a failure: its reproducer, or, for a bug without one, a new file with the traceback."""
    import traceback

    from flambeau.tools.reproducers.crash_reproducer import reproducer_of
    from flambeau.tools.reproducers.failure_files import new_failure_file

    notes = [Diagnostic("note", note) for note in getattr(error, "__notes__", ())]
    if (path := reproducer_of(error)) is not None:
        more = f"; flambeau bisect {path} finds the rewrite" if isinstance(error, ResultChanged) else ""
        notes.append(Diagnostic("note", f"the IR before the pass is in {path}; flambeau-opt --run-reproducer {path} runs it again{more}"))
    elif diagnostics_of(error) is None or isinstance(error, PassCrash):
        try:
            path = new_failure_file("traceback", ".txt")
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
            notes.append(Diagnostic("note", f"the traceback is in {path}"))
        except OSError:
            pass  # the failure itself matters more
    return tuple(notes)


@dataclass
class Renderer:
    """A renderer of diagnostics as lines of text."""

    colour: bool = False
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    """The texts that were read, by file name; the text of any other file is read from the disk."""
    show_changes: bool = False
    """Whether to print an operation that differs from the text."""

    def render(self, *diagnostics: Diagnostic) -> str:
        """Returns the text of the diagnostics, each followed by its notes, ending with a line break.

        After a limit, further diagnostics are only counted.
        """
        shown = diagnostics[:MOST_ERRORS]
        lines = [f"{line}\n" for diagnostic in shown for line in self._lines(diagnostic)]
        more = len(diagnostics) - len(shown)
        return "".join([*lines, f"and {more} more error{'s' if more > 1 else ''}\n"] if more else lines)

    def _lines(self, diagnostic: Diagnostic) -> Iterable[str]:
        position, op = diagnostic.position, diagnostic.op
        at = f"{self._paint(_BOLD, f'{position}:')} " if position else ""
        severity = self._paint(_COLOURS[diagnostic.severity], f"{diagnostic.severity}:")
        first, *rest = diagnostic.message.splitlines() or [""]
        yield f"{at}{severity} {printable(first)}"
        yield from map(printable, rest)
        if position:
            yield from self._excerpt(position)
        location = diagnostic.model_location
        if location is not None and (place := describe_location(location, without=position.file if position else None)) != "":
            yield f"  in {printable(place)}"
            yield from self._model_line(location, position)
        if op is not None and self.show_changes and (now := self._changed(op, position)) is not None:
            yield f"  op: {now}"
        for note in diagnostic.notes:
            yield from self._lines(note)

    def _excerpt(self, position: Position) -> Iterable[str]:
        line = self._line_of(position)
        if line is None or position.column > len(line) + 1:
            return
        start = position.column - 1
        length = min(position.length, max(1, len(line) - start))
        shown, start, length = _cut(line, start, length)
        indent = "".join("\t" if character == "\t" else " " * _width(character) for character in shown[:start])
        mark = "^" + "~" * (sum(map(_width, shown[start : start + length])) - 1)
        yield printable(shown)
        yield indent + self._paint(_CARET, mark)

    def _line_of(self, position: Position) -> str | None:
        source = self.sources.get(position.file)
        if source is None:
            try:
                source = Source(Path(position.file).read_text(encoding="utf-8"), position.file)
            except (OSError, ValueError):
                source = Source("", position.file)
            self.sources[position.file] = source
        return source.line(position.line)

    def _model_line(self, location: Attribute, position: Position | None) -> Iterable[str]:
        for place in file_positions(location):
            file, line = place.filename.data, place.line.data
            if position is not None and file == position.file:
                continue
            text = self._line_of(Position(file, line, 1))
            if text is not None and text.strip():
                yield f"  {line:5} | {printable(_cut(text, 0, 1)[0])}"
            return

    def _changed(self, op: Operation, position: Position | None) -> str | None:
        """Returns the operation in one line, if it differs from the text."""
        now = one_line(op)
        line = self._line_of(position) if position else None
        if line is not None and position is not None and _same(line[position.column - 1 :], now):
            return None
        return _cut(now, 0, 1)[0]

    def _paint(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_RESET}" if self.colour else text


def tell(severity: Severity, message: str, colour: bool | None = None) -> None:
    """Writes a diagnostic without a position to stderr, in colour if stderr supports it, unless `colour` decides."""
    renderer = Renderer(wants_colour(sys.stderr) if colour is None else colour)
    sys.stderr.write(renderer.render(Diagnostic(severity, message)))


def printable(text: str) -> str:
    """Returns `text` without characters that move the cursor or end the line; tabs stay."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


class _Printed(Exception):
    """A signal that the operation was printed and the rest is not needed."""


class _OneLinePrinter(Printer):
    """A printer of one operation, with the names that its values have in the whole text, which is printed up to it."""

    def __init__(self, target: Operation, stream: StringIO, *, generic: bool):
        super().__init__(stream, print_generic_format=generic)
        self._target = target
        self._stream = stream
        self.start: int | None = None

    def print_op(self, op: Operation) -> None:
        if op is self._target:
            self.start = self._stream.tell()
        super().print_op(op)
        if op is self._target:
            raise _Printed


def one_line(op: Operation) -> str:
    """Returns an operation as printed, without its regions; only its name if it is too broken to print."""
    root: Operation = op
    while (parent := root.parent_op()) is not None:
        root = parent
    for generic in (False, True):
        printer = _OneLinePrinter(op, stream := StringIO(), generic=generic)
        try:
            printer.print_op(root)
        except _Printed:
            pass
        except Exception:
            # An error is about this operation, so the IR may be arbitrarily broken.
            continue
        if printer.start is not None:
            return stream.getvalue()[printer.start :].strip().partition("\n")[0]
    return op.name


def _same(source: str, printed: str) -> bool:
    """Returns whether a line of text begins with the printed operation, followed only by a location or a comment."""
    squeezed, wanted = "".join(source.split()), "".join(printed.split())
    rest = squeezed.removeprefix(wanted)
    return squeezed == wanted or (rest != squeezed and rest.startswith(("loc(", "//")))


def _width(character: str) -> int:
    """Returns the number of columns of a character; 0 for a combining accent."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(line: str, start: int, length: int) -> tuple[str, int, int]:
    """Returns a part of the line that shows column `start`, with the new column and length of the marked part."""
    if len(line) <= LINE_WIDTH:
        return line, start, length
    first = 0 if start < LINE_WIDTH * 3 // 4 else start - LINE_WIDTH // 2
    last = first + LINE_WIDTH
    head, tail = "…" if first else "", "…" if last < len(line) else ""
    return head + line[first:last] + tail, start - first + len(head), min(length, last - start)


def warnings_on_stderr() -> AbstractContextManager[None]:
    """Prints the warnings that are emitted within the block."""
    renderer = Renderer(wants_colour(sys.stderr))
    return listening(lambda diagnostic: print(renderer.render(diagnostic), end="", file=sys.stderr), ("warning",))
