"""The lexer: xDSL's tokens, matched by one regular expression."""

from __future__ import annotations

import re

from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+", re.ASCII)
"""White space and comments."""

SUFFIX = r"(?:[0-9]++|[a-zA-Z$._-][a-zA-Z0-9$._-]*+)"
_BARE = r"[a-zA-Z_][a-zA-Z0-9_$.]*+"
_STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
VALUE_USE = re.compile(rf"(%{SUFFIX}(?:#[0-9]++)?)")
"""A use of a value, with its result index if it has one."""

_TOKEN = re.compile(
    SPACE.pattern
    + rf"""(?:(?P<PERCENT_IDENT>%{SUFFIX})|(?P<BARE_IDENT>{_BARE})|(?P<STRING_LIT>"[^"\\\n\v\f]*+")"""
    + r"|(?P<FLOAT_LIT>[0-9]++\.[0-9]*+(?:[eE][+-]?[0-9]++)?)|(?P<INTEGER_LIT>0x[0-9a-fA-F]++|[0-9]++)"
    + rf"""|(?P<AT_IDENT>@(?:{_BARE}|"[^"\\\n\v\f]*+"))|(?P<CARET_IDENT>\^{SUFFIX})|(?P<EXCLAMATION_IDENT>!{SUFFIX})"""
    + rf"|(?P<HASH_IDENT>\#(?!-\}})(?:{SUFFIX}))|(?P<EOF>\Z)"
    + r"|(?P<PUNCTUATION>->|\.\.\.|\{(?!-\#)|[:,()}\[\]<>=+/*?|-]))",
    re.ASCII,
)
_next_token = _TOKEN.match
_KINDS = {name: kind for name, kind in MLIRTokenKind.__members__.items() if name in _TOKEN.groupindex}


class LexedToken(Token[MLIRTokenKind, str]):
    """A token that makes its span on demand."""

    __slots__ = ("_input", "_text", "end", "kind", "start")

    def __init__(self, kind: MLIRTokenKind, start: int, end: int, text: str, source: Input[str]):
        self.kind = kind
        self.start = start
        self.end = end
        self._text = text
        self._input = source

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]  a field of xDSL's token
        """The range of the token in the input."""
        kind = self.kind
        if kind is MLIRTokenKind.STRING_LIT or kind is MLIRTokenKind.BYTES_LIT:
            return StringLiteral(self.start, self.end, self._input)
        return Span(self.start, self.end, self._input)

    @property
    def text(self) -> str:
        """The token as it is written."""
        return self._text


class Lexer(MLIRLexer):
    """A lexer that matches most tokens with one regular expression, and leaves rare tokens and errors to xDSL's lexer."""

    # xDSL's expression takes exponential time when the closing quote is missing.
    _unescaped_characters_regex = re.compile(_STRING)

    def lex(self) -> LexedToken:
        """Returns the next token. Raises ParseError."""
        source = self.input
        match = _next_token(source.content, self.pos)
        if match is None or (group := match.lastgroup) is None:
            return self._lexed(super().lex())
        text = match[group]
        end = match.end()
        start = end - len(text)
        if not text:
            # At the end of the input, xDSL's lexer also advances by one.
            end += 1
        self.pos = end
        kind = KIND_BY_PUNCTUATION_SPELLING[text] if group == "PUNCTUATION" else _KINDS[group]
        return LexedToken(kind, start, end, text, source)

    def _lexed(self, token: MLIRToken) -> LexedToken:
        span, kind = token.span, token.kind
        if kind is MLIRTokenKind.BYTES_LIT and isinstance(span, StringLiteral) and _is_text(span.bytes_contents):
            # As to MLIR, and as the printer writes them: to xDSL's lexer, only ASCII is text.
            kind = MLIRTokenKind.STRING_LIT
        return LexedToken(kind, span.start, span.end, span.text, self.input)


def _is_text(given: bytes) -> bool:
    try:
        given.decode()
    except UnicodeDecodeError:
        return False
    return True
