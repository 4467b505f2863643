"""The syntax that `exec` operations share: slots, and `{name = value}` with plain numbers, strings and lists as values of properties."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

Kind: TypeAlias = Callable[[Parser], Attribute]


def integer(value: int) -> IntegerAttr[IntegerType]:
    """Returns the property value of a number."""
    return IntegerAttr(value, i64)


def integers(values: Sequence[int]) -> "DenseArrayBase[IntegerType]":
    """Returns the property value of a list of numbers."""
    return DenseArrayBase.from_list(i64, values)


def numbers(attribute: Attribute) -> tuple[int, ...]:
    """Returns the numbers of a list property."""
    return tuple(cast("DenseArrayBase[IntegerType]", attribute).get_values())


def bools(attribute: Attribute) -> tuple[bool, ...]:
    """Returns the booleans of a list property."""
    return tuple(map(bool, numbers(attribute)))


def strings(values: Sequence[str]) -> "ArrayAttr[StringAttr]":
    """Returns the property value of a list of strings."""
    return ArrayAttr([StringAttr(value) for value in values])


def parse_integer(parser: Parser) -> Attribute:
    """Parses a number."""
    return integer(parser.parse_integer())


def parse_integers(parser: Parser) -> Attribute:
    """Parses a list of numbers."""
    return integers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def parse_string(parser: Parser) -> Attribute:
    """Parses a string."""
    return StringAttr(parser.parse_str_literal())


def parse_strings(parser: Parser) -> Attribute:
    """Parses a list of strings."""
    return strings(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal))


def parse_braces(parser: Parser, kinds: Mapping[str, Kind]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parses an optional `{name = value, …}`; returns the properties listed in `kinds`, and the other attributes."""
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}

    def parse_entry() -> None:
        name = parser.parse_optional_str_literal() or parser.parse_identifier()
        if name in properties or name in attributes:
            parser.raise_error(f"the attribute {name} is given twice")
        if (kind := kinds.get(name)) is not None:
            parser.parse_punctuation("=")
            properties[name] = kind(parser)
        else:
            attributes[name] = UnitAttr() if parser.parse_optional_punctuation("=") is None else parser.parse_attribute()

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return properties, attributes


def print_braces(printer: Printer, properties: Mapping[str, Attribute | None], attributes: Mapping[str, Attribute]) -> None:
    """Prints what `parse_braces` parses, without properties that are None."""
    entries = [(name, value, True) for name, value in properties.items() if value is not None]
    entries += [(name, value, False) for name, value in attributes.items()]
    if not entries:
        return
    printer.print_string(" {")
    for index, (name, value, plain) in enumerate(entries):
        printer.print_string(f"{', ' if index else ''}{name}" if plain or name.isidentifier() else f'{", " if index else ""}"{name}"')
        if not isinstance(value, UnitAttr):
            printer.print_string(" = ")
            _print_value(printer, value, plain)
    printer.print_string("}")


def _print_value(printer: Printer, value: Attribute, plain: bool) -> None:
    if plain and isinstance(value, IntegerAttr):
        printer.print_string(str(cast("IntegerAttr[IntegerType]", value).value.data))
    elif plain and isinstance(value, DenseArrayBase):
        printer.print_string(str(list(numbers(cast(Attribute, value)))))
    else:
        printer.print_attribute(value)


def parse_slot(parser: Parser) -> SSAValue:
    """Parses a slot that is declared above; the declaration gives the type."""
    operand = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(operand.operand_name)
    if values is None or operand.index >= len(values):
        parser.raise_error(f"slot %{operand.operand_name} is not declared above", operand.span)
    return parser.resolve_operand(operand, values[operand.index].type)


def parse_slots(parser: Parser, delimiter: Parser.Delimiter = Parser.Delimiter.PAREN) -> list[SSAValue]:
    """Parses a list of slots, in parentheses by default."""
    return parser.parse_comma_separated_list(delimiter, lambda: parse_slot(parser))


def parse_optional_slots(parser: Parser, keyword: str) -> list[SSAValue]:
    """Parses `keyword(%a, %b)`, or nothing."""
    return parse_slots(parser) if parser.parse_optional_keyword(keyword) is not None else []


def print_slots(printer: Printer, slots: Sequence[SSAValue], keyword: str = "") -> None:
    """Prints `keyword(%a, %b)`; with a keyword but without slots, prints nothing."""
    if keyword and not slots:
        return
    printer.print_string(f" {keyword}(" if keyword else "(")
    printer.print_list(slots, printer.print_ssa_value)
    printer.print_string(")")


def describe(slot: SSAValue) -> str:
    """Returns the name of a slot for messages: its name as the method prints, or else its index."""
    owner = slot.owner
    siblings = owner.parent.ops if isinstance(owner, Operation) and owner.parent is not None else ()
    if slot.name_hint:
        # The printer numbers values that share a name, and the parser keeps the name without the number.
        before = [result for op in takewhile(lambda op: op is not owner, siblings) for result in op.results]
        number = sum(result.name_hint == slot.name_hint for result in before)
        return f"%{slot.name_hint}_{number}" if number else f"%{slot.name_hint}"
    return next((f"slot {index}" for index, op in enumerate(siblings) if op is owner), "a slot")
