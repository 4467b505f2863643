"""The instructions of a method, which run in order on its slots, and the slots that each reads and writes."""

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerType, StringAttr, SymbolRefAttr, TensorType, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.literals import OptionalTensorListOp, TensorListOp
from flambeau.dialects.exec.slots import TENSOR, symbol
from flambeau.dialects.exec.types import BoolType, IntType
from flambeau.dialects.ir.expressions import Expression
from flambeau.dialects.ir.extent_attribute import ExtentAttr, parse_extent, print_extent
from flambeau.dialects.ir.extents import Extent

STEP = "flambeau.step"
"""Attribute of an instruction of a method that lacks instructions of the program's: the number that the program has for it."""


class InstructionOp(IRDLOperation, ABC):
    """An instruction of a method, or a label."""


class TransferOp(InstructionOp, ABC):
    """An instruction that reads some slots and writes others."""

    ins = var_operand_def(AnyAttr())
    outs = var_operand_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@irdl_op_definition
class CallOp(InstructionOp):
    """`exec.call "aten::add.out"(%x, %y, %one) outs(%r)`: runs a kernel.

    Its arguments are those of the operator's out-variant in order, the outs last. A kernel also receives the slots that it returns:
    `returns`, which is left out if it is the only out. Several outs are returned as a tensor list; an in-place operator returns its self.
    `writes` lists the arguments that a kernel writes beside those: it receives them once.
    """

    name = "exec.call"

    operator = prop_def(StringAttr)
    ins = var_operand_def(AnyAttr())
    outs = var_operand_def(AnyAttr())
    returns = var_operand_def(AnyAttr())
    writes = var_operand_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operator: str,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue] = (),
        returns: Sequence[SSAValue] = (),
        writes: Sequence[SSAValue] = (),
    ):
        if len(outs) == 1 and tuple(returns) == tuple(outs):
            returns = ()
        super().__init__(operands=[ins, outs, returns, writes], properties={"operator": StringAttr(operator)})

    @property
    def arguments(self) -> tuple[SSAValue, ...]:
        """Everything that the kernel receives, in order."""
        outs = tuple(self.outs)
        returns = tuple(self.returns)
        return (*self.ins, *outs, *(outs if len(outs) == 1 and not returns else returns))

    def verify_(self) -> None:
        """Checks the operator's name, that a single out is not repeated in `returns`, and that several outs are returned as a list."""
        outs, returns = tuple(self.outs), tuple(self.returns)
        operator = self.operator.data
        namespace, separator, name = operator.partition("::")
        if not (namespace and separator and name and operator.isascii()):
            raise VerifyException(f'"{operator}" is not an operator name: expected "namespace::name.overload"')
        if len(outs) == 1 and returns == outs:
            raise VerifyException(f"{operator} always returns its only out {syntax.describe(outs[0])}: leave out `returns`")
        if len(outs) > 1:
            listed = returns[0].owner if len(returns) == 1 else None
            if not isinstance(listed, TensorListOp) or tuple(listed.items) != outs:
                raise VerifyException(f"{operator} has {len(outs)} outs: it must return one exec.tensor_list of exactly these")
        for slot in self.writes:
            if slot not in _tensors(self.ins):
                raise VerifyException(f"{operator} writes {syntax.describe(slot)}, which is not one of its arguments")

    def print(self, printer: Printer) -> None:
        """Prints `"operator"(%ins) outs(%outs) returns(%returns) writes(%writes) {attributes}`."""
        printer.print_string(" ")
        printer.print_string_literal(self.operator.data)
        syntax.print_slots(printer, self.ins)
        syntax.print_slots(printer, self.outs, "outs")
        syntax.print_slots(printer, self.returns, "returns")
        syntax.print_slots(printer, self.writes, "writes")
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        operator = parser.parse_str_literal()
        ins = syntax.parse_slots(parser)
        outs = syntax.parse_optional_slots(parser, "outs")
        returns = syntax.parse_optional_slots(parser, "returns")
        writes = syntax.parse_optional_slots(parser, "writes")
        _, attributes = syntax.parse_braces(parser, {})
        op = cls(operator, ins, outs, returns, writes)
        op.attributes = attributes
        return op


