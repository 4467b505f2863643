"""The syntax that all operators share: `%r = aten.conv2d(%x, %w, none) {stride = [2, 2]} : (types) -> type`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from flambeau.dialects.schema.syntax import normalized_attribute, parse_argument, parse_signature, print_attribute_value

if TYPE_CHECKING:
    from flambeau.dialects.schema.row import SchemaOp

SEGMENTS = "operandSegmentSizes"
"""Property of an operator with optional tensors or lists of tensors: how many operands each argument has."""
ABSENT = "absentElements"
"""Property of an operator with a `Tensor?[]` argument: which elements are None, as an array of i1."""

OperationParts = tuple[Sequence[SSAValue], Sequence[Attribute], dict[str, Attribute], dict[str, Attribute]]
"""Operands, result types, properties and attributes of an operation."""


def absent_elements(items: Sequence[object | None]) -> Attribute:
    """Returns the value of `absentElements` for the elements of a `Tensor?[]` argument."""
    return DenseArrayBase.from_list(i1, [int(item is None) for item in items])


def with_absent(items: list[Any], properties: dict[str, Attribute]) -> list[Any]:
    """Returns the elements of a `Tensor?[]` argument, with None for those that are absent."""
    mask = properties.get(ABSENT)
    if not isinstance(mask, DenseArrayBase):
        return items
    present = iter(items)
    return [None if absent else next(present) for absent in cast("DenseArrayBase[Any]", mask).get_values()]


def tensors_text(kind: type[SchemaOp]) -> str:
    """Returns the tensors that an operator takes, for messages: `2 tensors (self, other)`."""
    names = [argument.name for argument in kind.schema.operands]
    return f"{len(names)} tensor{'s' if len(names) > 1 else ''} ({', '.join(names)})" if names else "no tensors"


def print_operation(op: SchemaOp, printer: Printer) -> None:
    """Prints an operation from its operands on."""
    printer.print_string("(")
    values = iter(op.operands)
    for index, (argument, count) in enumerate(zip(op.schema.operands, op.operand_counts(op.properties), strict=True)):
        if index:
            printer.print_string(", ")
        items = list(islice(values, count))
        if argument.type.is_list:
            printer.print_string("[")
            printer.print_list(
                with_absent(items, op.properties) if argument.type.element_optional else items,
                lambda item: _print_operand(printer, item),
            )
            printer.print_string("]")
        else:
            _print_operand(printer, items[0] if items else None)
    printer.print_string(")")
    # In the order of the schema, so that text that other tools reordered prints as before.
    between = " {"
    for key in op.schema.attributes:
        attribute = op.properties.get(key)
        if attribute is not None:
            printer.print_string(f"{between}{key}")
            if not isinstance(attribute, UnitAttr):
                printer.print_string(" = ")
                print_attribute_value(printer, attribute)
            between = ", "
    for key, attribute in op.attributes.items():
        printer.print_string(between)
        printer.print_identifier_or_string_literal(key)
        if not isinstance(attribute, UnitAttr):
            printer.print_string(" = ")
            printer.print_attribute(attribute)
        between = ", "
    printer.print_string(" : " if between == " {" else "} : ")
    printer.print_function_type(op.operand_types, op.result_types)


def parse_operation(kind: type[SchemaOp], parser: Parser) -> OperationParts:
    """Parses what `print_operation` prints. Raises ParseError."""
    unresolved: list[Any] = []
    segments: list[int] = []
    properties: dict[str, Attribute] = {}
    parser.parse_punctuation("(")
    for index, argument in enumerate(kind.schema.operands):
        if index:
            _expect(kind, parser, ",")
        if argument.type.is_list:
            around = f" around the tensors of {argument.name!r}"
            items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_operand(parser), around)
            if any(item is None for item in items):
                properties[ABSENT] = absent_elements(items)
            present = [item for item in items if item is not None]
            unresolved += present
            segments.append(len(present))
        else:
            operand = _parse_operand(parser)
            if operand is None and not argument.may_be_absent:
                parser.raise_error(f"{kind.name} needs the tensor {argument.name!r}")
            segments.append(int(operand is not None))
            if operand is not None:
                unresolved.append(operand)
    _expect(kind, parser, ")")
    attributes: dict[str, Attribute] = {}
    if parser.parse_optional_punctuation("{") and not parser.parse_optional_punctuation("}"):
        while True:
            _parse_attribute(kind, parser, properties, attributes)
            if not parser.parse_optional_punctuation(","):
                break
        parser.parse_punctuation("}")
    parser.parse_punctuation(":")
    position = parser.pos
    inputs, outputs = parse_signature(parser)
    operands = parser.resolve_operands(unresolved, inputs, position)
    if kind.has_segments():
        properties[SEGMENTS] = DenseArrayBase.from_list(i32, segments)
    return operands, outputs, properties, attributes


def _expect(kind: type[SchemaOp], parser: Parser, punctuation: Literal[",", ")"]) -> None:
    if parser.parse_optional_punctuation(punctuation) is None:
        parser.raise_error(f"{kind.name} takes {tensors_text(kind)}: '{punctuation}' expected")


def _parse_attribute(kind: type[SchemaOp], parser: Parser, properties: dict[str, Attribute], attributes: dict[str, Attribute]) -> None:
    start = parser.pos
    key = parser.parse_optional_identifier() or parser.parse_str_literal()
    if key in properties or key in attributes:
        parser.raise_error(f"attribute {key!r} is given twice", start, start + len(key))
    argument = kind.schema.attributes.get(key)
    if argument is None:
        attributes[key] = parser.parse_attribute() if parser.parse_optional_punctuation("=") else UnitAttr()
        return
    attribute = normalized_attribute(argument, parse_argument(parser, argument, start))
    if attribute is not None:
        properties[key] = attribute


def _print_operand(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_ssa_value(value)


def _parse_operand(parser: Parser) -> Any:
    return None if parser.parse_optional_keyword("none") else parser.parse_unresolved_operand()
