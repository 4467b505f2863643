"""xDSL's parser with faster tokens, types and dense constants."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IntegerType,
    RankedStructure,
    TensorType,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind, PunctuationSpelling

from flambeau.dialects.ir.tensor_types import tensor, ui8, ui16, ui32, ui64
from flambeau.dialects.text.constant_parser import ConstantParser
from flambeau.dialects.text.lexer import SPACE, LexedToken, Lexer
from flambeau.dialects.text.source_text import Source

_TYPE = re.compile(r'(?:tensor|memref|vector)<(?:[^<>"\n]|<[^<>"\n]*+>)*+>')
_PLAIN_TENSOR = re.compile(r"tensor<((?:(?:[0-9]+|\?)x)*+)([a-z][a-zA-Z0-9]*)>")
_SHORT = 18
"""An integer with fewer digits fits in 64 bits."""
_INTEGERS = re.compile(r"\[((?:-?[0-9]{1,18}(?: *, *-?[0-9]{1,18})*)?)\]")
_DELIMITERS: dict[Parser.Delimiter, tuple[str, str] | None] = {delimiter: delimiter.value for delimiter in Parser.Delimiter}

_NUMBERS = re.compile(r"<(\[[-+0-9.eE,\s\[\]]*\])>\s*:")
_NO_FLOAT = re.compile(r"(?<![0-9.])[0-9]+[eE]")
"""A number with an exponent but without a point, which is valid in JSON but not in MLIR."""
_UNSIGNED = (ui8, ui16, ui32, ui64)
_LONG = 400
"""The length in characters from which parsing a list of numbers as JSON is faster."""

_INTEGER_TYPE = re.compile(r"[su]?i(\d{8,})\b")
_MOST_BITS = 2**24 - 1
"""The largest width of an integer type, as in MLIR."""
_MOST = 2**63 - 1
"""The largest extent of a dimension."""

ItemT = TypeVar("ItemT")


class TokenParser(ConstantParser):
    """xDSL's parser, with the same results and errors. It caches types by their text."""

    lexer_type: ClassVar[type[Lexer]] = Lexer

    def __init__(self, context: Context, source: Source):
        super().__init__(context, "", source.file)
        self._parser_state = ParserState(self.lexer_type(Input(source.text, source.file)))
        self._text = source.text
        self._types: dict[str, TypeAttribute] = {}
        self._elements: dict[str, Attribute] = {}
        """The element types of tensors parsed so far, by name."""

    def forget_texts(self) -> None:
        """Forgets the texts of types: a name in them is now another symbol's."""
        self._types.clear()

    # Tokens

    @property
    def _token(self) -> LexedToken:
        return cast(LexedToken, self._parser_state.current_token)

    @property
    def pos(self) -> int:
        """The offset of the next token."""
        return self._token.start

    def _at_space_after(self, end: int) -> bool:
        """Returns whether only white space and comments are between `end` and the next token."""
        space = SPACE.match(self._text, end)
        return space is not None and space.end() == self._token.start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> LexedToken:
        state = self._parser_state
        token = self._token
        if expected_kind is not None and token.kind is not expected_kind:
            self.raise_error(f"expected '{expected_kind.value}'", token.span)
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> LexedToken | None:
        state = self._parser_state
        token = self._token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_characters(self, text: str) -> str | None:
        """Parses as xDSL's method of this name does."""
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        """Parses as xDSL does; compares texts, since the text of a punctuation belongs to no other token."""
        state = self._parser_state
        if state.current_token.text != punctuation:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(self, punctuation: PunctuationSpelling, context_msg: str = "") -> PunctuationSpelling:
        """Parses as xDSL's method of this name does."""
        if self.parse_optional_punctuation(punctuation) is None:
            self.raise_error(f"Expected '{punctuation}'{context_msg}", self._token.span)
        return punctuation

    def parse_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], ItemT], separator: str = ",", context_msg: str = ""
    ) -> list[ItemT]:
        """Parses as xDSL does. After an arrow, a single type may be without parentheses, as MLIR allows it everywhere."""
        around = _DELIMITERS[delimiter]
        if parse == self.parse_type and delimiter is Parser.Delimiter.PAREN and self._token.text != "(" and self._is_behind_arrow():
            return [parse()]
        if around is not None:
            self.parse_characters(around[0], context_msg)
            if self.parse_optional_characters(around[1]) is not None:
                return []
        items = [parse()]
        while self.parse_optional_characters(separator) is not None:
            items.append(parse())
        if around is not None:
            self.parse_characters(around[1], context_msg)
        return items

    def _is_behind_arrow(self) -> bool:
        start = self._token.start
        arrow = self._text.rfind("->", 0, start)
        return arrow >= 0 and self._at_space_after(arrow + 2)

    # Literals

    def parse_optional_boolean(self) -> bool | None:
        """Parses as xDSL's method of this name does."""
        text = self._parser_state.current_token.text
        if text not in ("true", "false"):
            return None
        self._consume_token()
        return text == "true"

    def parse_optional_str_literal(self) -> str | None:
        """Parses as xDSL's method of this name does."""
        return super().parse_optional_str_literal() if self._token.kind is MLIRTokenKind.STRING_LIT else None

    def parse_optional_number(self, *, allow_boolean: bool = False) -> int | float | None:
        """Parses as xDSL's method of this name does."""
        token = self._token
        if self._float is None and token.kind is MLIRTokenKind.INTEGER_LIT and len(token.text) < _SHORT and token.text.isdigit():
            return int(self._consume_token().text)
        if token.kind is MLIRTokenKind.FLOAT_LIT:
            return float(self._consume_token().text)
        return super().parse_optional_number(allow_boolean=allow_boolean)

    def parse_number(self, allow_boolean: bool = False, context_msg: str = "") -> int | float:
        """Parses as xDSL's method of this name does."""
        kind = self._token.kind
        if kind is MLIRTokenKind.INTEGER_LIT or kind is MLIRTokenKind.FLOAT_LIT:
            number = self.parse_optional_number()
            if number is not None:
                return number
        return super().parse_number(allow_boolean, context_msg)

    def parse_optional_integers(self) -> tuple[int, ...] | None:
        """Parses a list of plain decimal integers in brackets; returns None, and consumes nothing, if something else follows."""
        match = _INTEGERS.match(self._text, self._token.start)
        if match is None:
            return None
        self._resume_from(match.end())
        return tuple(map(int, match[1].split(","))) if match[1] else ()

    # Types

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parses as xDSL's method of this name does."""
        if self._token.kind is MLIRTokenKind.EXCLAMATION_IDENT:
            return super().parse_optional_type()
        return self._parse_optional_builtin_type()

    def parse_type(self) -> TypeAttribute:
        """Parses as xDSL's method of this name does."""
        found = self.parse_optional_type()
        return super().parse_type() if found is None else found

    def _parse_optional_builtin_type(self) -> TypeAttribute | None:
        token = self._token
        if token.kind is not MLIRTokenKind.BARE_IDENT or (match := _TYPE.match(self._text, token.start)) is None:
            # xDSL computes the range of a type before it looks at the width.
            if (wide := _INTEGER_TYPE.match(self._text, token.start)) and int(wide[1]) > _MOST_BITS:
                self.raise_error(f"An integer type of {wide[1]} bits is too wide: it has at most {_MOST_BITS}.", token.span)
            return super()._parse_optional_builtin_type()
        text = match[0]
        known = self._types.get(text) or self._plain_tensor(text)
        if known is not None:
            self._types[text] = known
            self._resume_from(match.end())
            return known
        found = super()._parse_optional_builtin_type()
        if found is not None and self._at_space_after(match.end()):
            self._types[text] = found
            if isinstance(found, TensorType) and (plain := _PLAIN_TENSOR.fullmatch(text)):
                self._elements[plain[2]] = cast("TensorType[Attribute]", found).element_type
        return cast("TypeAttribute | None", found)

    def _plain_tensor(self, text: str) -> TypeAttribute | None:
        """Returns the type of a tensor without encoding whose element type was parsed before."""
        match = _PLAIN_TENSOR.fullmatch(text)
        if match is None or (element := self._elements.get(match[2])) is None:
            return None
        shape = [DYNAMIC_INDEX if size == "?" else int(size) for size in match[1].split("x")[:-1]]
        return tensor(element, shape) if max(shape, default=0) <= _MOST else None

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parses as xDSL does, but an extent is an int64."""
        place = self._token.span
        extent = super().parse_shape_dimension(allow_dynamic)
        if extent > _MOST:
            self.raise_error(f"Dimension {extent} is too large for an int64.", place)
        return extent

    # Constants

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[AnyDenseElement] | None) -> DenseIntOrFPElementsAttr:
        """Parses as xDSL does; a long list of plain numbers is parsed as JSON."""
        start = self._token.start
        match = _NUMBERS.match(self._text, start) if type is None else None
        if match is not None and match.end() - start > _LONG and (read := _flat(match[1])) is not None:
            numbers, shape = read
            self._resume_from(match.end())
            kind = self._parse_dense_literal_type()
            element = kind.element_type
            wanted = int if isinstance(element, IntegerType) else float if isinstance(element, AnyFloat) else None
            fits = shape == kind.get_shape() and {*map(builtins.type, numbers)} == {wanted}
            if fits and not (element in _UNSIGNED and min(numbers) < 0):
                return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), cast(Any, numbers))
            self._resume_from(start)
        return super().parse_dense_int_or_fp_elements_attr(type)


def _flat(text: str) -> tuple[list[int | float], tuple[int, ...]] | None:
    """Returns the numbers of nested lists, and the shape of the lists; None when the lists are ragged or not valid."""
    if _NO_FLOAT.search(text) is not None:
        return None
    try:
        level: list[Any] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    shape = (len(level),)
    while level and isinstance(level[0], list):
        sizes = {len(cast("list[Any]", item)) if isinstance(item, list) else None for item in level}
        size = sizes.pop()
        if sizes or size is None:
            return None
        shape = (*shape, size)
        level = [item for row in level for item in row]
    return level, shape