@irdl_op_definition
class EvaluateOp(InstructionOp):
    """`exec.evaluate ins(s0 in [2, 9] = %n) outs(s0 * 2 = %a, min(s0 * 2, 8) + 1 = %b)`: computes expressions over symbols.

    The slots of `ins` hold the symbols, and expressions that are known. The format has no such instruction: `lower-expressions` makes calls
    of it, in which an expression may use those before it.
    """

    name = "exec.evaluate"

    known = prop_def(ArrayAttr[ExtentAttr])
    computed = prop_def(ArrayAttr[ExtentAttr])
    ins = var_operand_def(IntType())
    outs = var_operand_def(IntType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, ins: Mapping[ExtentAttr, SSAValue], outs: Mapping[ExtentAttr, SSAValue]):
        super().__init__(
            operands=[list(ins.values()), list(outs.values())],
            properties={"known": ArrayAttr(list(ins)), "computed": ArrayAttr(list(outs))},
        )

    @property
    def known_slots(self) -> dict[Expression, SSAValue]:
        """The slots of the expressions that are known."""
        return dict(zip(map(_expression, self.known), self.ins, strict=True))

    @property
    def computed_slots(self) -> dict[Expression, SSAValue]:
        """The slots of the expressions that it computes, in order."""
        return dict(zip(map(_expression, self.computed), self.outs, strict=True))

    def verify_(self) -> None:
        """Checks that each expression has a slot, and that the symbols of computed expressions are known."""
        if len(self.known) != len(self.ins) or len(self.computed) != len(self.outs):
            raise VerifyException(f"{self.name} needs one slot for each expression")
        symbols = {expression.symbol for expression in map(_expression, self.known)}
        for expression in map(_expression, self.computed):
            if unknown := [symbol for symbol in expression.symbols if symbol not in symbols]:
                raise VerifyException(f"{self.name} computes {expression} without a slot for {unknown[0]}")

    def print(self, printer: Printer) -> None:
        """Prints `ins(expression = %slot) outs(expression = %slot) {attributes}`."""
        for keyword, expressions, slots in (("ins", self.known, self.ins), ("outs", self.computed, self.outs)):
            printer.print_string(f" {keyword}(")
            for index, (expression, slot) in enumerate(zip(expressions, slots, strict=True)):
                printer.print_string(", " if index else "")
                print_extent(printer, expression)
                printer.print_string(" = ")
                printer.print_ssa_value(slot)
            printer.print_string(")")
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""

        def parse_pair() -> tuple[ExtentAttr, SSAValue]:
            expression = parse_extent(parser)
            parser.parse_punctuation("=")
            return expression, syntax.parse_slot(parser)

        groups: list[dict[ExtentAttr, SSAValue]] = []
        for keyword in ("ins", "outs"):
            parser.parse_keyword(keyword)
            groups.append(dict(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_pair)))
        op = cls(*groups)
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


def _expression(attribute: ExtentAttr) -> Expression:
    value = attribute.value
    if isinstance(value, Extent) and value.expression is not None:
        return value.expression
    raise VerifyException(f"exec.evaluate takes expressions over symbols, got {value}")


@irdl_op_definition
class DelegateCallOp(TransferOp):
    """`exec.delegate_call @delegate0(%a) outs(%b)`: runs a `delegate.payload` of the module, or a `delegate.partition`.

    A payload is what a backend compiled; a program that is to be emitted has no partitions.
    """

    name = "exec.delegate_call"

    delegate = prop_def(SymbolRefAttr)

    def __init__(self, delegate: str | SymbolRefAttr, ins: Sequence[SSAValue], outs: Sequence[SSAValue]):
        super().__init__(operands=[ins, outs], properties={"delegate": symbol(delegate)})

    def print(self, printer: Printer) -> None:
        """Prints `@delegate(%ins) outs(%outs) {attributes}`."""
        printer.print_string(" ")
        printer.print_attribute(self.delegate)
        syntax.print_slots(printer, self.ins)
        syntax.print_slots(printer, self.outs, "outs")
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        delegate = SymbolRefAttr(parser.parse_symbol_name())
        ins = syntax.parse_slots(parser)
        outs = syntax.parse_optional_slots(parser, "outs")
        _, attributes = syntax.parse_braces(parser, {})
        op = cls(delegate, ins, outs)
        op.attributes = attributes
        return op


