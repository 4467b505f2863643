"""Descriptions of an operation, a value, a block, a symbol or an attribute at a position."""

from __future__ import annotations

from lsprotocol import types
from xdsl.ir import Block, Operation, OpResult, SSAValue

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.source_map import Mention
from flambeau.tools.language_server import describe
from flambeau.tools.language_server.analysis import Analysis, Chunk
from flambeau.tools.language_server.text_around import in_comment, open_brace, statement_before, word_at


def hover(analysis: Analysis, position: types.Position) -> types.Hover | None:
    """Returns a description of the name or operation at a position; None if there is none."""
    offset = analysis.lines.offset(position)
    word = word_at(analysis.text, offset)
    if word is None or in_comment(analysis.text, word.start):
        return None
    chunk = analysis.chunk_at(offset)
    mention = chunk.mention_at(offset)
    if mention is not None:
        span = chunk.span(mention.start, mention.end)
        text = _named(mention, chunk)
    else:
        span = word.start, word.end
        text = _operation(analysis, chunk, word.text.strip('"'), word.start) or _attribute(analysis, word.text, word.start)
    if not text or span is None:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), analysis.lines.range(*span))


def _named(mention: Mention, chunk: Chunk) -> str | None:
    parsed = chunk.good
    if parsed is None:
        return None
    name = parsed.text[mention.start : mention.end]
    match mention.named:
        case (str() as symbol, *_):
            op = chunk.map.symbols.get(symbol)
            return None if op is None else f"```mlir\n{describe.header(op, parsed)}\n```\n\n{describe.summary(type(op))}"
        case (Block() as block, *_):
            return describe.block(block, name)
        case (SSAValue() as value,):
            if isinstance(value, OpResult) and len(value.op.results) > 1:
                name = f"{name.partition('#')[0]}#{value.op.results.index(value)}"
            return describe.value(value, name, parsed)
        case (SSAValue() as value, *_):
            kinds = ", ".join(str(item.type) for item in mention.named if isinstance(item, SSAValue))
            return f"```mlir\n{name} : {kinds}\n```\n{len(mention.named)} results of `{getattr(value.owner, 'name', '')}`"
        case _:
            return None


def _operation(analysis: Analysis, chunk: Chunk, name: str, start: int) -> str | None:
    if "." not in name:
        return None
    op: Operation | None = chunk.operation_at(start)
    if op is not None and op.name == name:
        return describe.operation(op)
    kind = describe.find_operation(name, FlambeauContext(allow_unregistered=False))
    return None if kind is None else describe.operator(kind)


def _attribute(analysis: Analysis, name: str, start: int) -> str | None:
    operation, text = statement_before(analysis.text, start)
    if operation is None or open_brace(text) is None:
        return None
    kind = describe.find_operation(operation, FlambeauContext())
    if kind is None or not issubclass(kind, SchemaOp) or (argument := kind.schema.attributes.get(name)) is None:
        return None
    return f"```\n{describe.argument_text(argument)}\n```\nattribute of `{kind.name}`"
