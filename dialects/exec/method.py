"""`exec.method`, which holds slots and then instructions, and `exec.named_data`."""

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, SymbolNameConstraint
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.instructions import DelegateCallOp, InstructionOp, JumpFalseOp, LabelOp, ReturnOp, reads_and_writes
from flambeau.dialects.exec.slots import ConstantOp, ExternalOp, SlotOp, StateOp
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.verify import VerificationError
from flambeau.dialects.ml_program.ops import GlobalOp

BRACES: dict[str, syntax.Kind] = {
    "arenas": syntax.parse_integers,
    "banks": syntax.parse_strings,
    "scratch": syntax.parse_integer,
    "input_names": syntax.parse_strings,
    "output_names": syntax.parse_strings,
    "input_spec": syntax.parse_string,
    "output_spec": syntax.parse_string,
}


def is_bank_name(name: str) -> bool:
    """Returns whether a bank may have this name: it is an identifier of C."""
    return name.isascii() and name.isidentifier()


@irdl_op_definition
class MethodOp(IRDLOperation):
    """`exec.method @forward {arenas = [4096]} { … }`: one execution plan of a `.pte`.

    Attributes:
        arenas: bytes of each arena, arena 1 first; absent while memory is not planned.
        banks: the memory of the device in which each arena lies, an identifier of C; absent where the plan knows no banks.
        scratch: bytes of scratch memory that the kernels of Flambeau's runtime need; absent unless measured.
        input_names, output_names: one name for each input and output.
        input_spec, output_spec: the pytrees of the inputs and outputs, in PyTorch's JSON.
    """

    name = "exec.method"

    sym_name = prop_def(SymbolNameConstraint())
    arenas = opt_prop_def(DenseArrayBase)
    banks = opt_prop_def(ArrayAttr[StringAttr])
    scratch = opt_prop_def(IntegerAttr)
    input_names = opt_prop_def(ArrayAttr[StringAttr])
    output_names = opt_prop_def(ArrayAttr[StringAttr])
    input_spec = opt_prop_def(StringAttr)
    output_spec = opt_prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def __init__(
        self,
        sym_name: str,
        ops: Sequence[Operation] = (),
        *,
        arenas: Sequence[int] | None = None,
        banks: Sequence[str] | None = None,
        scratch: int | None = None,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        input_spec: str | None = None,
        output_spec: str | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "arenas": None if arenas is None else syntax.integers(arenas),
                "banks": None if banks is None else syntax.strings(banks),
                "scratch": None if scratch is None else syntax.integer(scratch),
                "input_names": None if input_names is None else syntax.strings(input_names),
                "output_names": None if output_names is None else syntax.strings(output_names),
                "input_spec": None if input_spec is None else StringAttr(input_spec),
                "output_spec": None if output_spec is None else StringAttr(output_spec),
            },
            regions=[Region(Block(ops))],
        )

    @property
    def arena_sizes(self) -> tuple[int, ...] | None:
        """Bytes of each arena, arena 1 first; None while memory is not planned."""
        return None if self.arenas is None else syntax.numbers(self.arenas)

    @arena_sizes.setter
    def arena_sizes(self, sizes: Sequence[int] | None) -> None:
        self.arenas = None if sizes is None else syntax.integers(sizes)

    @property
    def bank_names(self) -> tuple[str, ...] | None:
        """The bank of each arena, arena 1 first; None where the plan knows no banks."""
        return None if self.banks is None else tuple(name.data for name in self.banks)

    @bank_names.setter
    def bank_names(self, names: Sequence[str] | None) -> None:
        self.banks = None if names is None else syntax.strings(names)

    @property
    def slots(self) -> list[SlotOp]:
        """The declarations, in the order of their indices."""
        return [op for op in self.body.block.ops if isinstance(op, SlotOp)]

    @property
    def instructions(self) -> list[InstructionOp]:
        """The instructions in order, labels among them."""
        return [op for op in self.body.block.ops if isinstance(op, InstructionOp)]

    @property
    def steps(self) -> list[InstructionOp]:
        """The instructions in order, numbered as a `.pte` numbers them: labels are none."""
        return [op for op in self.instructions if not isinstance(op, LabelOp)]

    @property
    def terminator(self) -> ReturnOp:
        """The `exec.return` that lists inputs and outputs."""
        return cast(ReturnOp, self.body.block.last_op)

    def print(self, printer: Printer) -> None:
        """Prints `@name {arenas = [4096], …} { … }`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        syntax.print_braces(printer, {name: self.properties.get(name) for name in BRACES}, self.attributes)
        if not self.attributes and all(self.properties.get(name) is None for name in BRACES):
            # Without `{}` the parser would read the region as attributes.
            printer.print_string(" {}")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        sym_name = parser.parse_symbol_name()
        properties, attributes = syntax.parse_braces(parser, BRACES)
        body = parser.parse_region()
        return cls.create(properties={"sym_name": sym_name, **properties}, attributes=attributes, regions=[body])

    def verify_(self) -> None:
        """Checks that slots come first, that labels are defined once, and that symbols name globals and payloads."""
        operations = list(self.body.block.ops)
        if not operations or not isinstance(operations[-1], ReturnOp):
            raise VerifyException(f"method @{self.sym_name.data} does not end with exec.return")
        if self.body.block.args:
            raise VerifyException(f"method @{self.sym_name.data} has block arguments: its inputs are slots that exec.return lists")
        self._verify_banks()
        self._verify_order(operations[:-1])
        self._verify_labels()
        self._verify_names(operations[-1])
        self._verify_symbols()

    def _verify_banks(self) -> None:
        names, sizes = self.bank_names, self.arena_sizes or ()
        if names is None:
            return
        if len(names) != len(sizes):
            raise VerifyException(f"method @{self.sym_name.data} has {len(sizes)} arenas but {len(names)} names of banks")
        if wrong := next((name for name in names if not is_bank_name(name)), None):
            raise VerifyException(f"method @{self.sym_name.data}: a bank's name is an identifier of C, not {wrong!r}")

    def _verify_order(self, operations: Sequence[Operation]) -> None:
        instruction: Operation | None = None
        for op in operations:
            if isinstance(op, InstructionOp):
                instruction = op
            elif not isinstance(op, SlotOp):
                raise VerificationError(
                    op, f"method @{self.sym_name.data} may not contain {op.name}: only slots and instructions are allowed"
                )
            elif instruction is not None:
                raise VerificationError(
                    op, f"{syntax.describe(op.results[0])} is declared after {instruction.name}: declare all slots before the instructions"
                )

    def _verify_labels(self) -> None:
        instructions = self.instructions
        labels: set[str] = set()
        for op in instructions:
            if isinstance(op, LabelOp):
                if op.label.data in labels:
                    raise VerificationError(op, f"method @{self.sym_name.data} defines label @{op.label.data} twice")
                labels.add(op.label.data)
        for op in instructions:
            if isinstance(op, JumpFalseOp) and op.label.data not in labels:
                raise VerificationError(op, f"jumps to @{op.label.data}, but method @{self.sym_name.data} has no such label")

    def _verify_names(self, terminator: ReturnOp) -> None:
        for what, names, slots in (
            ("input", self.input_names, terminator.inputs),
            ("output", self.output_names, terminator.outputs),
        ):
            if names is not None and len(names) != len(slots):
                raise VerifyException(f"method @{self.sym_name.data} has {len(slots)} {what}s but {len(names)} {what} names")

    def _verify_symbols(self) -> None:
        module = self.parent_op()
        if module is None:
            return
        symbols: dict[str, Operation] = {}
        for op in module.regions[0].block.ops:
            if isinstance(name := op.properties.get("sym_name"), StringAttr):
                symbols[name.data] = op
        for op in self.body.block.ops:
            match op:
                case ConstantOp() | StateOp():
                    self._verify_global(op, symbols.get(op.global_name.string_value()))
                case DelegateCallOp():
                    if not isinstance(symbols.get(op.delegate.string_value()), PartitionOp | PayloadOp):
                        raise VerificationError(
                            op, f"the module has no delegate.partition or delegate.payload @{op.delegate.string_value()}"
                        )
                case _:
                    pass

    def _verify_global(self, op: ConstantOp | StateOp, found: Operation | None) -> None:
        what, name = syntax.describe(op.slot), op.global_name.string_value()
        if not isinstance(found, GlobalOp):
            raise VerificationError(op, f"{what} refers to @{name}, but the module has no ml_program.global @{name}")
        if found.type != op.slot.type:
            raise VerificationError(op, f"{what} is {op.slot.type}, but global @{name} is {found.type}")
        if isinstance(op, ConstantOp) and found.is_mutable is not None:
            raise VerificationError(op, f"{what} is a constant, but global @{name} is mutable: use exec.state")
        if isinstance(op, StateOp) and found.is_mutable is None:
            raise VerificationError(op, f"{what} is a state, but global @{name} is a constant: use exec.constant")


def written_inputs(method: MethodOp) -> list[int]:
    """Returns the positions of the inputs in the caller's memory that instructions write."""
    inputs = {slot: index for index, slot in enumerate(method.terminator.inputs) if isinstance(slot.owner, ExternalOp)}
    if not inputs:
        return []
    written = {inputs[slot] for op in method.instructions for slot in reads_and_writes(op)[1] if slot in inputs}
    return sorted(written)


@irdl_op_definition
class NamedDataOp(IRDLOperation):
    """`exec.named_data "key" = #flambeau.blob<…>`: bytes of the program that backends find by name."""

    name = "exec.named_data"

    key = prop_def(StringAttr)
    value = prop_def(BlobAttr)

    def __init__(self, key: str, value: BlobAttr):
        super().__init__(properties={"key": StringAttr(key), "value": value})

    def print(self, printer: Printer) -> None:
        """Prints `"key" = value {attributes}`."""
        printer.print_string(" ")
        printer.print_string_literal(self.key.data)
        printer.print_string(" = ")
        printer.print_attribute(self.value)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        key = parser.parse_str_literal()
        parser.parse_punctuation("=")
        op = cls.create(properties={"key": StringAttr(key), "value": parser.parse_attribute()})
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


def named_data_of(module: ModuleOp, blobs: BlobStore) -> dict[str, memoryview]:
    """Returns what the payloads of a module find by name."""
    return {op.key.data: blobs.get(op.value) for op in module.body.block.ops if isinstance(op, NamedDataOp)}