@irdl_op_definition
class MoveOp(InstructionOp):
    """`exec.move %a, %b`: `%b` takes the value of `%a`; a tensor takes the storage, without a copy."""

    name = "exec.move"

    source = operand_def(AnyAttr())
    target = operand_def(AnyAttr())

    def __init__(self, source: SSAValue, target: SSAValue):
        super().__init__(operands=[source, target])

    def verify_(self) -> None:
        """Checks that both slots are of one kind."""
        source, target = self.source.type, self.target.type
        if type(source) is not type(target):
            raise VerifyException(f"moves {source} to {target}: both slots must be of the same kind")

    def print(self, printer: Printer) -> None:
        """Prints `%source, %target {attributes}`."""
        printer.print_string(" ")
        printer.print_list((self.source, self.target), printer.print_ssa_value)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        source = syntax.parse_slot(parser)
        parser.parse_punctuation(",")
        op = cls(source, syntax.parse_slot(parser))
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


@irdl_op_definition
class LabelOp(InstructionOp):
    """`exec.label @end`: names the next instruction."""

    name = "exec.label"

    label = prop_def(StringAttr)

    def __init__(self, label: str):
        super().__init__(properties={"label": StringAttr(label)})

    def print(self, printer: Printer) -> None:
        """Prints `@label {attributes}`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.label.data)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        op = cls(parser.parse_symbol_name().data)
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


@irdl_op_definition
class JumpFalseOp(InstructionOp):
    """`exec.jump_false %c, @end`: jumps to the label if `%c`, or any element of it, is false."""

    name = "exec.jump_false"

    condition = operand_def(AnyAttr())
    label = prop_def(StringAttr)

    def __init__(self, condition: SSAValue, label: str):
        super().__init__(operands=[condition], properties={"label": StringAttr(label)})

    def verify_(self) -> None:
        """Checks that the condition is a bool or a tensor of i1."""
        type = self.condition.type
        if isinstance(type, BoolType):
            return
        if isinstance(type, TensorType) and cast("TensorType[Attribute]", type).element_type == IntegerType(1):
            return
        raise VerifyException(f"the condition {syntax.describe(self.condition)} must be exec.bool or a tensor of i1, got {type}")

    def print(self, printer: Printer) -> None:
        """Prints `%condition, @label {attributes}`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(", ")
        printer.print_symbol_name(self.label.data)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        condition = syntax.parse_slot(parser)
        parser.parse_punctuation(",")
        op = cls(condition, parser.parse_symbol_name().data)
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


@irdl_op_definition
class FailOp(InstructionOp):
    """`exec.fail "the sizes must be equal"(%x)`: ends the run with a message, about the number in a tensor unless that is NaN."""

    name = "exec.fail"

    message = prop_def(StringAttr)
    found = operand_def(TENSOR)

    def __init__(self, message: str, found: SSAValue):
        super().__init__(operands=[found], properties={"message": StringAttr(message)})

    def verify_(self) -> None:
        """Checks that the tensor holds one f64."""
        type = cast("TensorType[Attribute]", self.found.type)
        if type.element_type != f64 or type.get_shape() != (1,):
            raise VerifyException(f"what {syntax.describe(self.found)} holds must be tensor<1xf64>, got {type}")

    def print(self, printer: Printer) -> None:
        """Prints `"message"(%found) {attributes}`."""
        printer.print_string(" ")
        printer.print_string_literal(self.message.data)
        syntax.print_slots(printer, [self.found])
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        message = parser.parse_str_literal()
        parser.parse_punctuation("(")
        op = cls(message, syntax.parse_slot(parser))
        parser.parse_punctuation(")")
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


