"""The loop over elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.ir import Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.cpu.elements import ElementOp, YieldOp
from flambeau.dialects.exec import slot_syntax as syntax
from flambeau.dialects.exec.instructions import TransferOp


@irdl_op_definition
class LoopOp(TransferOp):
    """`cpu.loop(%x, %two) outs(%r) {^bb0(%a : tensor<4xf32>, %b : !exec.double): …}`: one pass over the elements of its outs.

    The body computes each element of the outs from the elements of the tensors at the same position, after broadcasting, and from numbers.
    An out may lie in the memory of a tensor of the same type.
    """

    name = "cpu.loop"

    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove())

    def __init__(self, ins: Sequence[SSAValue], outs: Sequence[SSAValue], body: Region):
        super().__init__(operands=[ins, outs], regions=[body])

    @property
    def elements(self) -> list[ElementOp]:
        """The operators of the body, in order."""
        return [op for op in self.body.block.ops if isinstance(op, ElementOp)]

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The value of each out."""
        return cast(YieldOp, self.body.block.last_op).values

    def verify_(self) -> None:
        """Checks that the body takes the operands and yields a value of the type of each out."""
        block = self.body.block
        if [arg.type for arg in block.args] != [slot.type for slot in self.ins]:
            raise VerifyException("the arguments of the body are not of the types of the operands")
        last = block.last_op
        if not isinstance(last, YieldOp) or not all(isinstance(op, ElementOp | YieldOp) for op in block.ops):
            raise VerifyException("the body has cpu.element operations, and ends with cpu.yield")
        if [value.type for value in last.values] != [slot.type for slot in self.outs]:
            raise VerifyException("the body does not yield a value of the type of each out")

    def print(self, printer: Printer) -> None:
        """Prints `(%ins) outs(%outs) {attributes} {body}`."""
        syntax.print_slots(printer, self.ins)
        syntax.print_slots(printer, self.outs, "outs")
        syntax.print_braces(printer, {}, self.attributes)
        printer.print_string(" do ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses what `print` prints."""
        ins = syntax.parse_slots(parser)
        outs = syntax.parse_optional_slots(parser, "outs")
        _, attributes = syntax.parse_braces(parser, {})
        parser.parse_keyword("do")
        op = cls(ins, outs, parser.parse_region())
        op.attributes = attributes
        return op
