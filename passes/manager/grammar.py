"""Pipelines as text: MLIR's nested grammar and xDSL's flat one.

    pipeline ::= element (`,` element)*
    element  ::= anchor `(` pipeline? `)` | name options?
    options  ::= `{` (key (`=` value (`,` value)*)?)* `}`

An anchor is the name of an operation, `builtin.module` or `func.func`. A flat list stands for `builtin.module(list)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from flambeau.passes.registry import PipelineError

MODULE = "builtin.module"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_OPTIONS = re.compile(r'\{(?:[^{}"]|"(?:[^"\\]|\\.)*+")*+\}')


@dataclass(frozen=True)
class Nested:
    """A pipeline on the operations of one name: `func.func(cse)`."""

    anchor: str
    elements: tuple[Nested | ArgSpec, ...]


def parse(text: str) -> Nested:
    """The tree of a pipeline's text, anchored at the module. Raises PipelineError that points at the place."""
    parser = _Parser(text)
    elements = parser.elements(closing=False)
    if len(elements) == 1 and isinstance(elements[0], Nested) and elements[0].anchor == MODULE:
        return elements[0]
    if any(isinstance(element, Nested) and element.anchor == MODULE for element in elements):
        raise PipelineError(f"the pipeline {text!r} does not parse: {MODULE}(…) must stand alone, around everything else")
    return Nested(MODULE, elements)


class _Parser:
    def __init__(self, text: str):
        self._text = text
        self._position = 0

    def _error(self, message: str) -> PipelineError:
        return PipelineError(f"the pipeline {self._text!r} does not parse: {message} at column {self._position + 1}")

    def _skip_space(self) -> None:
        while self._position < len(self._text) and self._text[self._position].isspace():
            self._position += 1

    def _take(self, character: str) -> bool:
        self._skip_space()
        found = self._text.startswith(character, self._position)
        self._position += found
        return found

    def elements(self, *, closing: bool, depth: int = 0) -> tuple[Nested | ArgSpec, ...]:
        """The elements up to the end, or up to the closing parenthesis."""
        if depth > 64:
            raise self._error("nested too deeply")
        items: list[Nested | ArgSpec] = []
        self._skip_space()
        if self._position == len(self._text) and not closing:
            return ()
        if closing and self._take(")"):
            return ()
        while True:
            items.append(self._element(depth))
            if self._take(","):
                continue
            if closing:
                if self._take(")"):
                    return tuple(items)
                raise self._error("expected ',' or ')'")
            if self._position == len(self._text):
                return tuple(items)
            raise self._error("expected ',' or the end")

    def _element(self, depth: int) -> Nested | ArgSpec:
        self._skip_space()
        name = _NAME.match(self._text, self._position)
        if name is None:
            raise self._error("expected the name of a pass or an operation")
        self._position = name.end()
        if self._take("("):
            return Nested(name[0], self.elements(closing=True, depth=depth + 1))
        start = self._position
        if not self._text.startswith("{", start):
            return ArgSpec(name[0], {})
        options = _OPTIONS.match(self._text, start)
        if options is None:
            raise self._error("expected the '}' that closes the options")
        try:
            (spec,) = parse_pipeline("x" + re.sub(r"\{\s+|\s+\}", lambda m: m[0].strip(), options[0]))
        except (ArgSpecParseError, ValueError) as error:
            raise self._error(f"the options of {name[0]!r} are not key=value pairs ({' '.join(str(error).split())})") from error
        self._position = options.end()
        return ArgSpec(name[0], spec.parameters)
