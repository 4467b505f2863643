"""Navigation by names: definition, references, highlights, renaming; the outline of a file."""

from __future__ import annotations

import re
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.locations import file_positions
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.text.source_map import Mention
from flambeau.tools.language_server import describe
from flambeau.tools.language_server.analysis import Analysis, Chunk
from flambeau.tools.language_server.text_around import definitions, in_comment, word_at

_LAST = 2**31 - 1
"""The largest line or column that the protocol knows."""
_NEW_NAME = re.compile(r"[%@^]?([A-Za-z_$][\w$.\-]*|\d+)")


def definition(analysis: Analysis, position: types.Position) -> list[types.Range]:
    """Returns the definition of the name at a position."""
    offset = analysis.lines.offset(position)
    chunk = analysis.chunk_at(offset)
    mention = chunk.mention_at(offset)
    if mention is None:
        return _definition_of_word(analysis, chunk, offset)
    spans = [
        span
        for named in mention.named
        if (found := chunk.map.definition_of(named)) is not None and (span := chunk.span(found.start, found.end)) is not None
    ]
    return [analysis.lines.range(*span) for span in dict.fromkeys(spans)]


def _definition_of_word(analysis: Analysis, chunk: Chunk, offset: int) -> list[types.Range]:
    """Returns the nearest place above that looks like the definition of a name typed since the text was last readable."""
    word = word_at(analysis.text, offset)
    if word is None or not word.text.startswith("%") or in_comment(analysis.text, offset):
        return []
    name = word.text.partition("#")[0]
    above = analysis.text[chunk.start : analysis.text.find("\n", offset) if "\n" in analysis.text[offset:] else len(analysis.text)]
    found: int | None = None
    for start in (chunk.start, chunk.start + above.rfind("func.func")):
        place = definitions(analysis.text[start : chunk.start + len(above)]).get(name)
        found = start + place if place is not None else found
    return [] if found is None else [analysis.lines.range(found, found + len(name))]


def model_source(analysis: Analysis, position: types.Position, folder: Path) -> list[types.Location]:
    """Returns the place in the user's model of the operation name at a position, if the file is found here, in `folder` or above."""
    offset = analysis.lines.offset(position)
    word = word_at(analysis.text, offset)
    op = analysis.chunk_at(offset).operation_at(offset)
    if word is None or op is None or word.text.strip('"') != op.name:
        return []
    found: list[types.Location] = []
    for location in file_positions(op.location):
        path = next((path for around in (folder, *folder.parents) if (path := around / location.filename.data).is_file()), None)
        line, column = (min(max(number.data - 1, 0), _LAST) for number in (location.line, location.column))
        place = types.Position(line, column)
        uri = None if path is None else from_fs_path(str(path))
        if uri is not None:
            found.append(types.Location(uri, types.Range(place, place)))
    return found


def references(analysis: Analysis, position: types.Position, *, declaration: bool = True) -> list[types.Range]:
    """Returns all mentions of the name at a position, in the order of the text."""
    offset = analysis.lines.offset(position)
    chunk = analysis.chunk_at(offset)
    mention = chunk.mention_at(offset)
    if mention is None:
        return []
    spans = {span for named in mention.named for span in chunk.spans_of(named, definitions=declaration)}
    return [analysis.lines.range(*span) for span in sorted(spans)]


def highlights(analysis: Analysis, position: types.Position) -> list[types.DocumentHighlight]:
    """Returns the mentions of the name at a position: written at its definition, read at its uses."""
    defined = {(place.start.line, place.start.character) for place in definition(analysis, position)}
    return [
        types.DocumentHighlight(
            place,
            types.DocumentHighlightKind.Write if (place.start.line, place.start.character) in defined else types.DocumentHighlightKind.Read,
        )
        for place in references(analysis, position)
    ]


