"""The types and attributes of `irdl`: handles of constraints and regions, and variadicity."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum


class Variadicity(StrEnum):
    """The number of operands or results of an entry: one; zero or one; any number, all of one type."""

    SINGLE = "single"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


@irdl_attr_definition
class AttributeType(ParametrizedAttribute, TypeAttribute):
    """The type of constraints on types and attributes."""

    name = "irdl.attribute"


@irdl_attr_definition
class RegionType(ParametrizedAttribute, TypeAttribute):
    """The type of constraints on regions."""

    name = "irdl.region"


@irdl_attr_definition
class VariadicityAttr(EnumAttribute[Variadicity], SpacedOpaqueSyntaxAttribute):
    """`#irdl<variadicity single>`, `optional` or `variadic`: the number of operands or results of an entry."""

    name = "irdl.variadicity"


@irdl_attr_definition
class VariadicityArrayAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """`#irdl<variadicity_array [single, optional]>`: the variadicity of each entry of a list."""

    name = "irdl.variadicity_array"

    value: ArrayAttr[VariadicityAttr]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parses `[single, optional]`."""
        found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: VariadicityAttr(parser.parse_str_enum(Variadicity)))
        return [ArrayAttr(found)]

    def print_parameters(self, printer: Printer) -> None:
        """Prints what `parse_parameters` reads."""
        with printer.in_square_brackets():
            printer.print_list(self.value, lambda item: printer.print_string(item.data.value))
