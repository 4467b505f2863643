"""The reasons of a failed conversion: a table for the user, and data for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.passes.manager import Instrumentation, PassStep
from flambeau.passes.rewriting.conversion_report import ConversionError, LegalizationReport, LegalizationRow
from flambeau.support.position import Position
from flambeau.tools.rendering.diagnostics_rendering import position_of, printable


def report_of(error: BaseException) -> LegalizationReport | None:
    """Returns the report of illegal operations, if a conversion failed, or None."""
    cause = error.__cause__ if error.__cause__ is not None else error
    return cause.report if isinstance(cause, ConversionError) else None


class LegalityWatcher(Instrumentation):
    """An instrumentation that records the operations that conversions could not make legal, as data."""

    def __init__(self, parsed: ParsedModule, reports: list[dict[str, Any]]):
        self._parsed = parsed
        self._reports = reports

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Records the report."""
        if (report := report_of(error)) is not None:
            self._reports.append(_as_data(report, step.name, self._parsed))


def legality_table(error: BaseException, parsed: ParsedModule | None = None) -> str:
    """Returns a row for each kind of operation that stayed illegal: count, place, reason, and the reason that each pattern declined.

    The result is empty for other errors, and if its only row would repeat the message.
    """
    report = report_of(error)
    if report is None or (len(report.rows) == 1 and not report.rows[0].attempts):
        return ""
    rows = [("operation", "count", "at" if parsed else "", ["why"])]
    rows += [(row.name, str(row.count), _first_place(row, parsed), row.explanation(parsed.file if parsed else None)) for row in report.rows]
    name, count, place = (max(len(row[column]) for row in rows) for column in range(3))
    lines: list[str] = []
    for row in rows:
        head = f"  {row[0]:{name}}  {row[1]:>{count}}  {f'{row[2]:{place}}  ' if place else ''}"
        for line in row[3]:
            lines.append(printable(f"{head}{line}".rstrip()))
            head = " " * len(head)
    return "".join(f"{line}\n" for line in lines)


def above_table(error: BaseException, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics of an error without the part that its table repeats in a shorter form than notes."""
    report = report_of(error)
    if report is None:
        return tuple(diagnostics)
    return tuple(replace(item, message="".join(item.message.partition(report.head)[:2]), notes=()) for item in diagnostics)


def _as_data(report: LegalizationReport, step: str, parsed: ParsedModule) -> dict[str, Any]:
    return {
        "pass": step,
        "target": report.target,
        "count": report.count,
        "operations": [
            {
                "name": row.name,
                "count": row.count,
                "reason": row.reason,
                "tried": [{"pattern": attempt.pattern, "declined": attempt.reason} for attempt in row.attempts],
                "in_model": list(row.places()),
                "in_text": [str(position) for op in row.ops if (position := _position(op, parsed)) is not None],
            }
            for row in report.rows
        ],
    }


def _position(op: Operation, parsed: ParsedModule | None) -> Position | None:
    return None if parsed is None else position_of(op, parsed)


def _first_place(row: LegalizationRow, parsed: ParsedModule | None) -> str:
    position = _position(row.ops[0], parsed)
    return f"{position.line}:{position.column}" if position else ""
