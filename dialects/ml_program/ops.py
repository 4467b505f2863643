"""The operations: a global, loads of its value, and a store to it."""

from abc import ABC
from collections.abc import Mapping
from typing import Self

from xdsl.dialects import ml_program as upstream
from xdsl.dialects.builtin import StringAttr, SymbolNameConstraint, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, MemoryReadEffect, MemoryWriteEffect, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.symbols import SymbolUserOp


@irdl_op_definition
class GlobalOp(upstream.GlobalOp):
    """`ml_program.global private @w(#flambeau.blob<"w", "…">) : tensor<4xf32>`: a named value of the module.

    Without `mutable` it is a constant. With `mutable` it is a state: it starts with the given value and keeps its value between calls.
    """

    name = "ml_program.global"

    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(TypeAttribute)
    is_mutable = opt_prop_def(UnitAttr)
    value = opt_prop_def(AnyAttr())
    sym_visibility = prop_def(StringAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        sym_name: str | StringAttr,
        type: Attribute,
        value: Attribute | None = None,
        *,
        is_mutable: bool = False,
        sym_visibility: str = "private",
    ):
        IRDLOperation.__init__(
            self,
            properties={
                "sym_name": StringAttr(sym_name) if isinstance(sym_name, str) else sym_name,
                "type": type,
                "is_mutable": UnitAttr() if is_mutable else None,
                "value": value,
                "sym_visibility": StringAttr(sym_visibility),
            },
        )

    @property
    def blob(self) -> BlobAttr:
        """The value, a blob. Raises TypeError for another value."""
        if not isinstance(self.value, BlobAttr):
            raise TypeError(f"the value of global @{self.sym_name.data} is not a blob")
        return self.value

    def verify_(self) -> None:
        """Checks that a constant has a value."""
        if self.is_mutable is None and self.value is None:
            raise VerifyException(f"constant global @{self.sym_name.data} needs a value: give it one, or make it mutable")

    def print(self, printer: Printer) -> None:
        """Prints `private mutable @name(value) : type {attributes}`."""
        printer.print_string(f" {self.sym_visibility.data} ")
        if self.is_mutable is not None:
            printer.print_string("mutable ")
        printer.print_symbol_name(self.sym_name.data)
        if self.value is not None:
            printer.print_string("(")
            printer.print_attribute(self.value)
            printer.print_string(")")
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        visibility = parser.parse_optional_visibility_keyword()
        is_mutable = parser.parse_optional_keyword("mutable") is not None
        sym_name = parser.parse_symbol_name()
        value = None
        if parser.parse_optional_punctuation("(") is not None:
            value = parser.parse_attribute()
            parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(sym_name, type, value, is_mutable=is_mutable, sym_visibility=visibility.data if visibility else "private")
        op.attributes = parser.parse_optional_attr_dict()
        return op


def check_type(found: GlobalOp, type: Attribute, what: str) -> None:
    """Raises VerifyException if the type of an access differs from its global's; `what` is "loads" or "stores", for the message."""
    if found.type != type:
        raise VerifyException(f"{what} {type}, but global @{found.sym_name.data} is {found.type}")


class ReferenceOp(IRDLOperation, SymbolUserOp, ABC):
    """An operation that refers to a global."""

    global_attr = prop_def(SymbolRefAttr, prop_name="global")

    def _lookup(self, symbols: Mapping[str, Operation]) -> GlobalOp:
        name = self.global_attr.string_value()
        found = symbols.get(name)
        if not isinstance(found, GlobalOp):
            raise VerifyException(f"the module has no ml_program.global @{name}")
        return found


class _LoadOp(ReferenceOp, ABC):
    result = result_def(TypeAttribute)

    def __init__(self, global_attr: str | Attribute, result_type: Attribute):
        IRDLOperation.__init__(
            self,
            properties={"global": SymbolRefAttr(global_attr) if isinstance(global_attr, str) else global_attr},
            result_types=[result_type],
        )

    def print(self, printer: Printer) -> None:
        """Prints `@name {attributes} : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.global_attr)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        reference = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(reference, parser.parse_type())
        op.attributes = attributes
        return op


@irdl_op_definition
class GlobalLoadConstantOp(_LoadOp):
    """`%w = ml_program.global_load_const @w : tensor<4xf32>`: the value of a constant global."""

    name = "ml_program.global_load_const"

    traits = traits_def(Pure(), ConstantLike())

    def verify_symbol_uses(self, symbols: Mapping[str, Operation]) -> None:
        """Checks that the global exists, is a constant and has the loaded type."""
        found = self._lookup(symbols)
        check_type(found, self.result.type, "loads")
        if found.is_mutable is not None:
            raise VerifyException(f"global @{found.sym_name.data} is mutable: load it with ml_program.global_load")


@irdl_op_definition
class GlobalLoadOp(_LoadOp):
    """`%c = ml_program.global_load @cache : tensor<4xf32>`: the current value of a global."""

    name = "ml_program.global_load"

    traits = traits_def(MemoryReadEffect())

    def verify_symbol_uses(self, symbols: Mapping[str, Operation]) -> None:
        """Checks that the global exists and has the loaded type."""
        check_type(self._lookup(symbols), self.result.type, "loads")


@irdl_op_definition
class GlobalStoreOp(ReferenceOp):
    """`ml_program.global_store @cache = %v : tensor<4xf32>`: gives a mutable global a new value, which the next call reads."""

    name = "ml_program.global_store"

    value = operand_def(TypeAttribute)

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, global_attr: str | Attribute, value: SSAValue | Operation):
        super().__init__(
            operands=[value],
            properties={"global": SymbolRefAttr(global_attr) if isinstance(global_attr, str) else global_attr},
        )

    def verify_symbol_uses(self, symbols: Mapping[str, Operation]) -> None:
        """Checks that the global exists, is mutable and has the stored type."""
        found = self._lookup(symbols)
        check_type(found, self.value.type, "stores")
        if found.is_mutable is None:
            raise VerifyException(f"global @{found.sym_name.data} is a constant: ml_program.global_store needs a mutable global")

    def print(self, printer: Printer) -> None:
        """Prints `@name = %value {attributes} : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.global_attr)
        printer.print_string(" = ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        reference = parser.parse_attribute()
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(reference, parser.resolve_operand(operand, type))
        op.attributes = attributes
        return op
