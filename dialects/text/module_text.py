"""Parses, prints, reads and writes modules: text with source positions, and files with their weights beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.ir.verifier_messages import verify_message
from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.ir.weight_files import check_beside, takes_weights, weights_beside
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.operation_text import PrintingOptions, strict_text
from flambeau.dialects.text.parser import ModuleParser
from flambeau.dialects.text.source_text import Source
from flambeau.support.files import write_text
from flambeau.support.position import Position

if TYPE_CHECKING:
    from flambeau.dialects.text.source_map import SourceMap


_PARSER_ERRORS = (
    *(ParseError, VerifyException, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(AssertionError, NotImplementedError),
)
"""The exceptions that the parsers of xDSL and of plug-ins raise for text that is not valid."""


class IRError(ValueError):
    """Text that is not a valid module. The message is one line: file, position, error."""

    def __init__(self, message: str, position: Position | None = None, op: Operation | None = None, others: tuple[Diagnostic, ...] = ()):
        self.diagnostic = Diagnostic("error", message, position, op)
        self.diagnostics = (self.diagnostic, *others)
        """All errors, the first included."""
        self.before: ParsedModule | None = None
        """The operations before a parse error, detached, if `parse_module` was to record symbols."""
        super().__init__(str(self.diagnostic))

    def locate(self, location: Attribute | None) -> None:
        """Sets the location in the user's model."""
        self._replace(replace(self.diagnostic, location=location))

    def explain(self, note: Diagnostic) -> None:
        """Adds a note."""
        self._replace(replace(self.diagnostic, notes=(*self.diagnostic.notes, note)))

    def _replace(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        self.diagnostics = (diagnostic, *self.diagnostics[1:])

    @staticmethod
    def of(diagnostics: Sequence[Diagnostic], file: str) -> IRError:
        """Returns an exception for several errors of a file, with the message of the first error."""
        first = diagnostics[0]
        error = IRError(first.message if first.position else f"{file}: {first.message}", first.position, first.op, tuple(diagnostics[1:]))
        error.diagnostic = replace(error.diagnostic, notes=first.notes)
        error.diagnostics = (error.diagnostic, *diagnostics[1:])
        return error


@dataclass(frozen=True)
class ParsedModule:
    """A module with the positions of its operations in the text."""

    module: ModuleOp
    source: Source
    offsets: dict[Operation, int]
    """The offset at which each parsed operation begins. An implicit module around the operations has none."""
    map: SourceMap | None = None
    """The ranges of operations and names in the text, if `parse_module` was to record symbols."""

    @property
    def text(self) -> str:
        """The text that was parsed."""
        return self.source.text

    @property
    def file(self) -> str:
        """The name of the file, for messages."""
        return self.source.file

    def position(self, op: Operation) -> Position | None:
        """Returns the position at which `op` begins in the text; None for an operation that was created after parsing."""
        offset = self.offsets.get(op)
        return None if offset is None else self.source.position(offset)

    def with_positions(self, diagnostic: Diagnostic) -> Diagnostic:
        """Returns the diagnostic, in which it and its notes have the positions of their operations, unless they have positions."""
        position = diagnostic.position
        if position is None and diagnostic.op is not None:
            position = self.position(diagnostic.op)
        return replace(diagnostic, position=position, notes=tuple(map(self.with_positions, diagnostic.notes)))


def parse_module(
    text: str, context: Context, file: str = "<string>", *, line_offset: int = 0, locate: bool = False, record_symbols: bool = False
) -> ParsedModule:
    """Parses a module without verifying it.

    Args:
        text: the module.
        context: the context with the dialects.
        file: the name of the text in errors and locations.
        line_offset: the number of lines of the file before the text.
        locate: give each operation without `loc(…)` its position in the text as its location.
        record_symbols: record the ranges of operations and of the names of values, blocks and symbols in `ParsedModule.map`.

    Raises:
        IRError: names the position.
    """
    parser_type = ModuleParser
    if record_symbols:
        from flambeau.dialects.text.source_map import MapParser

        parser_type = MapParser
    source = Source(text, file, line_offset)
    parser: ModuleParser | None = None
    try:
        parser = parser_type(context, source, locate=locate)
        module = parser.parse_module()
    except RecursionError:
        place = None if parser is None else source.position(parser.pos)
        raise IRError("the text is nested too deeply" if place else f"{file}: the text is nested too deeply", place) from None
    except MemoryError:
        raise IRError(f"{file}: the text contains a constant that does not fit in memory") from None
    except _PARSER_ERRORS as error:
        from flambeau.dialects.text.parse_messages import defined_before, parse_message

        message, (start, end) = parse_message(error, source, context, parser)
        found = IRError(message, source.position(start, end))
        if (definition := defined_before(error, source, context)) is not None:
            found.explain(Diagnostic("note", definition[0], source.position(*definition[1])))
        if parser is not None:
            found.locate(_location_on_line(parser, start))
        if parser is not None and record_symbols:
            found.before = ParsedModule(ModuleOp([]), source, parser.offsets, parser.source_map())
        raise found from error
    _check_block(module, source.position(parser.offsets.get(module, 0)))
    return ParsedModule(module, source, parser.offsets, parser.source_map())


def _check_block(module: ModuleOp, position: Position) -> None:
    """Checks that a module has one block, on which all that reads its operations relies. Raises IRError."""
    if module.body.first_block is None or module.body.first_block is not module.body.last_block:
        try:
            module.verify_()
        except VerifyException as error:
            raise IRError(verify_message(str(error)), position) from error


def _location_on_line(parser: ModuleParser, offset: int) -> Attribute | None:
    try:
        return parser.location_on_line(offset)
    except _PARSER_ERRORS:
        return None


def read_text(path: str | PathLike[str]) -> str:
    """Reads a text file. Raises IRError when it is not UTF-8, and OSError."""
    return decode(Path(path).read_bytes(), str(path))


def decode(data: bytes, file: str) -> str:
    """Decodes the bytes of a file: UTF-8, with or without a byte order mark. Raises IRError that names the position of other bytes."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise IRError(f"{file}: the file is not text: give a module as a .mlir file") from None
        before = _with_newlines(error.object[: error.start].decode())
        place = Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise IRError(f"the byte 0x{error.object[error.start]:02x} is not UTF-8 text", place) from None
    return _with_newlines(text)


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_module(path: str | PathLike[str], context: FlambeauContext, *, locate: bool = False) -> ParsedModule:
    """Reads and verifies `model.mlir`, and opens the weights in `model.safetensors` beside it; `locate` as in `parse_module`.

    Raises:
        IRError, OSError: the file is not a valid module, or cannot be read.
    """
    text = read_text(path)
    context.blobs.open_beside(path)
    parsed = parse_module(text, context, str(path), locate=locate)
    verify_parsed(parsed)
    return parsed


def write_module(module: ModuleOp, context: FlambeauContext, path: Path) -> None:
    """Writes a module with locations to `path` and, unless `path` is a device, its weights beside it. Raises OSError, BlobError."""
    text = print_module(module, locations=True)
    check_beside(path)
    if takes_weights(path):
        save_weights(module, context.blobs, weights_beside(path))
    write_text(path, text)


def verify_parsed(parsed: ParsedModule) -> None:
    """Verifies a parsed module. Raises IRError that names the position in the text."""
    try:
        verify_module(parsed.module)
    except VerificationError as error:
        raise IRError.of([parsed.with_positions(fault.diagnostic) for fault in (error, *error.others)], parsed.file) from error


def print_module(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """Returns the text of a module, which parses back to an equal one (weights aside)."""
    return strict_text(module, PrintingOptions(generic=generic, locations=locations))
