"""Pipelines as text: MLIR's nested grammar and xDSL's flat one.

    pipeline ::= element (`,` element)*
    element  ::= anchor `(` pipeline? `)` | name options?
    options  ::= `{` (key (`=` value (`,` value)*)?)* `}`
    value    ::= word options? | string in double or single quotes

An anchor is the name of an operation, `builtin.module` or `func.func`, or `any`: every operation that nothing outside of it reaches into.
A flat list stands for `builtin.module(list)`, and so does `any(list)` with nothing beside it. Options are separated by spaces; a word is
anything without spaces, commas, braces, quotes and equals signs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flambeau.passes.manager.pass_options import Option, Value
from flambeau.passes.manager.registry import PipelineError

MODULE = "builtin.module"
ANY = "any"
"""The anchor of pipelines that run on operations of any name, if these are isolated from what is around them."""
MAXIMUM_DEPTH = 64

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_WORD = re.compile(r"""[^\s,{}="']+""")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SINGLE = re.compile(r"'([^']*)'")
_BRACKETS = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True)
class Element:
    """A pass or a named pipeline with its options, as written."""

    name: str
    options: tuple[Option, ...]
    offset: int


@dataclass(frozen=True)
class Nested:
    """A pipeline on the operations of one name: `func.func(cse)`."""

    anchor: str
    elements: tuple[Nested | Element, ...]
    offset: int = 0


def parse(text: str) -> Nested:
    """Returns the tree of a pipeline's text, anchored at the module. Raises PipelineError that points at the place."""
    elements = _Parser(text).pipeline()
    if len(elements) == 1 and isinstance(only := elements[0], Nested) and only.anchor in (MODULE, ANY):
        return Nested(MODULE, only.elements, only.offset)
    for element in elements:
        if isinstance(element, Nested) and element.anchor == MODULE:
            raise PipelineError(f"{MODULE}(…) must stand alone, around everything else", element.offset)
    return Nested(MODULE, elements)


class _Parser:
    def __init__(self, text: str):
        self._text = text
        self._position = 0

    def pipeline(self) -> tuple[Nested | Element, ...]:
        """Returns the whole text."""
        self._skip_space()
        return () if self._at_end() else self._elements("", 0)

    def _error(self, message: str) -> PipelineError:
        return PipelineError(message, self._position)

    def _at_end(self) -> bool:
        return self._position == len(self._text)

    def _skip_space(self) -> None:
        while not self._at_end() and self._text[self._position].isspace():
            self._position += 1

    def _take(self, character: str) -> bool:
        self._skip_space()
        found = self._text.startswith(character, self._position)
        self._position += found
        return found

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._position)
        if found is not None:
            self._position = found.end()
        return found

    def _elements(self, closing: str, depth: int) -> tuple[Nested | Element, ...]:
        """Returns at least one element, up to the closing parenthesis or the end."""
        if depth > MAXIMUM_DEPTH:
            raise self._error("the pipelines are nested too deeply")
        items: list[Nested | Element] = []
        while True:
            items.append(self._element(depth))
            if self._take(","):
                continue
            if (closing and self._take(closing)) or (not closing and self._at_end()):
                return tuple(items)
            raise self._error(f"expected ',' or {repr(closing) if closing else 'the end'}")

    def _element(self, depth: int) -> Nested | Element:
        self._skip_space()
        offset = self._position
        name = self._match(_NAME)
        if name is None:
            raise self._error("expected the name of a pass, a pipeline or an operation")
        if self._take("("):
            return Nested(name[0], () if self._take(")") else self._elements(")", depth + 1), offset)
        if name[0] == "mlir-opt" and (inner := self._match(_BRACKETS)) is not None:
            return Element(name[0], (_mlir_opt(inner[1], offset),), offset)
        return Element(name[0], self._options() if self._take("{") else (), offset)

    def _options(self, depth: int = 0) -> tuple[Option, ...]:
        if depth > MAXIMUM_DEPTH:
            raise self._error("the options are nested too deeply")
        options: list[Option] = []
        while not self._take("}"):
            if self._at_end():
                raise self._error("expected the '}' that closes the options")
            offset = self._position
            if options and not self._text[offset - 1].isspace():
                raise self._error("expected a space or '}'")
            key = self._match(_NAME)
            if key is None:
                raise self._error("expected the name of an option, as in {key=value other=value}")
            options.append(Option(key[0], self._values(depth) if self._take("=") else (), offset))
        return tuple(options)

    def _values(self, depth: int) -> tuple[Value, ...]:
        values = [self._value(depth)]
        while self._text.startswith(",", self._position):
            self._position += 1
            values.append(self._value(depth))
        return tuple(values)

    def _value(self, depth: int) -> Value:
        self._skip_space()
        offset = self._position
        if self._match(_WORD) is not None:
            if self._text.startswith("{", self._position):
                self._position += 1
                self._options(depth + 1)
            return Value(self._text[offset : self._position], offset)
        if (string := self._match(_STRING)) is not None:
            import json

            try:
                return Value(json.loads(string[0], strict=False), offset, quoted=True)
            except ValueError:
                raise PipelineError(r"a string knows the escapes \" \\ \/ \b \f \n \r \t and \uXXXX only", offset) from None
        if (single := self._match(_SINGLE)) is not None:
            return Value(single[1], offset, quoted=True)
        if self._text.startswith(('"', "'"), offset):
            raise self._error("this string does not end")
        raise self._error("expected a value: a word, or a string in quotes")


def _mlir_opt(pipeline: str, offset: int) -> Option:
    """Returns the arguments of xDSL's `mlir-opt[cse,canonicalize]`."""
    arguments = ("--mlir-print-op-generic", "--allow-unregistered-dialect", "-p", f"{MODULE}({pipeline})")
    return Option("arguments", tuple(Value(argument, offset, quoted=True) for argument in arguments), offset)
