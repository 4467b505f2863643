"""Edits that the server offers: apply a diagnostic's suggestion, expect a diagnostic in a comment, format the text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise

from lsprotocol import types

from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, ParsedModule, parse_module, print_module
from flambeau.tools.language_server.analysis import Analysis, Chunk
from flambeau.tools.language_server.published_diagnostics import SOURCE
from flambeau.tools.language_server.published_diagnostics import diagnostics as diagnostics_of

_SUGGESTION = re.compile(r"did you mean '?([^\s'?]+)'?\?")
_SEVERITIES = {
    types.DiagnosticSeverity.Error: "error",
    types.DiagnosticSeverity.Warning: "warning",
    types.DiagnosticSeverity.Information: "remark",
}
_LOCATION = re.compile(r"\bloc\(")
_AROUND = re.compile(r"builtin\.module \{\n(.*?)\}(?: loc\(unknown\))?\n?", re.DOTALL)
_OUTER = re.compile(r"(?<=\n)(?=[^\s}^])")
"""Where, in printed text, an operation at the top level begins."""


def code_actions(
    analysis: Analysis, uri: str, named: Sequence[types.Diagnostic], place: types.Range | None = None
) -> list[types.CodeAction]:
    """Returns code actions for diagnostics: replace a name by the suggested one, or expect the diagnostic, as a test does.

    Args:
        analysis: the file.
        uri: its address.
        named: the diagnostics that the editor asks about.
        place: the lines whose diagnostics are meant if `named` is empty.
    """
    if not named and place is not None:
        first, last = place.start.line, place.end.line
        named = [item for item in diagnostics_of(analysis, uri) if item.range.start.line <= last and item.range.end.line >= first]
    actions: list[types.CodeAction] = []
    for diagnostic in named:
        severity = _SEVERITIES.get(diagnostic.severity or types.DiagnosticSeverity.Error)
        if diagnostic.source != SOURCE or severity is None:
            continue
        if (fix := _suggested(analysis, diagnostic)) is not None:
            actions.append(_action(f"Write {fix.new_text}", types.CodeActionKind.QuickFix, uri, diagnostic, fix))
        expectation = _expectation(analysis, diagnostic, severity)
        actions.append(_action("Expect this diagnostic here", types.CodeActionKind.QuickFix, uri, diagnostic, expectation))
    return actions


def _action(title: str, kind: types.CodeActionKind, uri: str, diagnostic: types.Diagnostic, edit: types.TextEdit) -> types.CodeAction:
    return types.CodeAction(title, kind=kind, diagnostics=[diagnostic], edit=types.WorkspaceEdit(changes={uri: [edit]}))


def _suggested(analysis: Analysis, diagnostic: types.Diagnostic) -> types.TextEdit | None:
    match = _SUGGESTION.search(diagnostic.message)
    if match is None:
        return None
    start, end = analysis.lines.offset(diagnostic.range.start), analysis.lines.offset(diagnostic.range.end)
    word = analysis.text[start:end]
    if not re.fullmatch(r'[%@^]?"?[\w$.\-]+"?', word):
        return None
    suggestion = match[1]
    quote = '"' if word.startswith('"') else ""
    sigil = word[0] if word[0] in "%@^" and suggestion[0] not in "%@^" else ""
    return types.TextEdit(diagnostic.range, f"{sigil}{quote}{suggestion}{quote}")


def _expectation(analysis: Analysis, diagnostic: types.Diagnostic, severity: str) -> types.TextEdit:
    line = diagnostic.range.start.line
    text = analysis.lines.line(line)
    # Expectations above may count lines: they stay next to their operation, and `@below` passes over them.
    while line > 0 and "// expected-" in analysis.lines.line(line - 1):
        line -= 1
    indent = text[: len(text) - len(text.lstrip())]
    message = diagnostic.message.partition("\n")[0]
    place = types.Position(line, 0)
    return types.TextEdit(types.Range(place, place), f"{indent}// expected-{severity} @below {{{{{message}}}}}\n")


def formatting(analysis: Analysis) -> list[types.TextEdit]:
    """Returns edits that replace each module by its printed text, except modules with comments or whose text would parse differently.

    Empty lines between operations at the top level stay. Text without a `builtin.module` around it gets none.
    """
    edits: list[types.TextEdit] = []
    for chunk in analysis.chunks:
        printed = _printed(chunk, analysis)
        if printed is not None and printed != chunk.source.text:
            edits.append(types.TextEdit(analysis.lines.range(chunk.start, chunk.start + len(chunk.source.text)), printed))
    return edits


def _printed(chunk: Chunk, analysis: Analysis) -> str | None:
    parsed = chunk.parsed
    text = chunk.source.text
    if parsed is None or chunk.faults or "//" in re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text) or "{-#" in text:
        return None
    try:
        printed = _as_written(print_module(parsed.module, locations=_LOCATION.search(text) is not None), parsed)
        context = FlambeauContext(allow_unregistered=analysis.allow_unregistered)
        again = parse_module(printed, context)
    except (IRError, ValueError):
        return None
    return printed if equivalent(again.module, parsed.module) else None


def _as_written(printed: str, parsed: ParsedModule) -> str:
    """Returns printed text with the empty lines between operations, and without a module around it if the text had none."""
    inner = _AROUND.fullmatch(printed)
    if inner is None or parsed.module in parsed.offsets:
        return printed
    printed = textwrap.dedent(inner[1])
    places = [] if parsed.map is None else [parsed.map.ranges[op] for op in parsed.module.body.block.ops]
    gaps = [parsed.text.count("\n", before[1], after[0]) > 1 for before, after in pairwise(places)]
    parts = _OUTER.split(printed)
    if len(parts) != len(gaps) + 1:
        return printed
    return "".join(f"{part}{chr(10) if gap else ''}" for part, gap in zip(parts, [*gaps, False], strict=True))
