"""Completion: operations, attributes of the operation at hand, values in scope, blocks, symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsolatedFromAbove

from flambeau.dialects.ir.dominance import dominator_tree, has_ssa_dominance
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.tools.language_server import describe
from flambeau.tools.language_server.analysis import Analysis, Chunk
from flambeau.tools.language_server.text_around import definitions, in_comment, open_brace, opens_region, statement_before

TRIGGERS = (".", "%", "@", "^", "{")
"""The characters behind which an editor asks."""

MOST = 1000
"""So many proposals are enough to choose from, and hold every operator of `aten`: typing on narrows them down."""

_BEGUN = re.compile(r'\s*(?:%[^=]*=\s*)?"?')
"""The text that may precede the name of an operation on its line."""
_BEFORE = re.compile(r"[%@^]?[\w$.\-#]*\Z")
_HIDDEN = ("operandSegmentSizes", "resultSegmentSizes", "absentElements")
_BOOLEANS = ("true", "false")


def complete(analysis: Analysis, position: types.Position) -> list[types.CompletionItem]:
    """Returns the proposals for a position, from the text before it."""
    offset = analysis.lines.offset(position)
    if in_comment(analysis.text, offset):
        return []
    line = analysis.text[analysis.lines.start(analysis.lines.line_at(offset)) : offset]
    match = _BEFORE.search(line)
    prefix = match[0] if match is not None else ""
    replaced = analysis.lines.range(offset - len(prefix), offset)
    chunk = analysis.chunk_at(offset)
    match prefix[:1]:
        case "%":
            found = _values(analysis, chunk, offset, prefix)
        case "@":
            found = _symbols(analysis, chunk)
        case "^":
            found = _blocks(chunk, offset)
        case _:
            found = _words(analysis, offset, prefix)
    items = [item for item in found if item.label.startswith(prefix)][:MOST]
    for item in items:
        item.text_edit = types.TextEdit(replaced, item.label)
    return items


def _item(label: str, kind: types.CompletionItemKind, detail: str = "", text: str = "", *, rank: int = 0) -> types.CompletionItem:
    content = types.MarkupContent(types.MarkupKind.Markdown, text) if text else None
    return types.CompletionItem(label, kind=kind, detail=detail or None, documentation=content, sort_text=f"{rank:05}{label}")


def _block_at(chunk: Chunk, place: int) -> Block | None:
    """Returns the innermost block at a place in the last readable text."""
    op = chunk.map.operation_at(place)
    ranges = chunk.map.ranges
    if chunk.ends_early:
        above = max((op for op in ranges if ranges[op][1] <= place), key=lambda op: ranges[op][1], default=None)
        return None if above is None else above.parent
    if op is None or chunk.good is None:
        return None
    found: Block | None = None
    for region in op.regions:
        for block in region.blocks:
            first, label = block.first_op, chunk.map.definition_of(block)
            begun = label.end <= place if label is not None else first is not None and first in ranges and ranges[first][0] <= place
            # Before the first operation, but on a line below the one that opens the region.
            if begun or (found is None and "\n" in chunk.good.text[ranges[op][0] : place]):
                found = block
    return op.parent if found is None else found


def _around(chunk: Chunk, place: int) -> Iterator[Block]:
    """Yields the blocks whose values can be used at a place, innermost first."""
    block = _block_at(chunk, place)
    while block is not None:
        yield block
        around = block.parent_op()
        if around is None or around.has_trait(IsolatedFromAbove):
            return
        block = around.parent


def _dominators(block: Block) -> Iterator[Block]:
    """Yields the other blocks of the same region that dominate a block, the nearest dominator first."""
    region = block.parent
    if region is None or region.first_block is block or not has_ssa_dominance(region):
        return
    tree = dominator_tree(region)
    above = tree.get(block)
    while above is not None:
        yield above
        above = tree[above]


def _defined(chunk: Chunk, place: int) -> Iterator[SSAValue]:
    """Yields the values that may be used at a place, the nearest first."""
    for block in _around(chunk, place):
        yield from (result for op in reversed(list(block.ops)) if _ends_before(op, chunk, place) for result in op.results)
        yield from block.args
        for above in _dominators(block):
            yield from (result for op in reversed(list(above.ops)) for result in op.results)
            yield from above.args


def _ends_before(op: Operation, chunk: Chunk, place: int) -> bool:
    return op in chunk.map.ranges and chunk.map.ranges[op][1] <= place


def _values(analysis: Analysis, chunk: Chunk, offset: int, prefix: str) -> list[types.CompletionItem]:
    """Returns the values defined before an offset, the nearest first: from the last readable form, then by pattern."""
    known: dict[str, SSAValue] = {}
    for value in _defined(chunk, chunk.before(offset)):
        name = _name(chunk, value)
        if name is not None and name.startswith(prefix):
            known.setdefault(name, value)
        if len(known) == MOST:
            break
    start = analysis.lines.start(analysis.lines.line_at(offset))
    top = max(chunk.new_from, analysis.text.rfind("func.func", chunk.start, start))
    typed = [name for name in definitions(analysis.text[top:start]) if name not in known]
    # The nearest values are the likeliest.
    found = (*known.items(), *((name, None) for name in reversed(typed)))
    return [
        _item(name, types.CompletionItemKind.Variable, "" if value is None else str(value.type), rank=rank)
        for rank, (name, value) in enumerate(found)
    ]


def _name(chunk: Chunk, value: SSAValue) -> str | None:
    """Returns the name of a value, `%a` or `%a#1` for one of several results; None if the value is not in the text."""
    mention = chunk.map.definition_of(value)
    if mention is None or chunk.good is None:
        return None
    name = chunk.good.text[mention.start : mention.end]
    return f"{name}#{mention.named.index(value)}" if len(mention.named) > 1 else name


def _symbols(analysis: Analysis, chunk: Chunk) -> list[types.CompletionItem]:
    found: list[types.CompletionItem] = []
    for name, op in chunk.map.symbols.items():
        label = f"@{name}" if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else f'@"{name}"'
        line = "" if chunk.good is None else describe.header(op, chunk.good)
        found.append(_item(label, types.CompletionItemKind.Reference, line, describe.summary(type(op))))
    return found


def _blocks(chunk: Chunk, offset: int) -> list[types.CompletionItem]:
    found: dict[str, types.CompletionItem] = {}
    for inner in _around(chunk, chunk.before(offset)):
        region = inner.parent
        for block in () if region is None else region.blocks:
            mention = chunk.map.definition_of(block)
            if mention is not None and chunk.good is not None:
                name = chunk.good.text[mention.start : mention.end]
                kinds = ", ".join(str(argument.type) for argument in block.args)
                found.setdefault(name, _item(name, types.CompletionItemKind.Reference, f"({kinds})"))
    return list(found.values())


def _words(analysis: Analysis, offset: int, prefix: str) -> list[types.CompletionItem]:
    operation, text = statement_before(analysis.text, offset)
    if operation is None or text == "" or operation == prefix:
        return _operations(prefix)
    brace = open_brace(text)
    kind = describe.find_operation(operation, FlambeauContext())
    if brace is None or kind is None:
        return []
    if _has_regions(kind) and opens_region(text, brace):
        line = text[brace + 1 : len(text) - len(prefix)].rpartition("\n")[2]
        return _operations(prefix) if _BEGUN.fullmatch(line) is not None else []
    inside = text[brace + 1 : len(text) - len(prefix)]
    key, equals, _ = inside[_last_comma(inside) :].partition("=")
    return _attribute_values(kind, key.strip()) if equals else _attributes(kind, inside)


def _has_regions(kind: type[Operation]) -> bool:
    return issubclass(kind, IRDLOperation) and bool(kind.get_irdl_definition().regions)


def _last_comma(text: str) -> int:
    """Returns the offset behind the last comma that is not in brackets."""
    depth = place = 0
    for index, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            place = index + 1
    return place


def _operations(prefix: str) -> list[types.CompletionItem]:
    context = FlambeauContext()
    dialect, dot, _ = prefix.partition(".")
    if not dot:
        names = sorted(name for name in context.registered_dialect_names if name.startswith(prefix))
        return [_item(name, types.CompletionItemKind.Module, "dialect") for name in names]
    return [
        _item(kind.name, types.CompletionItemKind.Function, _signature(kind), describe.summary(kind))
        for kind in describe.operations_of(dialect, context)
    ]


def _signature(kind: type[Operation]) -> str:
    return describe.schema_text(kind.schema) if issubclass(kind, SchemaOp) else ""


def _attributes(kind: type[Operation], inside: str) -> list[types.CompletionItem]:
    written = set(re.findall(r"([A-Za-z_][\w.]*)\s*(?==|,|$)", inside))
    if issubclass(kind, SchemaOp):
        entries = {name: describe.argument_text(argument) for name, argument in kind.schema.attributes.items()}
    elif issubclass(kind, IRDLOperation):
        definition = kind.get_irdl_definition()
        entries = dict.fromkeys((*definition.properties, *definition.attributes), "")
    else:
        entries = {}
    return [
        _item(name, types.CompletionItemKind.Property, detail)
        for name, detail in entries.items()
        if name not in written and name not in _HIDDEN
    ]


def _attribute_values(kind: type[Operation], key: str) -> list[types.CompletionItem]:
    if issubclass(kind, SchemaOp) and (argument := kind.schema.attributes.get(key)) is not None and argument.type.base == "bool":
        return [_item(word, types.CompletionItemKind.Value) for word in _BOOLEANS]
    return []
