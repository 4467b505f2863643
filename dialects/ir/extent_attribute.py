"""`#flambeau.extent`: an integer expression over symbols as an attribute, and the text of such expressions.

A symbol's range stands where the text first names it: `s0 in [1, 512]`, with `?` for a bound that it does not have. From there on `s0` is
this symbol, until another range is given. `?` alone is an unknown extent, and `? in [0, 8]` one with a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, ParserState
from xdsl.printer import Printer
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from flambeau.dialects.ir import expressions
from flambeau.dialects.ir.expressions import INFINITE, Bound, Expression, Range, Symbol
from flambeau.dialects.ir.extents import Extent, extent
from flambeau.support.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable


@irdl_attr_definition
class ExtentAttr(ParametrizedAttribute):
    """An integer that follows from the extents of the inputs: `#flambeau.extent<s0 * 2>`."""

    name = "flambeau.extent"
    text: StringAttr
    """The expression with the range of each symbol, where it is named first."""

    @classmethod
    def of(cls, value: int | ExtentAttr) -> ExtentAttr:
        """Returns the attribute of a number or an extent; an attribute is its own."""
        return value if isinstance(value, ExtentAttr) else cls(StringAttr(extent_text(value)))

    @property
    def value(self) -> int:
        """The number or the extent."""
        return _value_of(self.text.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parses `<s0 * 2>`; with quotes, as MLIR prints the parameters of an attribute from IRDL, too."""
        with parser.in_angle_brackets():
            return [parse_quoted_extent(parser).text]

    def print_parameters(self, printer: Printer) -> None:
        """Prints `<s0 * 2>`."""
        with printer.in_angle_brackets():
            print_extent(printer, self)


@lru_cache(maxsize=4096)
def _value_of(text: str) -> int:
    return _parse_value(AttrParser(ParserState(MLIRLexer(Input(text, "<extent>"))), Context()))


def print_extent(printer: Printer, attribute: ExtentAttr) -> None:
    """Prints the expression, with the ranges of the symbols that the printer has not named before.

    In the generic form, which other tools read, equal attributes have equal texts: the ranges are always there.
    """
    printer.print_string(attribute.text.data if printer.print_generic_format else _text(attribute.value, printer))


def extent_text(value: int) -> str:
    """Returns the text of a number or an extent, with the range of each symbol."""
    return _text(value, _Names())


class _Names:
    """Where symbols have names: a printer, a parser, or a single expression."""

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}


def _text(value: int, owner: Any) -> str:
    if not isinstance(value, Extent):
        return str(value)
    if value.expression is None:
        return "?" if value.range == (0, INFINITE) else f"? in {range_text(value.range)}"

    def name(symbol: Symbol, tight: bool) -> str:
        if _symbols_of(owner).get(symbol.name) == symbol:
            return symbol.name
        _declare(owner, symbol)
        text = f"{symbol.name} in {range_text(symbol.range)}"
        return f"({text})" if tight else text

    return value.expression.text(name)


def _symbols_of(owner: Any) -> dict[str, Symbol]:
    """Returns the symbols that a printer or parser knows, by name."""
    return cast("dict[str, dict[str, Symbol]]", vars(owner)).setdefault("symbols", {})


def _declare(owner: Any, symbol: Symbol) -> None:
    """Gives a name to a symbol from here on."""
    known = _symbols_of(owner)
    if known.get(symbol.name, symbol) != symbol:
        # What was read or written with the name so far means another symbol.
        forget: Callable[[], None] | None = getattr(owner, "forget_texts", None)
        if forget is not None:
            forget()
    known[symbol.name] = symbol


def range_text(bounds: Range) -> str:
    """Returns the text of a range, `[1, ?]`; `?` is a bound that it does not have."""
    return f"[{', '.join('?' if abs(bound) == INFINITE else str(bound) for bound in bounds)}]"


def parse_extent(parser: AttrParser) -> ExtentAttr:
    """Parses what `print_extent` prints. Raises ParseError."""
    return ExtentAttr.of(_parse_value(parser))


def _parse_value(parser: AttrParser) -> int:
    if parser.parse_optional_punctuation("?"):
        return Extent(None, _parse_range(parser) if parser.parse_optional_keyword("in") else (0, INFINITE))
    start = parser.pos
    try:
        return extent(_parse_sum(parser))
    except ZeroDivisionError as error:
        parser.raise_error(str(error), start, parser.pos)


