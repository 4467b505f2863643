"""Operations on symbols: the definition of a symbol, an assertion about symbols, and the value of an expression over symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self, TypeAlias, cast, get_args

from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr, parse_extent, print_extent
from flambeau.dialects.ir.extents import UndecidedError, symbol_of

Relation: TypeAlias = Literal["eq", "ne", "lt", "le"]
HOLDS: dict[Relation, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
"""What each relation means."""
SIGNS: dict[Relation, str] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}
"""How messages write each relation."""


@irdl_op_definition
class DefineSymbolOp(IRDLOperation):
    """`flambeau.define_symbol %n as u0 in [0, 16] : tensor<i64>`: from here on, `u0` is the integer that `%n` holds.

    The operand is a 0-d tensor of integers, or an integer. The program fails here at run time if the number is out of range.
    """

    name = "flambeau.define_symbol"

    source = operand_def(AnyAttr())
    symbol = prop_def(ExtentAttr)

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, source: SSAValue | Operation, symbol: int | ExtentAttr):
        super().__init__(operands=[source], properties={"symbol": ExtentAttr.of(symbol)})

    @property
    def defines(self) -> Symbol:
        """The symbol."""
        found = symbol_of(self.symbol.value)
        assert found is not None, "checked by the verifier"
        return found

    def verify_(self) -> None:
        """Checks that a symbol is defined, by an integer."""
        if symbol_of(self.symbol.value) is None:
            raise VerifyException(f"{self.name} defines one symbol, got {self.symbol.value}")
        kind: Attribute = self.source.type
        element: Attribute = kind
        if isinstance(kind, TensorType) and not kind.get_shape():
            element = cast("TensorType[Attribute]", kind).element_type
        if not isinstance(element, IntegerType):
            raise VerifyException(f"{self.name} takes an integer or a tensor of one integer, got {kind}")

    def print(self, printer: Printer) -> None:
        """Prints `%n as u0 in [0, 16] : type`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" as ")
        print_extent(printer, self.symbol)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("as")
        symbol = parse_extent(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(source, parser.parse_type()), symbol)
        op.attributes = attributes
        return op


@irdl_op_definition
class AssertOp(IRDLOperation):
    """`flambeau.assert s0 mod 2 eq 0, "the batch is even"`: the program fails here with the message if the relation does not hold.

    An assertion that the ranges of its symbols prove is kept until the conversion to instructions: it keeps the definitions of the symbols,
    which check the ranges.
    """

    name = "flambeau.assert"

    left = prop_def(ExtentAttr)
    relation = prop_def(StringAttr)
    right = prop_def(ExtentAttr)
    message = opt_prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, left: int | ExtentAttr, relation: Relation, right: int | ExtentAttr, message: str | None = None):
        sides = [ExtentAttr.of(side) for side in (left, right)]
        given = None if message is None else StringAttr(message)
        super().__init__(properties={"left": sides[0], "relation": StringAttr(relation), "right": sides[1], "message": given})

    def verify_(self) -> None:
        """Checks the relation."""
        if self.relation.data not in HOLDS:
            raise VerifyException(f'{self.name} has no relation "{self.relation.data}": it is one of {", ".join(get_args(Relation))}')

    @property
    def is_proven(self) -> bool:
        """Whether the relation holds for all values in the ranges of the symbols."""
        try:
            return HOLDS[cast(Relation, self.relation.data)](self.left.value, self.right.value)
        except UndecidedError:
            return False

    @property
    def text(self) -> str:
        """The text of an error: the message, or the relation if there is no message."""
        relation = f"{self.left.value} {SIGNS[cast(Relation, self.relation.data)]} {self.right.value}"
        return relation if self.message is None else f"{self.message.data} ({relation})"

    def print(self, printer: Printer) -> None:
        """Prints `left relation right, "message"`."""
        printer.print_string(" ")
        print_extent(printer, self.left)
        printer.print_string(f" {self.relation.data} ")
        print_extent(printer, self.right)
        if self.message is not None:
            printer.print_string(", ")
            printer.print_string_literal(self.message.data)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        left = parse_extent(parser)
        start = parser.pos
        relation = next((name for name in get_args(Relation) if parser.parse_optional_keyword(name)), None)
        if relation is None:
            parser.raise_error(f"expected one of {', '.join(get_args(Relation))}", start, parser.pos)
        right = parse_extent(parser)
        message = parser.parse_str_literal() if parser.parse_optional_punctuation(",") else None
        op = cls(left, relation, right, message)
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class ValueOp(IRDLOperation):
    """`%n = flambeau.value s0 + 1 : i64`: the value of an expression over symbols, as an `i64` or an `index`."""

    name = "flambeau.value"

    expression = prop_def(ExtentAttr)
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    def __init__(self, expression: int | ExtentAttr, type: Attribute = i64):
        super().__init__(result_types=[type], properties={"expression": ExtentAttr.of(expression)})

    def verify_(self) -> None:
        """Checks the result type."""
        if self.result.type not in (i64, IndexType()):
            raise VerifyException(f"{self.name} gives i64 or index, got {self.result.type}")

    def print(self, printer: Printer) -> None:
        """Prints `expression : type`."""
        printer.print_string(" ")
        print_extent(printer, self.expression)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        expression = parse_extent(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(expression, parser.parse_type())
        op.attributes = attributes
        return op


SYMBOL_OPERATIONS: list[type[Operation]] = [DefineSymbolOp, AssertOp, ValueOp]
