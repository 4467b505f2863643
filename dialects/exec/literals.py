"""Slots other than tensors: numbers, booleans, strings, lists, none."""

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import BaseAttr, irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.slots import INTEGER, TENSOR, SlotOp
from flambeau.dialects.exec.types import (
    BoolListType,
    BoolType,
    DoubleListType,
    DoubleType,
    IntListType,
    IntType,
    NoneType,
    OptionalTensorListType,
    StringType,
    TensorListType,
)
from flambeau.dialects.schema.schema import Value


class LiteralOp(SlotOp, ABC):
    """A slot that is not a tensor. The operation determines its type."""

    TYPE: ClassVar[Attribute]

    def _print_value(self, printer: Printer) -> None: ...

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return (), {}

    def print(self, printer: Printer) -> None:
        """Prints the value and the attributes."""
        self._print_value(printer)
        syntax.print_braces(printer, {}, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        operands, properties = cls._parse_value(parser)
        _, attributes = syntax.parse_braces(parser, {})
        return cls.create(operands=operands, result_types=[cls.TYPE], properties=properties, attributes=attributes)


@irdl_op_definition
class IntOp(LiteralOp):
    """`%one = exec.int 1`: an integer, which instructions may overwrite."""

    name = "exec.int"
    TYPE: ClassVar[Attribute] = IntType()

    value = prop_def(INTEGER)
    slot = result_def(IntType)

    def __init__(self, value: int):
        super().__init__(result_types=[self.TYPE], properties={"value": syntax.integer(value)})

    @property
    def number(self) -> int:
        """The value."""
        return cast("IntegerAttr[IntegerType]", self.value).value.data

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(f" {self.number}")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return (), {"value": syntax.parse_integer(parser)}


def _print_double(value: float) -> str:
    if not math.isfinite(value):
        return f'"{value}"'
    mantissa, exponent, power = repr(value).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


def _parse_double(parser: Parser) -> float:
    text = parser.parse_optional_str_literal()
    if text is None:
        return float(parser.parse_number())
    if text not in ("inf", "-inf", "nan"):
        parser.raise_error(f'expected a number, "inf", "-inf" or "nan", not {text!r}')
    return float(text)


@irdl_op_definition
class DoubleOp(LiteralOp):
    """`%half = exec.double 0.5`: a floating-point number; `"inf"`, `"-inf"` and `"nan"` stand in quotes."""

    name = "exec.double"
    TYPE: ClassVar[Attribute] = DoubleType()

    value = prop_def(FloatAttr)
    slot = result_def(DoubleType)

    def __init__(self, value: float):
        super().__init__(result_types=[self.TYPE], properties={"value": FloatAttr(value, f64)})

    @property
    def number(self) -> float:
        """The value."""
        return self.value.value.data

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(f" {_print_double(self.number)}")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return (), {"value": FloatAttr(_parse_double(parser), f64)}


@irdl_op_definition
class BoolOp(LiteralOp):
    """`%no = exec.bool false`: a boolean."""

    name = "exec.bool"
    TYPE: ClassVar[Attribute] = BoolType()

    value = prop_def(INTEGER)
    slot = result_def(BoolType)

    def __init__(self, value: bool):
        super().__init__(result_types=[self.TYPE], properties={"value": BoolAttr.from_bool(value)})

    @property
    def truth(self) -> bool:
        """The value."""
        return bool(cast("IntegerAttr[IntegerType]", self.value).value.data)

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(" true" if self.truth else " false")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return (), {"value": BoolAttr.from_bool(parser.parse_boolean())}


@irdl_op_definition
class StringOp(LiteralOp):
    """`%mode = exec.string "none"`: a string."""

    name = "exec.string"
    TYPE: ClassVar[Attribute] = StringType()

    value = prop_def(StringAttr)
    slot = result_def(StringType)

    def __init__(self, value: str):
        super().__init__(result_types=[self.TYPE], properties={"value": StringAttr(value)})

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.value.data)

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return (), {"value": syntax.parse_string(parser)}


@irdl_op_definition
class NoneOp(LiteralOp):
    """`%n = exec.none`: an optional argument that is absent."""

    name = "exec.none"
    TYPE: ClassVar[Attribute] = NoneType()

    slot = result_def(NoneType)

    def __init__(self) -> None:
        super().__init__(result_types=[self.TYPE])


class SlotListOp(LiteralOp, ABC):
    """A list of the values of other slots."""

    def __init__(self, items: Sequence[SSAValue]):
        super().__init__(operands=[items], result_types=[self.TYPE])

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(" [")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string("]")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        return syntax.parse_slots(parser, parser.Delimiter.SQUARE), {}


@irdl_op_definition
class IntListOp(SlotListOp):
    """`%l = exec.int_list [%one, %two]`: the integers of int slots, which are read when the list is read."""

    name = "exec.int_list"
    TYPE: ClassVar[Attribute] = IntListType()

    items = var_operand_def(IntType)
    slot = result_def(IntListType)


