"""Inlay hints: the names of an operator's arguments, if the text has only their values."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from flambeau.dialects.schema.row import SchemaOp
from flambeau.tools.language_server.analysis import Analysis, Chunk

FEWEST = 2
"""An operator of fewer tensors needs no hints."""


def inlay_hints(analysis: Analysis, wanted: types.Range) -> list[types.InlayHint]:
    """Returns the argument names of operators within a range of the file: `input:` before the first operand of a convolution."""
    first, last = analysis.lines.offset(wanted.start), analysis.lines.offset(wanted.end)
    return [
        types.InlayHint(analysis.lines.position(offset), f"{name}:", types.InlayHintKind.Parameter, padding_right=True)
        for chunk in analysis.chunks
        for offset, name in _arguments(chunk, first, last)
        if first <= offset <= last
    ]


def _arguments(chunk: Chunk, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yields the offsets and names of arguments, for the operations that begin in a range of lines."""
    for op, (start, end) in chunk.map.ranges.items():
        span = chunk.span(start, end)
        if span is None or span[0] > last or span[1] < first or not isinstance(op, SchemaOp) or chunk.good is None:
            continue
        names = [argument.name for argument in op.schema.operands]
        if len(names) < FEWEST:
            continue
        written = _written(chunk.good.text, start, end, op.name)
        if len(written) == len(names):
            yield from ((span[0] + place - start, name) for place, name in zip(written, names, strict=True))


def _written(text: str, start: int, end: int, name: str) -> list[int]:
    """Returns the offset of each argument in an operator's own syntax; empty for the generic form."""
    opening = text.find(f"{name}(", start, end)
    if opening < 0:
        return []
    begins: list[int] = []
    depth, fresh = 0, False
    for place in range(opening + len(name), end):
        character = text[place]
        if character in ")]":
            depth -= 1
            if depth == 0:
                return begins
        elif fresh and depth == 1 and not character.isspace():
            begins.append(place)
            fresh = False
        if character in "([":
            depth += 1
            fresh |= depth == 1
        elif character == "," and depth == 1:
            fresh = True
    return []
