"""The operations for definitions: dialects, their types, attributes and operations, and the lists of parameters, operands and so on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolNameConstraint, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.irdl.attributes import AttributeType, RegionType, Variadicity, VariadicityArrayAttr, VariadicityAttr

_DIALECT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*", re.ASCII)


class Definition(IRDLOperation):
    """An operation with a name and a body of one block; the syntax omits an empty body."""

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")

    NAMES: ClassVar[re.Pattern[str]] = _NAME

    @property
    def symbol(self) -> str:
        """The name."""
        return self.sym_name.data

    def verify_(self) -> None:
        """Checks that the name is valid in MLIR's syntax."""
        if not self.NAMES.fullmatch(self.symbol):
            raise VerifyException(f"{self.symbol!r} cannot be a name here: use letters, digits and _")
        if self.body.block.args:
            raise VerifyException(f"the body of @{self.symbol} may not have arguments")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `@name attributes {…} { … }`."""
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_optional_region() or Region()
        if not body.blocks:
            body.add_block(Block())
        return cls.create(properties={"sym_name": name}, attributes={} if attributes is None else dict(attributes.data), regions=[body])

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        printer.print_string(" ")
        printer.print_symbol_name(self.symbol)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.body.block.ops:
            printer.print_string(" ")
            printer.print_region(self.body)


@irdl_op_definition
class DialectOp(Definition):
    """`irdl.dialect @cmath { … }`: a dialect, or part of one."""

    name = "irdl.dialect"
    NAMES: ClassVar[re.Pattern[str]] = _DIALECT_NAME

    traits = traits_def(NoTerminator(), SymbolOpInterface(), SymbolTable(), IsolatedFromAbove())


class Member(Definition):
    """A definition inside a dialect."""

    PARTS: ClassVar[str]
    """The operations that the body may contain once."""

    @property
    def qualified_name(self) -> str:
        """The name with its dialect, such as `cmath.mul`. The definition must be inside a dialect."""
        dialect = self.parent_op()
        assert isinstance(dialect, DialectOp)
        return f"{dialect.symbol}.{self.symbol}"

    def verify_(self) -> None:
        """Checks that each of `PARTS` occurs at most once."""
        super().verify_()
        for name, count in Counter(op.name for op in self.body.block.ops).items():
            if count > 1 and name.removeprefix("irdl.") in self.PARTS.split():
                raise VerifyException(f"@{self.symbol} has {name} {count} times: at most one is allowed")


class ParametrizedMember(Member):
    """A type or an attribute."""

    PARTS: ClassVar[str] = "parameters"

    @property
    def parameters(self) -> ParametersOp | None:
        """The operation that declares the parameters, if there is one."""
        return next((op for op in self.body.block.ops if isinstance(op, ParametersOp)), None)


@irdl_op_definition
class TypeOp(ParametrizedMember):
    """`irdl.type @complex { … }`: a type."""

    name = "irdl.type"
    traits = traits_def(NoTerminator(), HasParent(DialectOp), SymbolOpInterface())


@irdl_op_definition
class AttributeOp(ParametrizedMember):
    """`irdl.attribute @mode { … }`: an attribute."""

    name = "irdl.attribute"
    traits = traits_def(NoTerminator(), HasParent(DialectOp), SymbolOpInterface())


@irdl_op_definition
class OperationOp(Member):
    """`irdl.operation @mul { … }`: an operation. It has only the operands, results and regions that its body declares."""

    name = "irdl.operation"
    PARTS: ClassVar[str] = "operands results attributes regions"

    traits = traits_def(NoTerminator(), HasParent(DialectOp), SymbolOpInterface())

    def verify_(self) -> None:
        """Checks that operands, results and regions have different names."""
        super().verify_()
        first: dict[str, str] = {}
        for part in (op for op in self.body.block.ops if isinstance(op, List)):
            for label in part.labels():
                if label is not None and first.setdefault(label, part.name) != part.name:
                    raise VerifyException(f"@{self.symbol} has entries called {label!r} in {first[label]} and in {part.name}")


class Handle(IRDLOperation):
    """An operation whose result is a handle to a constraint on types, attributes or regions."""


class Part(IRDLOperation):
    """An operation whose operands are handles to constraints of the same definition."""

    @property
    def handles(self) -> Sequence[SSAValue]:
        """The constraints."""
        return self.operands

    def verify_(self) -> None:
        """Checks that the constraints are in the same definition."""
        for handle in self.handles:
            if not isinstance(handle.owner, Handle) or handle.owner.parent is not self.parent:
                raise VerifyException(f"{self.name} takes only constraints of the same definition")


class List(Part):
    """A list of constraints, which may have names."""

    names = opt_prop_def(ArrayAttr[StringAttr])
    """Absent in MLIR 19."""
    KIND: ClassVar[AttributeType | RegionType] = AttributeType()

    def labels(self) -> list[str | None]:
        """Returns the name of each constraint, or None."""
        return [None] * len(self.handles) if self.names is None else [name.data for name in self.names]

    def verify_(self) -> None:
        """Checks that the names are valid and different, and that there is one for each constraint."""
        super().verify_()
        labels = self.labels()
        if len(labels) != len(self.handles):
            raise VerifyException(f"{self.name} has {len(self.handles)} constraints, but {len(labels)} names")
        for label, count in Counter(labels).items():
            if label is not None and not _NAME.fullmatch(label):
                raise VerifyException(f"{label!r} cannot be a name here: use letters, digits and _")
            if label is not None and count > 1:
                raise VerifyException(f"{self.name} has {count} entries called {label!r}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `(x: %0, %1)`."""
        start = parser.pos
        entries = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: cls._parse_entry(parser))
        found = [name for name, _, _ in entries if name is not None]
        if found and len(found) != len(entries):
            parser.raise_error(f"either all entries of {cls.name} must have names, or none", start, start + 1)
        properties: dict[str, Attribute] = {"names": ArrayAttr(map(StringAttr, found))} if found else {}
        properties |= cls._variadicity([variadicity for _, variadicity, _ in entries])
        return cls.create(operands=[value for _, _, value in entries], properties=properties, attributes=parser.parse_optional_attr_dict())

    @classmethod
    def _variadicity(cls, given: Sequence[Variadicity]) -> dict[str, Attribute]:
        return {}

    @classmethod
    def _parse_entry(cls, parser: Parser) -> tuple[str | None, Variadicity, SSAValue]:
        word = parser.parse_optional_identifier()
        name = None
        if word is not None and parser.parse_optional_punctuation(":") is not None:
            name, word = word, parser.parse_optional_identifier()
        words = [item.value for item in Variadicity] if cls._variadicity([]) else []
        if word is not None and word not in words:
            wanted = f"':' after the name {word!r}" if not words else f"{', '.join(words)}, or ':' after the name {word!r}"
            parser.raise_error(f"expected {wanted}")
        value = parser.resolve_operand(parser.parse_unresolved_operand(), cls.KIND)
        return name, Variadicity(word or "single"), value

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        words = [f"{item.value} " if item is not Variadicity.SINGLE else "" for item in self.variadicities()]
        labels = ["" if label is None else f"{label}: " for label in self.labels()]
        with printer.in_parens():
            for index, (label, word, handle) in enumerate(zip(labels, words, self.handles, strict=True)):
                printer.print_string(f"{', ' if index else ''}{label}{word}")
                printer.print_operand(handle)
        printer.print_op_attributes(self.attributes)

    def variadicities(self) -> list[Variadicity]:
        """Returns the variadicity of each entry."""
        return [Variadicity.SINGLE] * len(self.handles)


