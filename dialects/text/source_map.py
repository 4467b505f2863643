"""The ranges of operations and of the names of values, blocks and symbols in the text of a module, for editors."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import AttributeInvT, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.text.lexer import LexedToken, Lexer
from flambeau.dialects.text.parser import ModuleParser
from flambeau.dialects.text.source_text import Source

Named = SSAValue | Block | str
"""The thing that a name refers to: a value, a block, or the symbol of this name."""


@dataclass(frozen=True, eq=False)
class Mention:
    """An occurrence of a name in the text, with its `%`, `^` or `@`."""

    start: int
    end: int
    named: tuple[Named, ...]
    """Several values for the definition of a name of several results."""
    defines: bool
    """Whether this is where the value, block or symbol gets the name."""


@dataclass(eq=False)
class SourceMap:
    """The ranges of operations and names in a text, as offsets; ends are exclusive."""

    ranges: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """Each operation's range, from its results to the end of its location or of its last region."""
    symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """The operations that define symbols, by name; the first of several with the same name."""
    mentions: list[Mention] = field(default_factory=list[Mention])
    """All occurrences of names, in the order of the text."""

    @cached_property
    def _starts(self) -> list[int]:
        return [mention.start for mention in self.mentions]

    @cached_property
    def _by_named(self) -> dict[Named, list[Mention]]:
        found: dict[Named, list[Mention]] = {}
        for mention in self.mentions:
            for named in mention.named:
                found.setdefault(named, []).append(mention)
        return found

    @cached_property
    def _operations(self) -> tuple[list[int], list[Operation]]:
        # An operation comes before those in its regions, which never begin earlier.
        in_order = sorted(self.ranges, key=lambda op: (self.ranges[op][0], -self.ranges[op][1]))
        return [self.ranges[op][0] for op in in_order], in_order

    def mention_at(self, offset: int) -> Mention | None:
        """Returns the occurrence of a name that contains or ends at `offset`."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset > self.mentions[index].end:
            return None
        return self.mentions[index]

    def mentions_of(self, named: Named) -> list[Mention]:
        """Returns all occurrences of the name of a value, a block or a symbol."""
        return list(self._by_named.get(named, ()))

    def definition_of(self, named: Named) -> Mention | None:
        """Returns the occurrence that defines a value, a block or a symbol; None when the text has none, as for a block without a label."""
        return next((mention for mention in self._by_named.get(named, ()) if mention.defines), None)

    def operation_at(self, offset: int) -> Operation | None:
        """Returns the innermost operation whose range contains `offset`."""
        starts, operations = self._operations
        index = bisect_right(starts, offset) - 1
        if index < 0:
            return None
        found: Operation | None = operations[index]
        while found is not None and (found not in self.ranges or self.ranges[found][1] < offset):
            found = found.parent_op()
        return found


class _EndLexer(Lexer):
    """A lexer that keeps the end of the token before the current one."""

    previous_end = 0

    def lex(self) -> LexedToken:
        """Returns the next token. Raises ParseError."""
        self.previous_end = self.pos
        return super().lex()


class MapParser(ModuleParser):
    """A parser that records all ranges. It does not use the cache of lines, so it takes several times as long as its base."""

    lexer_type = _EndLexer

    def __init__(self, context: Context, source: Source, *, locate: bool = False):
        super().__init__(context, source, locate=locate)
        self._map = SourceMap()
        self._seen: list[Mention] = []
        self._placeholders: dict[SSAValue, SSAValue] = {}

    def source_map(self) -> SourceMap:
        """Returns the ranges in the text. Call it after the module is parsed."""
        found = self._map
        found.mentions = sorted((self._resolved(mention) for mention in self._seen), key=lambda mention: mention.start)
        for op, (start, end) in found.ranges.items():
            if (name := symbol_name(op)) is not None:
                found.symbols.setdefault(name, op)
                self._mark_definition(op, name, start, end)
        return found

    def _resolved(self, mention: Mention) -> Mention:
        """Returns the mention with the defined values in place of forward references."""
        if not any(named in self._placeholders for named in mention.named if isinstance(named, SSAValue)):
            return mention
        named = tuple(self._placeholders.get(item, item) if isinstance(item, SSAValue) else item for item in mention.named)
        return Mention(mention.start, mention.end, named, mention.defines)

    def _mark_definition(self, op: Operation, name: str, start: int, end: int) -> None:
        """Marks the first occurrence of a symbol's name before the regions of the operation that defines it."""
        inner = (self.offsets[inner] for region in op.regions for block in region.blocks for inner in block.ops)
        header_end = min(inner, default=end)
        mentions = self._map.mentions
        index = bisect_right(mentions, start - 1, key=lambda mention: mention.start)
        for place in range(index, len(mentions)):
            mention = mentions[place]
            if mention.start >= header_end:
                return
            if mention.named == (name,):
                mentions[place] = Mention(mention.start, mention.end, mention.named, True)
                return

    def _note(self, span: Span | LexedToken, named: Sequence[Named], *, defines: bool = False) -> None:
        self._seen.append(Mention(span.start, span.end, tuple(named), defines))

    def _line(self, start: int) -> None:
        """Disables the cache of lines, which would skip the names in a line."""

    def parse_operation(self) -> Operation:
        """Parses one operation and records its range."""
        op = super().parse_operation()
        lexer = self.lexer
        end = lexer.previous_end if isinstance(lexer, _EndLexer) else self.pos
        start = self.offsets[op]
        self._map.ranges[op] = start, start + len(self.source.text[start:end].rstrip())
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """Parses as xDSL does, and records the use."""
        value = super().resolve_operand(operand, type)
        self._note(operand.span, (value,))
        return value

    def _parse_optional_operand_without_type(self) -> SSAValue | None:
        token = self._token
        value = super()._parse_optional_operand_without_type()
        if value is not None:
            self._note(token, (value,))
        return value

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        placeholders = dict(self.forward_ssa_references.get(name, {}))
        super()._register_ssa_definition(name, values, span)
        self._placeholders.update({placeholder: values[index] for index, placeholder in placeholders.items()})
        self._note(span, values, defines=True)

    def _parse_block(self) -> Block:
        token = self._token
        block = super()._parse_block()
        self._note(token, (block,), defines=True)
        return block

    def parse_optional_successor(self) -> Block | None:
        """Parses as xDSL does, and records the use."""
        token = self._token
        block = super().parse_optional_successor()
        if block is not None:
            self._note(token, (block,))
        return block

    def _get_block_from_name(self, block_name: Span) -> Block:
        block = super()._get_block_from_name(block_name)
        self._note(block_name, (block,))
        return block

    def parse_optional_symbol_name(self) -> StringAttr | None:
        """Parses as xDSL does, and records the occurrence."""
        token = self._token
        name = super().parse_optional_symbol_name()
        if name is not None:
            self._note(token, (name.data,))
        return name
