"""xDSL's parser, which records where each operation begins, and caches lines that differ only in the names of values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, DictionaryAttr, FusedLoc, LocationAttr, ModuleOp, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from flambeau.dialects.text.lexer import SUFFIX, VALUE_USE
from flambeau.dialects.text.source_text import Source
from flambeau.dialects.text.token_parser import TokenParser

if TYPE_CHECKING:
    from flambeau.dialects.text.source_map import SourceMap

_RESULT = rf"%({SUFFIX})(?::([0-9]++))?"
_EACH_RESULT = re.compile(_RESULT)
_RESULTS = re.compile(rf"{_RESULT}(?P<more>(?:\s*+,\s*+%{SUFFIX}(?::[0-9]++)?)*+)\s*+=\s*+", re.ASCII)
_LOCATION_ALIAS = re.compile(r"^(#[\w$.-]+)\s*=\s*(?=loc\()", re.MULTILINE)
_LOCATION = " loc("
_LOCATION_FOLLOWS = (MLIRTokenKind.BARE_IDENT, "loc")


_NAMED = re.compile(r"\(\s*%")
"""The beginning of a list of arguments with names."""


@dataclass(slots=True)
class _Line:
    """A line that may be one operation, split into its text and the names of values."""

    results: list[tuple[str, int]]
    """The names of the results, and the number of results for each."""
    text: str
    """The operation's text, with a line break, which it cannot contain, in place of each value."""
    values: list[str]
    """The names of the values, in the order of the text."""
    end: int
    """The offset in the source at which the text ends: at the end of the line, or before the location."""
    located: bool
    """Whether a location seems to follow."""


@dataclass(slots=True)
class _CachedLine:
    """The operation of a line, as a function of the values in its text."""

    kind: type[Operation]
    places: list[int]
    """The index of each operand among the values of the line."""
    operand_types: list[Attribute]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    followers: set[tuple[MLIRTokenKind, str]] = field(default_factory=set[tuple[MLIRTokenKind, str]])
    """The tokens after which the parser has seen that the operation had ended."""


