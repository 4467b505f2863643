"""What round trips find: text that does not parse back, or parses back to other IR, and where."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.schema.context import FlambeauContext, register_dialect
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.support.tables import declared_by
from flambeau.tools.instruments.round_trip import RoundTrip, RoundTripError, check_round_trip

GOOD = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  "test.op"() {nan = [0x7FC00000 : f32], in = {nan = 0x7FC00000 : f32}, numbers = dense_resource<numbers> : tensor<4xi8>} : () -> ()
  "test.op"() {dense = dense<[0x7FC00000, 1.1]> : tensor<2xf32>} : () -> ()
  cf.br ^bb1(%0 : tensor<2xf32>)
^bb1(%1: tensor<2xf32>):
  func.return %1 : tensor<2xf32>
}
{-# dialect_resources: { builtin: { numbers: "0x0400000001020304" } } #-}
"""


@irdl_op_definition
class ForgetfulOp(IRDLOperation):
    """Its own syntax forgets what it is told, or writes what cannot be read."""

    name = "some.forgetful"
    what = prop_def(StringAttr)

    def print(self, printer: Printer) -> None:
        if self.what.data == "broken":
            raise KeyError("broken")
        printer.print_string(" <<" if self.what.data == "odd" else "")

    @classmethod
    def parse(cls, parser: Parser) -> ForgetfulOp:
        return cls(properties={"what": StringAttr("forgotten")})


@pytest.fixture
def dialect() -> Iterator[None]:
    with declared_by("the test of round trips") as declared:
        register_dialect(Dialect("some", [ForgetfulOp]))
        yield
    for item in declared:
        item.undo()


def test_what_comes_back_passes():
    context = FlambeauContext()
    module = parse_module(GOOD, context, locate=True).module
    check_round_trip(module, context)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("quiet", 'the text parses back to other IR: some.forgetful has what = "forgotten", not "quiet"'),
        ("odd", "the text does not parse back: .*, at 'some.forgetful <<"),
        ("broken", "the text cannot be printed: KeyError: 'broken'"),
    ],
)
@pytest.mark.usefixtures("dialect")
def test_the_syntax_of_an_operation_is_checked(what: str, message: str):
    context = FlambeauContext()
    module = parse_module("func.func @f() { func.return }", context).module
    op = ForgetfulOp(properties={"what": StringAttr(what)})
    module.body.block.add_op(op)
    with pytest.raises(RoundTripError, match=message) as caught:
        Pipeline.of([]).run(module, context, [RoundTrip()])
    assert isinstance(caught.value, OperationError)
    assert caught.value.op is (op if what == "quiet" else module)
