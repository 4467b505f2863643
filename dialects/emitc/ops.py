"""Operations of MLIR's `emitc` that xDSL lacks: files, globals, functions and text. The syntax is that of MLIR 19."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IndexType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

BLOB = "flambeau.blob"
"""Attribute of a global that another file defines: its bytes, `#flambeau.blob`."""


@irdl_op_definition
class IncludeOp(IRDLOperation):
    """`emitc.include "model.h"` or `emitc.include <"stdint.h">`: an include of a file beside the text, or of the system."""

    name = "emitc.include"

    include = prop_def(StringAttr)
    is_standard_include = opt_prop_def(UnitAttr)

    def __init__(self, include: str, *, is_standard_include: bool = False):
        super().__init__(
            properties={"include": StringAttr(include), "is_standard_include": UnitAttr() if is_standard_include else None},
        )

    def print(self, printer: Printer) -> None:
        """Prints `"file"`, or `<"file">`."""
        opening, closing = (" <", ">") if self.is_standard_include is not None else (" ", "")
        printer.print_string(opening)
        printer.print_string_literal(self.include.data)
        printer.print_string(closing)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        is_standard = parser.parse_optional_punctuation("<") is not None
        name = parser.parse_str_literal()
        if is_standard:
            parser.parse_punctuation(">")
        return cls(name, is_standard_include=is_standard)


@irdl_op_definition
class VerbatimOp(IRDLOperation):
    """`emitc.verbatim "/* encoder */"`: text that stands in the C file as it is."""

    name = "emitc.verbatim"

    value = prop_def(StringAttr)

    assembly_format = "$value attr-dict"

    def __init__(self, value: str):
        super().__init__(properties={"value": StringAttr(value)})


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """`emitc.global static const @sizes : !emitc.array<2xi32> = dense<[1, 2]>`: a variable of the file."""

    name = "emitc.global"

    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(AnyAttr())
    initial_value = opt_prop_def(AnyAttr())
    extern_specifier = opt_prop_def(UnitAttr)
    static_specifier = opt_prop_def(UnitAttr)
    const_specifier = opt_prop_def(UnitAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, type: Attribute, initial_value: Attribute | None = None, specifiers: Sequence[str] = ()):
        flags = {f"{specifier}_specifier": UnitAttr() for specifier in specifiers}
        super().__init__(properties={"sym_name": StringAttr(name), "type": type, "initial_value": initial_value, **flags})

    @property
    def specifiers(self) -> list[str]:
        """Those of `extern`, `static` and `const` that it has, in this order."""
        return [name for name in ("extern", "static", "const") if f"{name}_specifier" in self.properties]

    def verify_(self) -> None:
        """Checks that it is not both of one file and of another."""
        if self.extern_specifier is not None and self.static_specifier is not None:
            raise VerifyException(f"@{self.sym_name.data} cannot be both extern and static")

    def print(self, printer: Printer) -> None:
        """Prints `static const @name : type = value {attributes}`."""
        printer.print_string("".join(f" {specifier}" for specifier in self.specifiers))
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if self.initial_value is not None:
            printer.print_string(" = ")
            printer.print_attribute(self.initial_value)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        specifiers = [name for name in ("extern", "static", "const") if parser.parse_optional_keyword(name) is not None]
        name = parser.parse_symbol_name().data
        parser.parse_punctuation(":")
        type = parser.parse_type()
        value = parser.parse_attribute() if parser.parse_optional_punctuation("=") is not None else None
        op = cls(name, type, value, specifiers)
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class GetGlobalOp(IRDLOperation):
    """`%0 = emitc.get_global @sizes : !emitc.array<2xi32>`: the variable of that name."""

    name = "emitc.get_global"

    global_name = prop_def(FlatSymbolRefAttrConstr, prop_name="name")
    result = result_def(AnyAttr())

    def __init__(self, name: str, type: Attribute):
        super().__init__(properties={"name": SymbolRefAttr(name)}, result_types=[type])

    def print(self, printer: Printer) -> None:
        """Prints `@name : type {attributes}`."""
        printer.print_string(" ")
        printer.print_attribute(self.global_name)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        name = parser.parse_symbol_name().data
        parser.parse_punctuation(":")
        op = cls(name, parser.parse_type())
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """`%0 = "emitc.constant"() <{value = 0 : i32}> : () -> i32`: a literal."""

    name = "emitc.constant"

    value = prop_def(AnyAttr())
    result = result_def(AnyAttr())

    def __init__(self, value: Attribute, type: Attribute):
        super().__init__(properties={"value": value}, result_types=[type])


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`emitc.func @run() -> i32 attributes {specifiers = ["static"]} {…}`: a function; one without a body is declared only."""

    name = "emitc.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    specifiers = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def __init__(self, name: str, type: FunctionType, specifiers: Sequence[str] = (), body: Region | None = None):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": type,
                "specifiers": ArrayAttr(map(StringAttr, specifiers)) if specifiers else None,
            },
            regions=[Region() if body is None else body],
        )

    def verify_(self) -> None:
        """Checks that the arguments of the body are those of the type, and that it has at most one result."""
        if len(self.function_type.outputs) > 1:
            raise VerifyException(f"function @{self.sym_name.data} has {len(self.function_type.outputs)} results, and C has one")
        if self.body.blocks and tuple(self.body.blocks[0].arg_types) != tuple(self.function_type.inputs):
            raise VerifyException(f"the arguments of function @{self.sym_name.data} are not those of its type")

    def print(self, printer: Printer) -> None:
        """Prints `@name(%arg0: i32) -> i32 attributes {specifiers = ["static"]} {…}`."""
        attributes = dict(self.attributes) | ({} if self.specifiers is None else {"specifiers": self.specifiers})
        # As MLIR has it, a function without a body is private.
        printer.print_string("" if self.body.blocks else " private")
        print_func_op_like(
            printer, self.sym_name, self.function_type, self.body, attributes, reserved_attr_names=("sym_name", "function_type")
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        parser.parse_optional_visibility_keyword()
        name, inputs, results, body, attributes, _, _ = parse_func_op_like(
            parser, reserved_attr_names=("sym_name", "function_type", "sym_visibility")
        )
        found = {} if attributes is None else dict(attributes.data)
        op = cls(name, FunctionType.from_lists(inputs, results), (), body)
        specifiers = found.pop("specifiers", None)
        if specifiers is not None:
            op.properties["specifiers"] = specifiers
        op.attributes = found
        return op


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`emitc.yield`: the end of the body of a loop, which is not printed."""

    name = "emitc.yield"

    traits = traits_def(IsTerminator())

    assembly_format = "attr-dict"


@irdl_op_definition
class ForOp(IRDLOperation):
    """`emitc.for %i = %0 to %1 step %2 {…}`: a loop whose variable, of type index, goes from a bound up to another."""

    name = "emitc.for"

    lower_bound = operand_def(IndexType())
    upper_bound = operand_def(IndexType())
    step = operand_def(IndexType())
    body = region_def("single_block")

    def __init__(self, lower_bound: SSAValue, upper_bound: SSAValue, step: SSAValue, body: Region):
        super().__init__(operands=[lower_bound, upper_bound, step], regions=[body])

    def verify_(self) -> None:
        """Checks that the body has the variable as its argument, and ends with `emitc.yield`."""
        if [arg.type for arg in self.body.block.args] != [IndexType()] or not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the body of a loop has the variable, an index, as its argument, and ends with emitc.yield")

    def print(self, printer: Printer) -> None:
        """Prints `%i = %lower to %upper step %step {body}`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.body.block.args[0])
        for word, value in (("=", self.lower_bound), ("to", self.upper_bound), ("step", self.step)):
            printer.print_string(f" {word} ")
            printer.print_ssa_value(value)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=False)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        variable = parser.parse_argument(expect_type=False).resolve(IndexType())

        def parse_bound() -> SSAValue:
            return parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())

        parser.parse_punctuation("=")
        lower = parse_bound()
        parser.parse_keyword("to")
        upper = parse_bound()
        parser.parse_keyword("step")
        step = parse_bound()
        body = parser.parse_region((variable,))
        if not isinstance(body.block.last_op, YieldOp):
            body.block.add_op(YieldOp())
        op = cls(lower, upper, step, body)
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`emitc.return %0 : i32`: leaves the function."""

    name = "emitc.return"

    operands_ = var_operand_def(AnyAttr())

    traits = traits_def(IsTerminator())

    assembly_format = "attr-dict ($operands_^ `:` type($operands_))?"

    def __init__(self, *operands: SSAValue):
        super().__init__(operands=[operands])