def parse_quoted_extent(parser: AttrParser) -> ExtentAttr:
    """Parses what `print_extent` prints, in quotes or without. Raises ParseError."""
    text = parser.parse_optional_str_literal()
    if text is None:
        return parse_extent(parser)
    inner = AttrParser(ParserState(MLIRLexer(Input(text, "<extent>"))), parser.ctx)
    vars(inner)["symbols"] = _symbols_of(parser)
    return parse_extent(inner)


def parse_optional_extent(parser: AttrParser) -> int | None:
    """Returns the number or extent of an expression; None where no expression with a symbol can begin."""
    token = parser._current_token  # pyright: ignore[reportPrivateUsage]  xDSL has no other way to look ahead
    if token.kind is not MLIRTokenKind.BARE_IDENT and token.text != "(":
        return None
    return _parse_value(parser)


def parse_extent_from(parser: AttrParser, number: int) -> int:
    """Returns the number or extent of an expression that begins with a number, which was parsed."""
    return extent(_parse_sum(parser, expressions.constant(number)))


def _parse_sum(parser: AttrParser, first: Expression | None = None) -> Expression:
    total = _parse_product(parser, first)
    while True:
        if parser.parse_optional_punctuation("+"):
            total = expressions.add(total, _parse_product(parser))
        elif parser.parse_optional_punctuation("-"):
            total = expressions.add(total, _negated(_parse_product(parser)))
        else:
            return total


def _negated(expression: Expression) -> Expression:
    return expressions.multiply(expressions.constant(-1), expression)


def _parse_product(parser: AttrParser, first: Expression | None = None) -> Expression:
    product = _parse_factor(parser) if first is None else first
    while True:
        if parser.parse_optional_punctuation("*"):
            product = expressions.multiply(product, _parse_factor(parser))
        elif parser.parse_optional_keyword("floordiv"):
            product = expressions.apply("floordiv", product, _parse_factor(parser))
        elif parser.parse_optional_keyword("mod"):
            product = expressions.apply("mod", product, _parse_factor(parser))
        else:
            return product


def _parse_factor(parser: AttrParser) -> Expression:
    if parser.parse_optional_punctuation("-"):
        return _negated(_parse_factor(parser))
    if parser.parse_optional_punctuation("("):
        inner = _parse_sum(parser)
        parser.parse_punctuation(")")
        return inner
    if (number := parser.parse_optional_integer(allow_boolean=False, allow_negative=False)) is not None:
        return expressions.constant(number)
    start = parser.pos
    name = parser.expect(parser.parse_optional_identifier, "expected a number, a symbol or an expression")
    if name in ("min", "max") and parser.parse_optional_punctuation("("):
        left = _parse_sum(parser)
        parser.parse_punctuation(",")
        right = _parse_sum(parser)
        parser.parse_punctuation(")")
        return expressions.apply(name, left, right)
    return expressions.of_symbol(_parse_symbol(parser, name, start))


def _parse_symbol(parser: AttrParser, name: str, start: int) -> Symbol:
    if parser.parse_optional_keyword("in"):
        _declare(parser, Symbol(name, *_parse_range(parser)))
    elif name not in _symbols_of(parser):
        near = did_you_mean(name, _symbols_of(parser))
        parser.raise_error(
            f"{name} has no range{near or f': write it where it is first named, as in {name} in [1, 512]'}", start, start + len(name)
        )
    return _symbols_of(parser)[name]


def _parse_range(parser: AttrParser) -> Range:
    start = parser.pos
    bounds: Sequence[Bound | None] = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_bound(parser))
    if len(bounds) != 2:
        parser.raise_error(f"a range has two bounds, got {len(bounds)}", start, parser.pos)
    low, high = (-INFINITE if bounds[0] is None else bounds[0]), (INFINITE if bounds[1] is None else bounds[1])
    if low > high:
        parser.raise_error(f"no number is at least {low} and at most {high}", start, parser.pos)
    return low, high


def _parse_bound(parser: AttrParser) -> Bound | None:
    if parser.parse_optional_punctuation("?"):
        return None
    return parser.expect(lambda: parser.parse_optional_integer(allow_boolean=False), "expected a number, or ? for no bound")
