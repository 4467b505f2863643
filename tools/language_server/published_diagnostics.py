"""Diagnostics in the form that editors show."""

from __future__ import annotations

import re

from lsprotocol import types

from flambeau.dialects.ir.diagnostics import Diagnostic, Severity
from flambeau.dialects.ir.locations import describe_location
from flambeau.support.position import Position
from flambeau.tools.language_server.analysis import Analysis, Fault
from flambeau.tools.language_server.text_positions import Lines

SOURCE = "flambeau"
"""The origin of a diagnostic, as editors show it."""

MOST = 200
"""Of very many, the first are shown."""

_SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "remark": types.DiagnosticSeverity.Information,
    "note": types.DiagnosticSeverity.Information,
}
_NAME = re.compile(r'(?:%[^=\n]*=\s*)?"?[\w$.\-]+"?')


def diagnostics(analysis: Analysis, uri: str) -> list[types.Diagnostic]:
    """Returns all diagnostics of a file; one that a test expects becomes a hint."""
    faults = [fault for chunk in analysis.chunks for fault in chunk.faults]
    return [_converted(fault, analysis, uri) for fault in faults[:MOST]]


def _converted(fault: Fault, analysis: Analysis, uri: str) -> types.Diagnostic:
    diagnostic = fault.diagnostic
    message = diagnostic.message
    location = diagnostic.model_location
    if location is not None and (place := describe_location(location)):
        message = f"{message}\nin {place}"
    return types.Diagnostic(
        place_of(diagnostic, analysis.lines),
        f"expected: {message}" if fault.expected else message,
        severity=types.DiagnosticSeverity.Hint if fault.expected else _SEVERITIES[diagnostic.severity],
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(types.Location(uri, place_of(note, analysis.lines, diagnostic.position)), note.message)
            for note in diagnostic.notes
        ]
        or None,
    )


def place_of(diagnostic: Diagnostic, lines: Lines, otherwise: Position | None = None) -> types.Range:
    """Returns the range of a diagnostic: for one about an operation its results and name, else the range of its position."""
    position = diagnostic.position or otherwise
    if position is None:
        return lines.range(0, 0)
    start = min(lines.start(position.line - 1) + position.column - 1, len(lines.text))
    end = start + position.length
    if diagnostic.op is not None and (match := _NAME.match(lines.text, start)) is not None:
        end = match.end()
    return lines.range(start, end)