@irdl_op_definition
class ParametersOp(List):
    """`irdl.parameters(element: %0)`: the parameters of a type or an attribute."""

    name = "irdl.parameters"
    args = var_operand_def(AttributeType)
    traits = traits_def(HasParent(TypeOp, AttributeOp))


@irdl_op_definition
class RegionsOp(List):
    """`irdl.regions(body: %0)`: the regions of an operation."""

    name = "irdl.regions"
    args = var_operand_def(RegionType)
    KIND: ClassVar[AttributeType | RegionType] = RegionType()
    traits = traits_def(HasParent(OperationOp))


class VariadicList(List):
    """Operands or results: entries that may be optional or variadic."""

    variadicity = prop_def(VariadicityArrayAttr)

    def variadicities(self) -> list[Variadicity]:
        """Returns the variadicity of each entry."""
        return [item.data for item in self.variadicity.value]

    def verify_(self) -> None:
        """Checks that each entry has a variadicity."""
        super().verify_()
        if len(self.variadicities()) != len(self.handles):
            count = len(self.variadicities())
            raise VerifyException(f"{self.name} has {len(self.handles)} constraints, but {count} variadicities")

    @classmethod
    def _variadicity(cls, given: Sequence[Variadicity]) -> dict[str, Attribute]:
        return {"variadicity": VariadicityArrayAttr(ArrayAttr([VariadicityAttr(item) for item in given]))}