@irdl_op_definition
class FreeOp(InstructionOp):
    """`exec.free %a`: frees the memory of a tensor without a place in an arena."""

    name = "exec.free"

    tensor = operand_def(TENSOR)

    def __init__(self, tensor: SSAValue):
        super().__init__(operands=[tensor])

    def print(self, printer: Printer) -> None:
        """Prints `%tensor {attributes}`."""
        printer.print_string(" ")
        printer.print_ssa_value(self.tensor)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        op = cls(syntax.parse_slot(parser))
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`exec.return inputs(%x) outputs(%y)`: lists the slots that the caller sets before the method, and reads after it."""

    name = "exec.return"

    inputs = var_operand_def(AnyAttr())
    outputs = var_operand_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(IsTerminator())

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs, outputs])

    def print(self, printer: Printer) -> None:
        """Prints `inputs(%x) outputs(%y) {attributes}`."""
        syntax.print_slots(printer, self.inputs, "inputs")
        syntax.print_slots(printer, self.outputs, "outputs")
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        op = cls(syntax.parse_optional_slots(parser, "inputs"), syntax.parse_optional_slots(parser, "outputs"))
        _, op.attributes = syntax.parse_braces(parser, {})
        return op


COPY = "aten::clone.out"
"""The kernel that copies an operand that stays where it is."""

ALIASING = "executorch_prim::et_view.default"
"""The kernel whose result takes the storage of its first argument."""

OVERWRITE = "aten::copy_"
"""The in-place kernel that does not read the tensor that it writes."""

COPY_INDEX = "executorch_prim::et_copy_index.tensor"
"""The kernel that writes one entry of its first argument and returns nothing."""


def reads_and_writes(op: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """Returns the tensor slots that an instruction reads, and those that it writes, with the items of lists in place of the lists.

    A returned argument is written, and, unless it is an out, also read.
    """
    match op:
        case CallOp() if op.operator.data == COPY_INDEX:
            return _tensors(op.ins[1:]), _tensors(op.ins[:1])
        case CallOp() if op.operator.data == OVERWRITE:
            return _tensors(op.ins[1:]), _tensors(op.returns)
        case CallOp():
            return _tensors(op.ins), tuple(dict.fromkeys(_tensors((*op.outs, *op.returns, *op.writes))))
        case TransferOp():
            return _tensors(op.ins), _tensors(op.outs)
        case JumpFalseOp():
            return _tensors((op.condition,)), ()
        case FailOp():
            return (op.found,), ()
        case _:
            return (), ()


def lends_storage(op: Operation) -> bool:
    """Returns whether a slot may hold another slot's memory after an instruction: a move, or a kernel that lends it."""
    return isinstance(op, MoveOp) or (isinstance(op, CallOp) and op.operator.data == ALIASING)


def written_literals(instructions: Iterable[Operation]) -> set[SSAValue]:
    """Returns the slots other than tensors that instructions or the caller give another value than they are declared with."""
    found: set[SSAValue] = set()
    for op in instructions:
        match op:
            case CallOp():
                found.update((*op.outs, *op.returns))
            case EvaluateOp():
                found.update(op.outs)
            case MoveOp():
                found.add(op.target)
            case ReturnOp():
                found.update(op.inputs)
            case _:
                pass
    return {slot for slot in found if not isinstance(slot.type, TensorType)}


def _tensors(slots: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    found: list[SSAValue] = []
    for slot in slots:
        if isinstance(slot.type, TensorType):
            found.append(slot)
        elif isinstance(slot.owner, TensorListOp | OptionalTensorListOp):
            found += [item for item in slot.owner.items if isinstance(item.type, TensorType)]
    return tuple(found)


INSTRUCTIONS: list[type[Operation]] = [CallOp, EvaluateOp, DelegateCallOp, MoveOp, LabelOp, JumpFalseOp, FailOp, FreeOp, ReturnOp]