def rename(analysis: Analysis, position: types.Position, name: str) -> list[types.TextEdit] | None:
    """Returns the edits that rename the value, block or symbol at a position; None if renaming is unsafe.

    Raises:
        ValueError: `name` is not a valid name, or is in use here.
    """
    offset = analysis.lines.offset(position)
    chunk = analysis.chunk_at(offset)
    mention = chunk.mention_at(offset)
    if mention is None or chunk.good is not chunk.parsed or chunk.good is None:
        return None
    match = _NEW_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a name: write a letter and then letters, digits and _, or a number")
    text = chunk.good.text
    sigil, old = text[mention.start], _stem(text, mention)
    if sigil == "@" and mention.named[0] not in chunk.map.symbols:
        return None
    same = {item for named in mention.named for item in _with_siblings(named)}
    first, last = _scope(chunk, mention) if sigil != "@" else (0, len(text))
    edits: list[types.TextEdit] = []
    for item in chunk.map.mentions:
        if first <= item.start < last and text[item.start] == sigil and _stem(text, item) == match[1] and not same & set(item.named):
            raise ValueError(f"{sigil}{match[1]} is the name of something else here")
        if same & set(item.named) and text[item.start] == sigil and _stem(text, item) == old:
            start = chunk.start + item.start + 1
            edits.append(types.TextEdit(analysis.lines.range(start, start + len(old)), match[1]))
    return edits


def _scope(chunk: Chunk, mention: Mention) -> tuple[int, int]:
    """Returns the text of the innermost enclosing operation that is isolated from names outside."""
    op = chunk.map.operation_at(mention.start)
    while op is not None and not op.has_trait(IsolatedFromAbove):
        op = op.parent_op()
    return chunk.map.ranges.get(op, (0, len(chunk.source.text))) if op is not None else (0, len(chunk.source.text))


def _stem(text: str, mention: Mention) -> str:
    """Returns a name without its sigil, and without the number of one of several results."""
    return text[mention.start + 1 : mention.end].partition("#")[0].partition(":")[0]


def _with_siblings(named: SSAValue | Block | str) -> list[SSAValue | Block | str]:
    """Returns a value with the other results of its operation, which may share its name."""
    if isinstance(named, SSAValue) and isinstance(named.owner, Operation):
        return list(named.owner.results)
    return [named]


def document_symbols(analysis: Analysis) -> list[types.DocumentSymbol]:
    """Returns the functions, methods, globals and other symbols of a file."""
    found: list[types.DocumentSymbol] = []
    for chunk in analysis.chunks:
        if chunk.ends_early:
            outer = ((name, op) for name, op in chunk.map.symbols.items() if op.parent_op() is None)
            found += [symbol for name, op in outer if (symbol := _symbol(analysis, chunk, op, name, [])) is not None]
        elif chunk.good is not None:
            found += _symbols(analysis, chunk, chunk.good.module)
    return found


def _symbols(analysis: Analysis, chunk: Chunk, around: Operation) -> list[types.DocumentSymbol]:
    found: list[types.DocumentSymbol] = []
    names = {op: name for name, op in chunk.map.symbols.items()}
    for region in around.regions:
        for block in region.blocks:
            for op in block.ops:
                # An operation that is neither isolated nor a symbol holds code.
                inner = _symbols(analysis, chunk, op) if isinstance(op, ModuleOp) else []
                symbol = _symbol(analysis, chunk, op, names.get(op), inner)
                found += inner if symbol is None else [symbol]
    return found


def _symbol(
    analysis: Analysis, chunk: Chunk, op: Operation, name: str | None, inner: list[types.DocumentSymbol]
) -> types.DocumentSymbol | None:
    place = chunk.map.ranges.get(op)
    whole = None if place is None else chunk.span(*place)
    if name is None or whole is None:
        return None
    mention = chunk.map.definition_of(name)
    own = None if mention is None else chunk.span(mention.start, mention.end)
    if own is None or not whole[0] <= own[0] <= own[1] <= whole[1]:
        own = whole[0], whole[0]
    detail = str(op.function_type) if isinstance(op, FuncOp) else str(op.type) if isinstance(op, GlobalOp) else op.name
    return types.DocumentSymbol(
        name, _kind(op), analysis.lines.range(*whole), analysis.lines.range(*own), detail[: describe.LONGEST], children=inner
    )


def _kind(op: Operation) -> types.SymbolKind:
    match op:
        case FuncOp():
            return types.SymbolKind.Function
        case MethodOp():
            return types.SymbolKind.Method
        case GlobalOp():
            return types.SymbolKind.Variable if op.is_mutable is not None else types.SymbolKind.Constant
        case ModuleOp():
            return types.SymbolKind.Module
        case _:
            return types.SymbolKind.Function if op.has_trait(IsolatedFromAbove) else types.SymbolKind.Object