def _doubles(values: Sequence[float]) -> ArrayAttr[FloatAttr]:
    return ArrayAttr([FloatAttr(value, f64) for value in values])


@irdl_op_definition
class DoubleListOp(LiteralOp):
    """`%l = exec.double_list [1.0, 0.5]`: floating-point numbers."""

    name = "exec.double_list"
    TYPE: ClassVar[Attribute] = DoubleListType()

    values = prop_def(ArrayAttr[FloatAttr])
    slot = result_def(DoubleListType)

    def __init__(self, values: Sequence[float]):
        super().__init__(result_types=[self.TYPE], properties={"values": _doubles(values)})

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values."""
        return tuple(value.value.data for value in self.values)

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(f" [{', '.join(map(_print_double, self.numbers))}]")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_double(parser))
        return (), {"values": _doubles(items)}


@irdl_op_definition
class BoolListOp(LiteralOp):
    """`%l = exec.bool_list [true, false]`: booleans."""

    name = "exec.bool_list"
    TYPE: ClassVar[Attribute] = BoolListType()

    values = prop_def(DenseArrayBase)
    slot = result_def(BoolListType)

    def __init__(self, values: Sequence[bool]):
        super().__init__(result_types=[self.TYPE], properties={"values": DenseArrayBase.from_list(i1, [int(value) for value in values])})

    @property
    def truths(self) -> tuple[bool, ...]:
        """The values."""
        return syntax.bools(self.values)

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(f" [{', '.join('true' if value else 'false' for value in self.truths)}]")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_boolean)
        return (), {"values": DenseArrayBase.from_list(i1, [int(item) for item in items])}


@irdl_op_definition
class TensorListOp(SlotListOp):
    """`%l = exec.tensor_list [%a, %b]`: tensors."""

    name = "exec.tensor_list"
    TYPE: ClassVar[Attribute] = TensorListType()

    items = var_operand_def(TENSOR)
    slot = result_def(TensorListType)


@irdl_op_definition
class OptionalTensorListOp(LiteralOp):
    """`%l = exec.optional_tensor_list [%a, none]`: tensors, some of them absent: `present` has one boolean per entry."""

    name = "exec.optional_tensor_list"
    TYPE: ClassVar[Attribute] = OptionalTensorListType()

    items = var_operand_def(TENSOR | BaseAttr(NoneType))
    present = prop_def(DenseArrayBase)
    slot = result_def(OptionalTensorListType)

    def __init__(self, items: Sequence[SSAValue | None]):
        present = DenseArrayBase.from_list(i1, [int(item is not None) for item in items])
        super().__init__(operands=[[item for item in items if item is not None]], result_types=[self.TYPE], properties={"present": present})

    @property
    def entries(self) -> tuple[SSAValue | None, ...]:
        """The tensors in order, with None for absent entries."""
        rest = iter(self.items)
        return tuple(next(rest) if present else None for present in syntax.bools(self.present))

    def verify_(self) -> None:
        """Checks that `present` marks as many entries as there are tensors."""
        present = sum(syntax.bools(self.present))
        if present != len(self.items):
            raise VerifyException(f"{syntax.describe(self.slot)} has {len(self.items)} tensors, but {present} entries are marked present")

    def _print_value(self, printer: Printer) -> None:
        printer.print_string(" [")
        printer.print_list(self.entries, lambda item: printer.print_string("none") if item is None else printer.print_ssa_value(item))
        printer.print_string("]")

    @classmethod
    def _parse_value(cls, parser: Parser) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        def parse_item() -> SSAValue | None:
            return None if parser.parse_optional_keyword("none") is not None else syntax.parse_slot(parser)

        items = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_item)
        present = DenseArrayBase.from_list(i1, [int(item is not None) for item in items])
        return [item for item in items if item is not None], {"present": present}


def literal_value(slot: SSAValue) -> Value:
    """Returns the number, boolean, string or list that a slot is declared with; None for `exec.none`. Raises TypeError for tensors."""
    match slot.owner:
        case IntOp() | DoubleOp():
            return slot.owner.number
        case BoolOp():
            return slot.owner.truth
        case StringOp():
            return slot.owner.value.data
        case NoneOp():
            return None
        case IntListOp():
            return cast("Value", tuple(map(literal_value, slot.owner.items)))
        case DoubleListOp():
            return slot.owner.numbers
        case BoolListOp():
            return slot.owner.truths
        case _:
            raise TypeError(f"a slot of type {slot.type} has no value before the program runs")


LITERALS: list[type[Operation]] = [
    IntOp,
    DoubleOp,
    BoolOp,
    StringOp,
    NoneOp,
    IntListOp,
    DoubleListOp,
    BoolListOp,
    TensorListOp,
    OptionalTensorListOp,
]
