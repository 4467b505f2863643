"""Constraints on types, attributes and regions. All uses of a constraint in a definition mean the same type or attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.irdl.attributes import AttributeType, RegionType
from flambeau.dialects.irdl.definitions import AttributeOp, Handle, OperationOp, ParametrizedMember, Part, TypeOp, find_definition


class ConstraintOp(Handle):
    """A constraint on a type or an attribute; both have the handle type `!irdl.attribute`."""

    output = result_def(AttributeType)
    traits = traits_def(HasParent(TypeOp, AttributeOp, OperationOp))

    @classmethod
    def of(cls, parser: Parser, operands: Sequence[SSAValue] = (), **properties: Attribute) -> Self:
        """Creates the operation from its parsed parts and the attribute dictionary, which it parses."""
        return cls.create(
            operands=operands, result_types=[AttributeType()], properties=properties, attributes=parser.parse_optional_attr_dict()
        )


def _operands(parser: Parser, delimiter: Parser.Delimiter) -> list[SSAValue]:
    parse = parser.parse_unresolved_operand
    return parser.parse_comma_separated_list(delimiter, lambda: parser.resolve_operand(parse(), AttributeType()))


@irdl_op_definition
class IsOp(ConstraintOp):
    """`irdl.is f32`: this type or attribute."""

    name = "irdl.is"
    expected = prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses the type or attribute."""
        return cls.of(parser, expected=parser.parse_attribute())

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        printer.print_string(" ")
        printer.print_attribute(self.expected)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AnyOp(ConstraintOp):
    """`irdl.any`: any type or attribute."""

    name = "irdl.any"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses the attributes, if there are any."""
        return cls.of(parser)

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class BaseOp(ConstraintOp):
    """`irdl.base "!builtin.tensor"`, `irdl.base @cmath::@complex`: any type or attribute of a class, such as any tensor."""

    name = "irdl.base"
    base_ref = opt_prop_def(SymbolRefAttr)
    base_name = opt_prop_def(StringAttr)

    def verify_(self) -> None:
        """Checks that either a symbol or a name is given, and that the symbol's definition exists."""
        if (self.base_ref is None) == (self.base_name is None):
            raise VerifyException("irdl.base needs either a symbol or a name")
        if self.base_ref is not None and find_definition(self, self.base_ref) is None:
            raise VerifyException(f"there is no irdl.type or irdl.attribute {self.base_ref}")
        if self.base_name is not None and not self.base_name.data.startswith(("!", "#")):
            raise VerifyException(f"{self.base_name.data!r} must begin with ! for a type, or with # for an attribute")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses a symbol or a string."""
        start = parser.pos
        found = parser.parse_attribute()
        if isinstance(found, SymbolRefAttr):
            return cls.of(parser, base_ref=found)
        if isinstance(found, StringAttr):
            return cls.of(parser, base_name=found)
        parser.raise_error('expected a symbol such as @cplx::@complex, or a name such as "!builtin.tensor"', start, parser.pos)

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        base = self.base_name if self.base_ref is None else self.base_ref
        if base is not None:
            printer.print_string(" ")
            printer.print_attribute(base)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ParametricOp(ConstraintOp, Part):
    """`irdl.parametric @cmath::@complex<%0>`: a type or attribute of a class, with constraints on its parameters."""

    name = "irdl.parametric"
    base_type = prop_def(SymbolRefAttr)
    args = var_operand_def(AttributeType)

    def verify_(self) -> None:
        """Checks that the definition exists and has as many parameters."""
        super().verify_()
        found = find_definition(self, self.base_type)
        if found is None:
            raise VerifyException(f"there is no irdl.type or irdl.attribute {self.base_type}")
        count = 0 if found.parameters is None else len(found.parameters.args)
        if count != len(self.args):
            raise VerifyException(f"the number of parameters of {self.base_type} is {count}, got {len(self.args)}")

    @property
    def base(self) -> ParametrizedMember:
        """The definition. The operation must be valid."""
        found = find_definition(self, self.base_type)
        assert found is not None
        return found

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `@name<%0, %1>`."""
        start = parser.pos
        base = parser.parse_attribute()
        if not isinstance(base, SymbolRefAttr):
            parser.raise_error("expected a symbol such as @cplx::@complex", start, parser.pos)
        return cls.of(parser, _operands(parser, parser.Delimiter.ANGLE), base_type=base)

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        printer.print_string(" ")
        printer.print_attribute(self.base_type)
        with printer.in_angle_brackets():
            printer.print_list(self.args, printer.print_operand)
        printer.print_op_attributes(self.attributes)


class CombinedOp(ConstraintOp, Part):
    """A combination of constraints on the same type or attribute."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `(%0, %1)`."""
        return cls.of(parser, _operands(parser, parser.Delimiter.PAREN))

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AnyOfOp(CombinedOp):
    """`irdl.any_of(%0, %1)`: a type or attribute that satisfies one of the constraints."""

    name = "irdl.any_of"
    args = var_operand_def(AttributeType)


@irdl_op_definition
class AllOfOp(CombinedOp):
    """`irdl.all_of(%0, %1)`: a type or attribute that satisfies all of the constraints."""

    name = "irdl.all_of"
    args = var_operand_def(AttributeType)


@irdl_op_definition
class CPredOp(ConstraintOp):
    """`irdl.c_pred "…"`: a predicate in C++, which is not evaluated here."""

    name = "irdl.c_pred"
    pred = prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses the string."""
        return cls.of(parser, pred=StringAttr(parser.parse_str_literal()))

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        printer.print_string(" ")
        printer.print_attribute(self.pred)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class RegionOp(Handle, Part):
    """`irdl.region(%0, %1) with size 1`: constraints on the arguments of a region's first block, and its number of blocks.

    Without parentheses any arguments are allowed; with empty parentheses none are.
    """

    name = "irdl.region"
    args = var_operand_def(AttributeType)
    block_count = opt_prop_def(IntegerAttr[I32], prop_name="numberOfBlocks")
    constrained = opt_prop_def(UnitAttr, prop_name="constrainedArguments")
    output = result_def(RegionType)
    traits = traits_def(HasParent(OperationOp))

    def verify_(self) -> None:
        """Checks that constraints on arguments are marked as such, and that the number of blocks is at least 1."""
        super().verify_()
        if self.args and self.constrained is None:
            raise VerifyException("a region with constraints on its arguments needs constrainedArguments")
        if self.block_count is not None and self.block_count.value.data < 1:
            raise VerifyException(f"the number of blocks must be at least 1, got {self.block_count.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `(%0) with size 1`; both parts are optional."""
        parse = parser.parse_unresolved_operand
        args = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.resolve_operand(parse(), AttributeType()))
        properties: dict[str, Attribute] = {} if args is None else {"constrainedArguments": UnitAttr()}
        if parser.parse_optional_keyword("with") is not None:
            parser.parse_keyword("size")
            properties["numberOfBlocks"] = IntegerAttr(parser.parse_integer(), i32)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=args or [], result_types=[RegionType()], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        if self.constrained is not None:
            with printer.in_parens():
                printer.print_list(self.args, printer.print_operand)
        if self.block_count is not None:
            printer.print_string(f" with size {self.block_count.value.data}")
        printer.print_op_attributes(self.attributes)
