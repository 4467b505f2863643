"""The operations: a partition, which is a function for a backend to compile; a payload, the compiled bytes; a call of either."""

from collections.abc import Sequence, Set
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, SymbolNameConstraint, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.blobs import BlobAttr, BlobStore

MODULES = "flambeau.modules"
"""The compile spec of a payload with the modules that its operators compute, which tells users and no runtime."""

STATES = "delegate.states"
"""The attribute of a partition with the names of the states that its backend keeps, of a payload that has them, and of a call of either.

They are the last arguments of a partition, whose new values are its last results. A call has neither."""


def states_of(op: Operation) -> Sequence[str]:
    """Returns the names of the states that the runtime of a backend keeps for a partition."""
    found = op.attributes.get(STATES)
    return [name.data for name in cast("ArrayAttr[StringAttr]", found)] if isinstance(found, ArrayAttr) else []


class StatesMemoryEffect(MemoryEffect):
    """A call changes the states of its payload, if it has any."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        """As xDSL's."""
        return {EffectInstance(MemoryEffectKind.WRITE)} if STATES in op.attributes else set()


def compile_specs(specs: dict[str, str | BlobAttr]) -> DictionaryAttr:
    """Returns the options of a backend, strings or blobs, as an attribute."""
    return DictionaryAttr({key: StringAttr(value) if isinstance(value, str) else value for key, value in specs.items()})


def spec_value(delegate: str, key: str, value: bytes | memoryview | str, blobs: BlobStore) -> str | BlobAttr:
    """Returns an option of a delegate as it stands in the IR: text, or bytes that are none as a blob."""
    if isinstance(value, str):
        return value
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        return blobs.add(f"{delegate}.{key}", value)


def _verify_backend(backend: StringAttr, specs: DictionaryAttr | None) -> None:
    if not backend.data:
        raise VerifyException("the name of a backend must not be empty")
    for key, value in () if specs is None else specs.data.items():
        if not isinstance(value, StringAttr | BlobAttr):
            raise VerifyException(f"compile spec {key!r} is {value}: it must be a string or a blob")


@irdl_op_definition
class PartitionOp(IRDLOperation):
    """`delegate.partition @p0 backend "XnnpackBackend" (%a: tensor<…>) -> tensor<…> { … delegate.return %r : … }`.

    A function that one backend compiles. It reads only its arguments and constant globals.
    """

    name = "delegate.partition"

    sym_name = prop_def(SymbolNameConstraint())
    backend = prop_def(StringAttr)
    specs = opt_prop_def(DictionaryAttr)
    function_type = prop_def(FunctionType)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def __init__(
        self,
        sym_name: str,
        backend: str,
        function_type: FunctionType,
        body: Region | None = None,
        specs: DictionaryAttr | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "backend": StringAttr(backend),
                "function_type": function_type,
                "specs": specs,
            },
            regions=[Region(Block(arg_types=function_type.inputs.data)) if body is None else body],
        )

    def verify_(self) -> None:
        """Checks the backend's name and options, and that arguments and results have the types of the function type."""
        _verify_backend(self.backend, self.specs)
        block = self.body.block
        if tuple(block.arg_types) != self.function_type.inputs.data:
            types = ", ".join(map(str, block.arg_types))
            raise VerifyException(f"partition @{self.sym_name.data} takes ({types}), but its type is {self.function_type}")
        terminator = block.last_op
        if not isinstance(terminator, ReturnOp):
            raise VerifyException(f"partition @{self.sym_name.data} must end with delegate.return")
        if tuple(terminator.operand_types) != self.function_type.outputs.data:
            types = ", ".join(map(str, terminator.operand_types))
            raise VerifyException(f"partition @{self.sym_name.data} returns ({types}), but its type is {self.function_type}")

    def print(self, printer: Printer) -> None:
        """Prints `@name backend "id" {specs} (%a: type) -> (types) attributes {…} { … }`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" backend ")
        printer.print_string_literal(self.backend.data)
        if self.specs is not None:
            printer.print_string(" ")
            printer.print_attribute(self.specs)
        printer.print_string(" (")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(") -> (")
        printer.print_list(self.function_type.outputs.data, printer.print_attribute)
        printer.print_string(")")
        if self.attributes:
            printer.print_string(" attributes")
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        sym_name = parser.parse_symbol_name()
        parser.parse_keyword("backend")
        backend = StringAttr(parser.parse_str_literal())
        specs = parser.parse_optional_attr_dict()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _argument(parser))
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        properties: dict[str, Attribute] = {
            "sym_name": sym_name,
            "backend": backend,
            "function_type": FunctionType.from_lists([argument.type for argument in arguments], results),
        }
        if specs:
            properties["specs"] = DictionaryAttr(specs)
        return cls.create(properties=properties, attributes={} if attributes is None else dict(attributes.data), regions=[body])


def _argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`delegate.return %r : tensor<…>`: returns the results of a partition."""

    name = "delegate.return"

    values = var_operand_def(AnyAttr())

    traits = traits_def(IsTerminator(), HasParent(PartitionOp))

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue | Operation]):
        super().__init__(operands=[values])