class ModuleParser(TokenParser):
    """xDSL's parser, with the same results and the same errors, made faster for long texts.

    The parse of an operation without regions depends on its text, on the types of its operands, and on the token after it. So if a line
    differs from an earlier line only in the names of values, its operation is created from the cache. All other lines, and all errors, are
    left to xDSL. Locations are cached by their text.

    With `locate`, an operation without a location gets its position in the text as its location.
    """

    def __init__(self, context: Context, source: Source, *, locate: bool = False):
        super().__init__(context, source)
        self.source = source
        self.offsets: dict[Operation, int] = {}
        self._locate = locate
        self._lines: dict[tuple[str, ...], dict[str, _CachedLine]] = {}
        """The cached lines, by the stack of default dialects and by text."""
        self._locations: dict[str, LocationAttr] = {}
        self._resources: dict[tuple[str, str], str] = {}
        self._last_location = -1
        """The offset of the location that was parsed last."""
        self._last_location_read: LocationAttr | None = None
        """That location."""
        self._early_aliases: set[str] = set()
        """The aliases of locations that were parsed at a use before their definition."""

    def forget_texts(self) -> None:
        """Forgets the texts of types and lines."""
        super().forget_texts()
        self._lines.clear()

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        # Names of resources are unique in the process; within this text, one name always means the same resource.
        key = self.parse_identifier(" for resource handle")
        if (dialect_name, key) not in self._resources:
            self._resources[dialect_name, key] = interface.declare_resource(key)
        return self._resources[dialect_name, key]

    def _parse_external_resources(self) -> None:
        self.raise_error("external resources are not supported, only dialect_resources")

    def source_map(self) -> SourceMap | None:
        """Returns the ranges in the text, if the parser records them."""
        return None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parses the whole text. A text of white space and comments is an empty module."""
        return ModuleOp([]) if self._token.kind is MLIRTokenKind.EOF else super().parse_module(allow_implicit_module)

    # Operations

    def parse_operation(self) -> Operation:
        """Parses one operation and records its offset."""
        start = self._token.start
        line = self._line(start)
        op = None if line is None else self._from_cache(line)
        if op is None:
            known = len(self.ssa_values)
            op = super().parse_operation()
            if line is not None and not op.regions and not op.successors and len(self.ssa_values) == known + len(line.results):
                self._add_to_cache(line, start, op)
        if isinstance(op, FuncOp) and not op.body.blocks and op.arg_attrs is None:
            op.arg_attrs = self._attributes_of_types(start)
        self.offsets[op] = start
        # An explicit loc(unknown) is another object.
        if self._locate and op.location is UNKNOWN_LOC:
            op.location = self.source.location(start)
        return op

    def _attributes_of_types(self, start: int) -> ArrayAttr[DictionaryAttr] | None:
        """Returns the argument attributes of a function declaration, which xDSL drops (findings/xdsl_attributes_of_declarations.sh)."""
        if "{" not in self._text[start : self._token.start]:
            return None
        other = self._at(start)
        while other._consume_token().kind not in (MLIRTokenKind.AT_IDENT, MLIRTokenKind.STRING_LIT):
            pass
        if other._token.text != "(" or _NAMED.match(self._text, other._token.start):
            return None  # the generic form, or arguments with names, which a comment with a brace follows

        def attributes() -> DictionaryAttr:
            other.parse_type()
            found = other.parse_optional_dictionary_attr_dict()
            other.parse_optional_location()
            return DictionaryAttr(found)

        found = other.parse_comma_separated_list(self.Delimiter.PAREN, attributes)
        return ArrayAttr(found) if any(item.data for item in found) else None

    def _at(self, offset: int) -> ModuleParser:
        """Returns a parser of the same text at another offset, with the same aliases."""
        other = ModuleParser(self.ctx, self.source)
        other.attribute_aliases = self.attribute_aliases
        other._resume_from(offset)
        return other

    def location_on_line(self, offset: int) -> LocationAttr | None:
        """Returns the location at the end of the line that contains `offset`. Raises the errors of the parser for one that is not valid."""
        end = self._text.find("\n", offset)
        start = self._text.rfind(_LOCATION, self._text.rfind("\n", 0, offset) + 1, end if end >= 0 else None)
        if start < 0:
            return None
        other = self._at(start + 1)
        found = other.parse_optional_location()
        return found if end < 0 or other.pos > end or other._token.kind is MLIRTokenKind.EOF else None

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        name = self._token
        if name.kind is not MLIRTokenKind.PERCENT_IDENT:
            return []
        self._consume_token()
        if self.parse_optional_punctuation("=") is not None:
            return [(name.span, 1)]
        self._resume_from(name.start)
        return super()._parse_op_result_list()

    def _line(self, start: int) -> _Line | None:
        end = self._text.find("\n", start)
        text = self._text[start : end if end >= 0 else None]
        results: list[tuple[str, int]] = []
        begin = 0
        if text.startswith("%"):
            header = _RESULTS.match(text)
            if header is None:
                return None
            begin = header.end()
            results.append((header[1], int(header[2] or 1)))
            if header["more"]:
                results += [(name, int(size or 1)) for name, size in _EACH_RESULT.findall(header["more"])]
        location = text.rfind(_LOCATION)
        end = location if location >= 0 else len(text)
        pieces = VALUE_USE.split(text[begin:end])
        return _Line(results, "\n".join(pieces[::2]), pieces[1::2], start + end, location >= 0)

    def _values(self, names: list[str]) -> list[SSAValue] | None:
        """Returns the values of these names; None when one is not defined yet."""
        values: list[SSAValue] = []
        for name in names:
            known = self.ssa_values.get(name[1:])
            index = 0
            if known is None and "#" in name:
                name, _, number = name.partition("#")
                index = int(number)
                known = self.ssa_values.get(name[1:])
            if known is None or index >= len(known):
                return None
            values.append(known[index])
        return values

    def _from_cache(self, line: _Line) -> Operation | None:
        """Returns the operation of a line from the cache; None when the line must be parsed."""
        cached = self._lines.get(tuple(self._parser_state.dialect_stack), {}).get(line.text)
        if cached is None or (values := self._values(line.values)) is None:
            return None
        results = line.results
        if results and (
            sum(size for _, size in results) != len(cached.result_types) or any(name in self.ssa_values for name, _ in results)
        ):
            return None
        operands = [values[place] for place in cached.places]
        for operand, kind in zip(operands, cached.operand_types, strict=True):
            if operand.type is not kind and operand.type != kind:
                return None
        if not self._skip_to(line.end, cached.followers):
            return None
        op = cached.kind.create(
            operands=operands, result_types=cached.result_types, properties=cached.properties, attributes=cached.attributes
        )
        if (location := self.parse_optional_location()) is not None:
            op.location = location
        first = 0
        for name, size in results:
            self._define(name, op.results[first : first + size])
            first += size
        return op

    def _skip_to(self, position: int, followers: set[tuple[MLIRTokenKind, str]]) -> bool:
        """Continues at `position` if the next token there is one of `followers`; returns whether it does."""
        lexer = self.lexer
        before = lexer.pos
        lexer.pos = position
        try:
            token = lexer.lex()
        except ParseError:
            lexer.pos = before
            return False
        if _follower(token) not in followers:
            lexer.pos = before
            return False
        self._parser_state.current_token = token
        return True

    def _define(self, name: str, values: Sequence[SSAValue]) -> None:
        if name in self.forward_ssa_references:
            self._register_ssa_definition(name, values, self._token.span)
            return
        self.ssa_values[name] = tuple(values)
        if not name[0].isdigit():
            for value in values:
                value.name_hint = name

    def _add_to_cache(self, line: _Line, start: int, op: Operation) -> None:
        """Caches a line if all of it was this operation, and the operands are exactly the values in it."""
        if line.located:
            # The text that looks like the operation's location may be one of its attributes.
            if self._last_location != line.end + 1 or op.location is not self._last_location_read:
                return
            follower = _LOCATION_FOLLOWS
        else:
            if self._last_location >= start or not self._at_space_after(line.end):
                return
            follower = _follower(self._token)
        values = self._values(line.values)
        operands = list(op.operands)
        # If a value occurs twice, it is not known which occurrence is which operand.
        if values is None or len(values) != len(operands) or len(set(values)) != len(values) or set(values) != set(operands):
            return
        lines = self._lines.setdefault(tuple(self._parser_state.dialect_stack), {})
        cached = lines.get(line.text)
        types = [operand.type for operand in operands]
        if cached is None or cached.operand_types != types:
            places = [values.index(operand) for operand in operands]
            cached = _CachedLine(type(op), places, types, tuple(op.result_types), dict(op.properties), dict(op.attributes))
            lines[line.text] = cached
        cached.followers.add(follower)

    # Blocks

    def _parse_block(self) -> Block:
        token = self._token
        name = token.text[1:]
        if token.kind is MLIRTokenKind.CARET_IDENT and name in self.blocks and name not in self.forward_block_references:
            # xDSL reports this only if no earlier operation branches to the block.
            self.raise_error(f"re-declaration of block '{name}'", token.span)
        return super()._parse_block()

    # Locations

    def parse_optional_location(self) -> LocationAttr | None:
        """Parses as xDSL does; a location at the end of a line is cached by its text."""
        if self._token.text != "loc":
            return None
        start = self._token.start
        end = self._text.find("\n", start)
        if end < 0:
            end = len(self._text)
        text = self._text[start:end]
        found = self._locations.get(text)
        if found is not None:
            self._resume_from(end)
        else:
            found = super().parse_optional_location()
            if found is not None and self._at_space_after(end):
                self._locations[text] = found
        self._last_location = start
        self._last_location_read = found
        return found

    def _parse_location(self) -> LocationAttr:
        token = self._token
        if token.kind is MLIRTokenKind.HASH_IDENT and token.text not in self.attribute_aliases:
            self._find_location_alias(token.text)
        if not self.parse_optional_keyword("fused"):
            return super()._parse_location()
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<"):
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        return FusedLoc(tuple(self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)), metadata)

    @cached_property
    def _location_aliases(self) -> dict[str, int]:
        """The offsets of the definitions of location aliases, which mlir-opt prints at the end of a text."""
        return {match[1]: match.end() for match in _LOCATION_ALIAS.finditer(self._text)}

    def _find_location_alias(self, name: str) -> None:
        """Parses the definition of an alias ahead of its place in the text, if there is one."""
        start = self._location_aliases.pop(name, None)  # removed, so that an alias that refers to itself ends the search
        if start is None:
            return
        here = self._token.start
        self._resume_from(start)
        if (found := super().parse_optional_location()) is not None:
            self.attribute_aliases[name] = found
            self._early_aliases.add(name)
        self._resume_from(here)

    def _parse_alias_def(self) -> None:
        name = self._token.text
        if name in self._early_aliases:
            self._early_aliases.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()


def _follower(token: Any) -> tuple[MLIRTokenKind, str]:
    """Returns kind and text of a token after an operation; names of values have no text, since the parser treats them alike."""
    kind = token.kind
    return kind, "" if kind is MLIRTokenKind.PERCENT_IDENT else token.text
