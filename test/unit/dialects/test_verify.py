"""A module's verifier skips what has not changed, and nothing else."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from flambeau.dialects.ir.verify import ModuleVerifier, VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module

TEXT = """
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = core.sum.dim_IntList(%0) {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""


def operations() -> tuple[ModuleVerifier, ModuleOp, Operation, Operation]:
    module = parse_module(TEXT, FlambeauContext()).module
    verifier = ModuleVerifier()
    verifier.verify(module)
    relu, total = (op for op in module.walk() if op.name.startswith("core."))
    return verifier, module, relu, total


def check(verifier: ModuleVerifier, module: ModuleOp, match: str) -> None:
    for run in (verifier.verify, verify_module):
        with pytest.raises(VerificationError, match=match):
            run(module)


def test_a_changed_operand_is_seen() -> None:
    verifier, module, relu, _ = operations()
    block = relu.parent
    assert block is not None
    relu.operands = [block.args[1]]
    check(verifier, module, "result types must be")


def test_a_changed_attribute_is_seen() -> None:
    verifier, module, _, total = operations()
    total.properties["dim"] = IntegerAttr(1, i64)
    check(verifier, module, "'dim' must be int")


def test_a_moved_operation_is_seen() -> None:
    verifier, module, relu, total = operations()
    block = relu.parent
    assert block is not None
    relu.detach()
    block.insert_op_after(relu, total)
    check(verifier, module, "used before")


def test_a_terminator_that_is_gone_is_seen() -> None:
    verifier, module, relu, total = operations()
    block = relu.parent
    assert block is not None and block.last_op is not None
    last = block.last_op
    last.detach()
    last.erase()
    check(verifier, module, "terminator")
    assert total.next_op is None


def test_a_terminator_that_no_longer_fits_its_function_is_seen() -> None:
    verifier, module, relu, _ = operations()
    function = relu.parent_op()
    assert isinstance(function, FuncOp)
    function.properties["function_type"] = FunctionType.from_lists(function.function_type.inputs.data, [])
    check(verifier, module, "return")


def test_a_number_of_python_is_no_attribute() -> None:
    verifier, module, relu, total = operations()
    relu.attributes["x.y"] = 3  # pyright: ignore[reportArgumentType]  the mistake of a pass
    check(verifier, module, "core.relu: the attribute 'x.y' is 3, a Python int")
    del relu.attributes["x.y"]
    total.properties["keepdim"] = True  # pyright: ignore[reportArgumentType]  the mistake of a pass
    check(verifier, module, "the property 'keepdim' is True, a Python bool")


def test_the_user_of_an_erased_operation_is_named() -> None:
    verifier, module, relu, total = operations()
    relu.detach()
    check(verifier, module, "core.sum.dim_IntList: operand 0 is the result of core.relu, which was erased")
    relu.erase(safe_erase=False)
    assert total.operands
    check(verifier, module, "core.sum.dim_IntList: operand 0 is the result of an operation that was erased|which was erased")


def test_what_did_not_change_is_not_looked_at() -> None:
    module = parse_module(TEXT + TEXT.replace("@f", "@g"), FlambeauContext()).module
    verifier = ModuleVerifier()
    verifier.verify(module)
    first, second = module.body.block.ops
    for function in (first, second):
        next(op for op in function.walk() if op.name == "core.relu").detach()
    with pytest.raises(VerificationError) as found:
        verifier.verify(module, second)
    assert [error.op.parent_op() for error in (found.value, *found.value.others)] == [second]


def test_operations_that_nobody_knows_stand_anywhere() -> None:
    context = FlambeauContext(allow_unregistered=True)
    verify_module(parse_module('func.func @f(%x: i32) {\n  %0 = "a.b"(%x) : (i32) -> i32\n  func.return\n}', context).module)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n^a:\n  cf.br ^a\n}", "cf.br branches to the first block of a region, which must not have predecessors"),
        ("func.func @f() {\n  builtin.module {\n  }\n  func.return\n}", ""),
        ("func.func @f() {\n  builtin.module @m {\n  }\n  func.return\n}", "builtin.module defines a symbol"),
    ],
)
def test_blocks_and_symbols_are_as_in_mlir(text: str, message: str) -> None:
    module = parse_module(text, FlambeauContext()).module
    if message:
        with pytest.raises(VerificationError, match=message):
            verify_module(module)
    else:
        verify_module(module)


def test_nested_verification_costs_what_is_nested() -> None:
    text = "\n".join(f"func.func @f{index}(%x: i32) {{\n  %0 = arith.addi %x, %x : i32\n  func.return\n}}" for index in range(50))
    module = parse_module(text, FlambeauContext()).module
    verifier = ModuleVerifier()
    verifier.verify(module)
    states = verifier._passed  # pyright: ignore[reportPrivateUsage]  that it is not copied is what is tested
    for function in module.body.block.ops:
        verifier.verify(module, function)
    assert verifier._passed is states  # pyright: ignore[reportPrivateUsage]  as above


def test_a_rule_that_fails_as_it_prints_an_invalid_operation_is_an_error_of_the_module() -> None:
    # xDSL's rule for what is isolated prints the addition, which has one operand.
    module = parse_module('builtin.module { %0 = "arith.addi"(%x) : (i32) -> i2 }\nfunc.func @t(%x: i32) {}', FlambeauContext()).module
    with pytest.raises(VerificationError, match="addi"):
        verify_module(module)
