"""The language server's features at random places of texts that are valid, broken, and just changed: none of them raises.

A case is two texts, the second after a change of the first, with a line between them.
"""

from __future__ import annotations

import random
from zlib import crc32

from lsprotocol import types

from flambeau.tools.language_server import code_actions, completion, hover, navigation, published_diagnostics
from flambeau.tools.language_server.analysis import Analysis, Settings, analyze, completed, moved
from fuzz.campaign import Campaign, Failure
from fuzz.mutation import ROOT, changed, mutated, original

_BREAK = "\n======== changed ========\n"
_URI = "file:///model.mlir"
_ENCODINGS = ("utf-8", "utf-16", "utf-32")


def make(chosen: random.Random) -> str:
    """A text and what becomes of it."""
    text = mutated(chosen) if chosen.random() < 0.4 else original(chosen)
    if chosen.random() < 0.2:
        text += "// -----\n" + original(chosen)
    return text + _BREAK + (changed(text, chosen) if chosen.random() < 0.8 else mutated(chosen))


def _within(analysis: Analysis, place: types.Range) -> None:
    # A lone half of a pair, or what the encoding cannot say, has no width; places are compared as the editor sees them.
    last = analysis.lines.position(len(analysis.text))
    start, end = (place.start.line, place.start.character), (place.end.line, place.end.character)
    if not (0, 0) <= start <= end <= (last.line, last.character):
        raise Failure("a range outside of the text", f"{place}, the text ends at {last}")


def _ask(analysis: Analysis, chosen: random.Random) -> None:
    """Every request, at a few places."""
    length = len(analysis.text)
    found = published_diagnostics.diagnostics(analysis, _URI)
    for item in found:
        _within(analysis, item.range)
    code_actions.code_actions(analysis, _URI, found)
    for symbol in navigation.document_symbols(analysis):
        _within(analysis, symbol.range)
    for _ in range(6):
        position = analysis.lines.position(chosen.randrange(length + 1))
        if chosen.random() < 0.1:
            position = types.Position(chosen.choice((0, position.line, 10**6)), chosen.choice((0, 3, 10**6)))
        hover.hover(analysis, position)
        completion.complete(analysis, position)
        ranges = [*navigation.definition(analysis, position), *navigation.references(analysis, position)]
        ranges += [item.range for item in navigation.highlights(analysis, position)]
        for place in ranges:
            _within(analysis, place)
        navigation.model_source(analysis, position, ROOT)


def _rename(analysis: Analysis, chosen: random.Random) -> None:
    """A name that nothing has: the module is as valid as it was."""
    position = analysis.lines.position(chosen.randrange(len(analysis.text) + 1))
    try:
        given = navigation.rename(analysis, position, "quite_new")
    except ValueError:
        return
    if given is None or published_diagnostics.diagnostics(analysis, _URI):
        return
    again = analyze(_applied(analysis, given), analysis.file, analysis.settings)
    if wrong := published_diagnostics.diagnostics(again, _URI):
        raise Failure("a valid text is wrong after renaming", f"{wrong[0].message}\n{given}\n{again.text}")


def _format(analysis: Analysis) -> None:
    """Formatting keeps a module, and what is formatted stays."""
    given = code_actions.formatting(analysis)
    if published_diagnostics.diagnostics(analysis, _URI):
        return
    again = analyze(_applied(analysis, given), analysis.file, analysis.settings)
    if wrong := published_diagnostics.diagnostics(again, _URI):
        raise Failure("a valid text is wrong after formatting", f"{wrong[0].message}\n{again.text}")
    if _applied(again, code_actions.formatting(again)) != again.text:
        raise Failure("formatting twice is not as once", again.text)


def _applied(analysis: Analysis, given: list[types.TextEdit]) -> str:
    text = analysis.text
    places = [(analysis.lines.offset(item.range.start), analysis.lines.offset(item.range.end), item.new_text) for item in given]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def check(case: str) -> str:
    """Opens the first text and types the second."""
    first, found, second = case.partition(_BREAK)
    if not found:
        return "no case"
    chosen = random.Random(crc32(case.encode("utf-8", "surrogatepass")))
    settings = Settings(chosen.random() < 0.7, chosen.choice(_ENCODINGS))
    analysis = analyze(first, "model.mlir", settings)
    _ask(analysis, chosen)
    analysis = completed(analysis)
    _ask(analysis, chosen)
    _rename(analysis, chosen)
    _format(analysis)
    _ask(moved(second, analysis), chosen)
    after = analyze(second, "model.mlir", settings, analysis)
    _ask(after, chosen)
    fresh = analyze(second, "model.mlir", settings)
    said, expected = ([(item.range, item.message) for item in published_diagnostics.diagnostics(one, _URI)] for one in (after, fresh))
    if said != expected:
        raise Failure("other errors than in a text that was just opened", f"{said}\n{expected}")
    return "valid" if not said else "wrong"


CAMPAIGN = Campaign(make, check)
