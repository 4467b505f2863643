"""Mutations of C, made from its tokens: inside of functions only, and in no comment, string, directive or static assertion.

Source text is formatted as clang-format does, so that an operator with a space on each side has two operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from campaigns.mutations import ARITHMETIC, BOUNDARY, NEGATION, Mutation, Operator, off_by_one

_TOKEN = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_INTEGER = re.compile(r"(\d+|0[xX][\da-fA-F]+)([uUlL]*)$")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "case", "do", "else", "goto", "static_assert", "_Static_assert"}
_CHECKS = ("FL_CHECK", "FL_TRY")
"""How the names of the macros begin that leave a function where something is wrong."""
_TERM_ENDS = {"+", "-", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "?", ":", ",", ";", "<<", ">>", "&", "|", "^"}
_FACTOR_ENDS = {"&&", "||", "?", ":", ",", ";"}
_COMPOUND = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "<<=": ">>=", ">>=": "<<=", "&=": "|=", "|=": "&="}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def c_mutations(source: str) -> list[Mutation]:
    """Returns all mutations of the functions of a C file, in order of place."""
    found: list[Mutation] = []
    tokens = [_Token(kind, match.group(), *match.span()) for match in _TOKEN.finditer(source) if (kind := match.lastgroup or "") != "skip"]
    for name, first, last in _functions(tokens):
        body = _Body(source, tokens[first : last + 1])
        found += [Mutation(start, end, replacement, operator, name) for operator, start, end, replacement in body.places()]
    return sorted(found)


def _functions(tokens: list[_Token]) -> Iterator[tuple[str, int, int]]:
    """The name of each function, and the indices of the braces around its body."""
    index = 0
    while index < len(tokens):
        if tokens[index].text != "{":
            index += 1
            continue
        end = _closing(tokens, index)
        if index and tokens[index - 1].text == ")":
            opening = _opening(tokens, index - 1)
            yield tokens[opening - 1].text, index, end
        index = end + 1


def _closing(tokens: list[_Token], index: int) -> int:
    """The index of the bracket that closes the one at `index`."""
    depth = 0
    for position in range(index, len(tokens)):
        depth += tokens[position].text in _PAIRS
        depth -= tokens[position].text in _PAIRS.values()
        if depth == 0:
            return position
    return len(tokens) - 1


def _opening(tokens: list[_Token], index: int) -> int:
    """The index of the bracket that the one at `index` closes."""
    depth = 0
    for position in range(index, -1, -1):
        depth += tokens[position].text in _PAIRS.values()
        depth -= tokens[position].text in _PAIRS
        if depth == 0:
            return position
    return 0


class _Body:
    """The mutations of one function, whose tokens begin and end with its braces."""

    def __init__(self, source: str, tokens: list[_Token]):
        self.source = source
        self.tokens = tokens

    def places(self) -> Iterator[tuple[Operator, int, int, str]]:
        """The operator, the span and the replacement of each mutation."""
        index, parentheses = 1, 0
        while index < len(self.tokens) - 1:
            token = self.tokens[index]
            parentheses += (token.text == "(") - (token.text == ")")
            if token.text in ("static_assert", "_Static_assert"):
                index = _closing(self.tokens, index + 1) + 1
                continue
            if token.kind == "number":
                yield from self._constant(token)
            elif token.kind == "name":
                yield from self._call(index)
                yield from self._condition(index)
            elif token.kind == "mark":
                yield from self._operator(index)
            if not parentheses and self.tokens[index - 1].text in ("{", "}", ";"):
                yield from self._statement(index)
            index += 1

    def _constant(self, token: _Token) -> Iterator[tuple[Operator, int, int, str]]:
        if match := _INTEGER.match(token.text):
            digits, suffix = match.groups()
            for other in off_by_one(int(digits, 0 if digits[:2] in ("0x", "0X") else 10)):
                yield "constant off by one", token.start, token.end, f"{other}{suffix}"

    def _operator(self, index: int) -> Iterator[tuple[Operator, int, int, str]]:
        token = self.tokens[index]
        place = token.start, token.end
        if token.text == "!" and self.tokens[index + 1].text != "!":
            yield "inverted condition", *place, ""
        elif token.text in _COMPOUND:
            yield "arithmetic operator", *place, _COMPOUND[token.text]
        if not (self.source[token.start - 1].isspace() and self.source[token.end].isspace()):
            return
        if token.text in NEGATION:
            yield "comparison negation", *place, NEGATION[token.text]
        if token.text in BOUNDARY:
            yield "comparison boundary", *place, BOUNDARY[token.text]
        if token.text in ARITHMETIC:
            yield "arithmetic operator", *place, ARITHMETIC[token.text]
        if token.text in ("&&", "||", "+", "-"):
            ends = _TERM_ENDS if token.text in ("+", "-") else _FACTOR_ENDS
            last = self._operand_end(index + 1, ends)
            yield "dropped term", self.tokens[index - 1].end, self.tokens[last].end, ""

    def _operand_end(self, index: int, ends: set[str]) -> int:
        """The index of the last token of the operand that begins at `index`."""
        while True:
            last = _closing(self.tokens, index) if self.tokens[index].text in _PAIRS else index
            following = self.tokens[last + 1]
            spaced = self.source[following.start - 1].isspace() or following.text in (",", ";")
            if following.text in _PAIRS.values() or (following.text in ends and spaced):
                return last
            index = last + 1

    def _call(self, index: int) -> Iterator[tuple[Operator, int, int, str]]:
        """The swaps of arguments of a call; a macro, in capitals, takes arguments of several kinds."""
        name = self.tokens[index].text
        if name in _KEYWORDS or name.isupper() or self.tokens[index + 1].text != "(":
            return
        for (start, middle), (again, end) in pairwise(self._arguments(index + 1)):
            left, right = self.source[start:middle], self.source[again:end]
            if left != right:
                yield "swapped arguments", start, end, right + self.source[middle:again] + left

    def _arguments(self, opening: int) -> list[tuple[int, int]]:
        closing = _closing(self.tokens, opening)
        spans: list[tuple[int, int]] = []
        first = index = opening + 1
        while index < closing:
            if self.tokens[index].text in _PAIRS:
                index = _closing(self.tokens, index)
            elif self.tokens[index].text == ",":
                spans.append((self.tokens[first].start, self.tokens[index - 1].end))
                first = index + 1
            index += 1
        if first < closing:
            spans.append((self.tokens[first].start, self.tokens[closing - 1].end))
        return spans

    def _condition(self, index: int) -> Iterator[tuple[Operator, int, int, str]]:
        if self.tokens[index].text != "if":
            return
        closing = _closing(self.tokens, index + 1)
        start, end = self.tokens[index + 1].end, self.tokens[closing].start
        yield "inverted condition", start, end, f"!({self.source[start:end]})"
        if self.tokens[closing + 1].text == "{" and self.tokens[index - 1].text != "else":
            brace = _closing(self.tokens, closing + 1)
            leaves = [item.text for item in self.tokens[closing + 1 : brace]].count(";") == 1
            if leaves and self.tokens[closing + 2].text in ("return", "continue", "break") and self.tokens[brace + 1].text != "else":
                yield "dropped check", self.tokens[index].start, self.tokens[brace].end, ";"

    def _statement(self, index: int) -> Iterator[tuple[Operator, int, int, str]]:
        """Drops a call or an assignment. Declarations, and macros that declare, cannot be missed."""
        token, following = self.tokens[index], self.tokens[index + 1]
        is_check = token.text.startswith(_CHECKS)
        is_call = is_check or (token.kind == "name" and following.text == "(" and token.text not in _KEYWORDS and not token.text.isupper())
        is_change = token.kind == "name" and following.text in ("=", "->", ".", "[", "++", "--", *_COMPOUND)
        if is_call or is_change or token.text in ("*", "continue", "break"):
            end = self._operand_end(index, {";"})
            yield "dropped check" if is_check else "dropped statement", token.start, self.tokens[end].end, ""