@irdl_op_definition
class PayloadOp(IRDLOperation):
    """`delegate.payload @p0 backend "XnnpackBackend" {specs} (#flambeau.blob<…>) : (tensor<…>) -> tensor<…>`.

    The bytes that a backend compiled from a partition, for the backend's runtime. The type is absent if it is not known, as in a program
    that was read from a `.pte` file. The specs are the options of the backend; `flambeau.state` and `flambeau.made_by` among them say how
    far such payloads are tried, and the tool that made this one; `flambeau.estimates`, what this tool expects of a call.
    """

    name = "delegate.payload"

    sym_name = prop_def(SymbolNameConstraint())
    backend = prop_def(StringAttr)
    specs = opt_prop_def(DictionaryAttr)
    data = prop_def(BlobAttr)
    function_type = opt_prop_def(FunctionType)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        backend: str,
        data: BlobAttr,
        function_type: FunctionType | None = None,
        specs: DictionaryAttr | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "backend": StringAttr(backend),
                "data": data,
                "function_type": function_type,
                "specs": specs,
            }
        )

    def verify_(self) -> None:
        """Checks that the backend has a name and that its options are strings or blobs."""
        _verify_backend(self.backend, self.specs)

    def print(self, printer: Printer) -> None:
        """Prints `@name backend "id" {specs} (blob) : type attributes {…}`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" backend ")
        printer.print_string_literal(self.backend.data)
        if self.specs is not None:
            printer.print_string(" ")
            printer.print_attribute(self.specs)
        printer.print_string(" (")
        printer.print_attribute(self.data)
        printer.print_string(")")
        if self.function_type is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.function_type)
        if self.attributes:
            printer.print_string(" attributes")
            printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        parser.parse_keyword("backend")
        properties["backend"] = StringAttr(parser.parse_str_literal())
        specs = parser.parse_optional_attr_dict()
        if specs:
            properties["specs"] = DictionaryAttr(specs)
        with parser.in_parens():
            properties["data"] = parser.parse_attribute()
        if parser.parse_optional_punctuation(":") is not None:
            properties["function_type"] = parser.parse_type()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(properties=properties, attributes={} if attributes is None else dict(attributes.data))


@irdl_op_definition
class CallOp(IRDLOperation):
    """`%r = delegate.call @p0(%a) : (tensor<…>) -> tensor<…>`: runs a partition or a payload."""

    name = "delegate.call"

    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def(AnyAttr())
    res = var_result_def(AnyAttr())

    traits = traits_def(StatesMemoryEffect())

    def __init__(self, callee: str | SymbolRefAttr, arguments: Sequence[SSAValue | Operation], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            properties={"callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee},
        )

    def verify_(self) -> None:
        """Checks that the callee is a partition or payload of this type."""
        parent = self.parent_op()
        while parent is not None and not parent.has_trait(SymbolTable):
            parent = parent.parent_op()
        if parent is None:
            return
        name = self.callee.string_value()
        found = SymbolTable.lookup_symbol(self, self.callee)
        if not isinstance(found, PartitionOp | PayloadOp):
            raise VerifyException(f"the module has no delegate.partition or delegate.payload @{name}")
        declared = found.function_type
        used = FunctionType.from_lists(list(self.operand_types), list(self.result_types))
        if declared is not None and declared != used:
            raise VerifyException(f"calls @{name} with type {used}, but its type is {declared}")

    def print(self, printer: Printer) -> None:
        """Prints `@name(%a) {attributes} : type`."""
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_string("(")
        printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        callee = SymbolRefAttr(parser.parse_symbol_name())
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_function_type()
        op = cls(callee, parser.resolve_operands(arguments, type.inputs.data, position), type.outputs.data)
        op.attributes = attributes
        return op
