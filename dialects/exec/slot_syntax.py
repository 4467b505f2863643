"""The braces of exec operations: plain numbers, texts and lists for what the dialect knows, ordinary attributes for the rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

Kind: TypeAlias = Callable[[Parser], Attribute]


def integer(value: int) -> IntegerAttr[IntegerType]:
    """A plain number of a property."""
    return IntegerAttr(value, i64)


def integers(values: Sequence[int]) -> "DenseArrayBase[IntegerType]":
    """A list of plain numbers of a property."""
    return DenseArrayBase.from_list(i64, values)


def numbers(attribute: Attribute) -> tuple[int, ...]:
    """The plain numbers of a list."""
    return tuple(cast("DenseArrayBase[IntegerType]", attribute).get_values())


def truths(attribute: Attribute) -> tuple[bool, ...]:
    """The truth values of a list."""
    return tuple(map(bool, numbers(attribute)))


def texts(values: Sequence[str]) -> "ArrayAttr[StringAttr]":
    """A list of texts of a property."""
    return ArrayAttr([StringAttr(value) for value in values])


def parse_integer(parser: Parser) -> Attribute:
    """A plain number."""
    return integer(parser.parse_integer())


def parse_integers(parser: Parser) -> Attribute:
    """A list of plain numbers."""
    return integers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def parse_text(parser: Parser) -> Attribute:
    """A text."""
    return StringAttr(parser.parse_str_literal())


def parse_texts(parser: Parser) -> Attribute:
    """A list of texts."""
    return texts(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal))


def parse_braces(parser: Parser, kinds: Mapping[str, Kind]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parses an optional `{name = value, …}`; returns the properties that `kinds` names, and the other attributes."""
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}

    def parse_entry() -> None:
        name = parser.parse_optional_str_literal() or parser.parse_identifier()
        if name in properties or name in attributes:
            parser.raise_error(f"{name} is given twice")
        if (kind := kinds.get(name)) is not None:
            parser.parse_punctuation("=")
            properties[name] = kind(parser)
        else:
            attributes[name] = UnitAttr() if parser.parse_optional_punctuation("=") is None else parser.parse_attribute()

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return properties, attributes


def print_braces(printer: Printer, properties: Mapping[str, Attribute | None], attributes: Mapping[str, Attribute]) -> None:
    """Prints what `parse_braces` parses; properties that are None are left out."""
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
    """A slot, which must be declared above: its type follows from that."""
    operand = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(operand.operand_name)
    if values is None or operand.index >= len(values):
        parser.raise_error(f"slot %{operand.operand_name} is not declared above", operand.span)
    return parser.resolve_operand(operand, values[operand.index].type)


def parse_slots(parser: Parser, delimiter: Parser.Delimiter = Parser.Delimiter.PAREN) -> list[SSAValue]:
    """A list of slots, in parentheses by default."""
    return parser.parse_comma_separated_list(delimiter, lambda: parse_slot(parser))


def parse_optional_slots(parser: Parser, keyword: str) -> list[SSAValue]:
    """`keyword(%a, %b)`, or nothing."""
    return parse_slots(parser) if parser.parse_optional_keyword(keyword) is not None else []


def print_slots(printer: Printer, slots: Sequence[SSAValue], keyword: str = "") -> None:
    """Prints `keyword(%a, %b)`; with a keyword, nothing for no slots."""
    if keyword and not slots:
        return
    printer.print_string(f" {keyword}(" if keyword else "(")
    printer.print_list(slots, printer.print_ssa_value)
    printer.print_string(")")


def describe(slot: SSAValue) -> str:
    """How messages call a slot: by the name it has in the text, if it has one."""
    if slot.name_hint:
        return f"%{slot.name_hint}"
    owner = slot.owner
    if isinstance(owner, Operation) and owner.parent is not None:
        for index, op in enumerate(owner.parent.ops):
            if op is owner:
                return f"slot {index}"
    return "a slot"
