"""The parser of modules: xDSL's, noting where each operation begins."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from flambeau.dialects.source import Source


class _Lexer(MLIRLexer):
    """xDSL's lexer, whose expression for string literals takes exponential time when the closing quote is missing."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class ModuleParser(Parser):
    """xDSL's parser, noting where each operation begins.

    With `locate`, an operation without a location of its own gets its place in the text as its location, which rewrites hand on.
    """

    def __init__(self, context: Context, source: Source, *, locate: bool = False):
        super().__init__(context, "", source.file)
        self._parser_state = ParserState(_Lexer(Input(source.text, source.file)))
        self.source = source
        self._locate = locate
        self.offsets: dict[Operation, int] = {}

    def parse_operation(self) -> Operation:
        """Parses one operation and notes its position."""
        start = self.pos
        op = super().parse_operation()
        self.offsets[op] = start
        # What is written as loc(unknown) is another object.
        if self._locate and op.location is UNKNOWN_LOC:
            op.location = self.source.location(start)
        return op