@irdl_op_definition
class OperandsOp(VariadicList):
    """`irdl.operands(lhs: %0, rest: variadic %1)`: the operands of an operation."""

    name = "irdl.operands"
    args = var_operand_def(AttributeType)
    traits = traits_def(HasParent(OperationOp))


@irdl_op_definition
class ResultsOp(VariadicList):
    """`irdl.results(sum: %0, carry: optional %1)`: the results of an operation."""

    name = "irdl.results"
    args = var_operand_def(AttributeType)
    traits = traits_def(HasParent(OperationOp))


@irdl_op_definition
class AttributesOp(Part):
    """`irdl.attributes {"mode" = %0, "note" = optional %1}`: attributes of an operation, which may have other attributes too.

    MLIR 19 does not have `optional`.
    """

    name = "irdl.attributes"
    values = var_operand_def(AttributeType)
    value_names = prop_def(ArrayAttr[StringAttr], prop_name="attributeValueNames")
    variadicity = opt_prop_def(VariadicityArrayAttr)
    traits = traits_def(HasParent(OperationOp))

    def items(self) -> Iterator[tuple[str, SSAValue, bool]]:
        """Returns each name, its constraint, and whether the attribute is optional."""
        given = [] if self.variadicity is None else [item.data is Variadicity.OPTIONAL for item in self.variadicity.value]
        return zip((name.data for name in self.value_names), self.values, given or [False] * len(self.values), strict=True)

    def verify_(self) -> None:
        """Checks that there is one constraint, and at most one variadicity, for each name, and that the names are different."""
        super().verify_()
        if len(self.value_names) != len(self.values):
            raise VerifyException(f"{self.name} has {len(self.values)} constraints, but {len(self.value_names)} names")
        given = [] if self.variadicity is None else [item.data for item in self.variadicity.value]
        if self.variadicity is not None and len(given) != len(self.values):
            raise VerifyException(f"{self.name} has {len(self.values)} constraints, but {len(given)} variadicities")
        if Variadicity.VARIADIC in given:
            raise VerifyException(f"{self.name}: an attribute may be single or optional, but not variadic")
        for name, count in Counter(item.data for item in self.value_names).items():
            if count > 1:
                raise VerifyException(f"{self.name} has {count} entries called {name!r}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses `{"name" = %0, "other" = optional %1}`."""

        def entry() -> tuple[str, Variadicity, SSAValue]:
            name = parser.parse_str_literal()
            parser.parse_punctuation("=")
            variadicity = parser.parse_optional_str_enum(Variadicity) or Variadicity.SINGLE
            return name, variadicity, parser.resolve_operand(parser.parse_unresolved_operand(), AttributeType())

        found = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry) or []
        properties: dict[str, Attribute] = {"attributeValueNames": ArrayAttr([StringAttr(name) for name, _, _ in found])}
        given = [variadicity for _, variadicity, _ in found]
        if any(item is not Variadicity.SINGLE for item in given):
            properties["variadicity"] = VariadicityArrayAttr(ArrayAttr(map(VariadicityAttr, given)))
        return cls.create(
            operands=[value for _, _, value in found],
            properties=properties,
            attributes=parser.parse_optional_attr_dict() if found else {},
        )

    def print(self, printer: Printer) -> None:
        """Prints what `parse` reads."""
        if not self.values:
            return
        printer.print_string(" {")
        for index, (name, value, is_optional) in enumerate(self.items()):
            printer.print_string(", " if index else "")
            printer.print_string_literal(name)
            printer.print_string(" = optional " if is_optional else " = ")
            printer.print_operand(value)
        printer.print_string("}")
        printer.print_op_attributes(self.attributes)


def find_definition(op: Operation, reference: SymbolRefAttr) -> ParametrizedMember | None:
    """Returns the type or attribute that a symbol refers to, from the innermost symbol table around `op` outwards; or None."""
    path = [reference.root_reference.data, *(name.data for name in reference.nested_references)]
    table = op.parent_op()
    while table is not None:
        if table.has_trait(SymbolTable, value_if_unregistered=False):
            found: Operation | None = table
            for name in path:
                found = None if found is None else _lookup(found, name)
            if isinstance(found, ParametrizedMember):
                return found
        table = table.parent_op()
    return None


def _lookup(table: Operation, name: str) -> Operation | None:
    blocks = (block for region in table.regions for block in region.blocks)
    return next((op for block in blocks for op in block.ops if symbol_name(op) == name), None)
