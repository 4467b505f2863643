"""What control flow and tensors mean one operation at a time, what ends a run that would not end, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects import test as test_dialect
from xdsl.ir import Operation

from flambeau.dialects.aten.layers.activation import ReluOp
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import (
    InterpreterError,
    InterpreterFunction,
    Jump,
    RunRegion,
    UnsupportedError,
    functions,
    generate_inputs,
    interpret,
    register_interpreter_function,
)
from flambeau.support.lazy import Array
from flambeau.support.tables import RegistrationError
from flambeau.tools.main import main

PROGRAMS = Path(__file__).parents[3] / "runtime" / "c" / "test" / "programs"


def run(text: str, *inputs: Any, limit: int = 1000, function: str = "f") -> list[Any]:
    context = FlambeauContext()
    parsed = parse_module(text, context)
    verify_parsed(parsed)
    return [np.asarray(result).tolist() for result in interpret(parsed.module, context, limit=limit).run(function, inputs)]


def i32(*values: int) -> list[Array]:
    return [np.asarray(value, np.int32) for value in values]


# Control flow


def test_a_branch_with_many_targets():
    text = """
    func.func @f(%flag: i32, %x: i32, %y: i32) -> i32 {
      cf.switch %flag : i32, [
        default: ^a(%x : i32),
        -1: ^a(%y : i32),
        7: ^b(%x, %y : i32, i32)
      ]
    ^a(%r: i32):
      func.return %r : i32
    ^b(%p: i32, %q: i32):
      %s = arith.addi %p, %q : i32
      func.return %s : i32
    }"""
    assert [run(text, *i32(flag, 10, 20)) for flag in (-1, 7, 8)] == [[20], [30], [10]]


def test_blocks_in_a_region():
    text = """
    func.func @f(%c: i1, %x: i32) -> i32 {
      %r = scf.execute_region -> (i32) {
        cf.cond_br %c, ^a, ^b
      ^a:
        scf.yield %x : i32
      ^b:
        %two = arith.constant 2 : i32
        %d = arith.muli %x, %two : i32
        scf.yield %d : i32
      }
      func.return %r : i32
    }"""
    assert [run(text, np.asarray(c), *i32(5)) for c in (True, False)] == [[5], [10]]


def test_a_reduction_over_two_dimensions():
    text = """
    func.func @f(%n: index, %m: index) -> (index, index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %s, %p = "scf.parallel"(%zero, %one, %n, %m, %one, %two, %zero, %one) <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
      ^bb0(%i: index, %j: index):
        %k = arith.addi %i, %j : index
        "scf.reduce"(%k, %k) ({
        ^bb0(%a: index, %b: index):
          %c = arith.addi %a, %b : index
          scf.reduce.return %c : index
        }, {
        ^bb0(%a: index, %b: index):
          %c = arith.muli %a, %b : index
          scf.reduce.return %c : index
        }) : (index, index) -> ()
      }) : (index, index, index, index, index, index, index, index) -> (index, index)
      func.return %s, %p : index, index
    }"""
    expected = [i + j for i in range(3) for j in range(1, 5, 2)]
    assert run(text, np.asarray(3), np.asarray(5)) == [sum(expected), int(np.prod(expected))]


def test_functions_that_call_themselves():
    text = """
    func.func @f(%n: i32) -> i32 {
      %one = arith.constant 1 : i32
      %small = arith.cmpi sle, %n, %one : i32
      %r = scf.if %small -> (i32) {
        scf.yield %one : i32
      } else {
        %m = arith.subi %n, %one : i32
        %f = func.call @f(%m) : (i32) -> i32
        %p = arith.muli %n, %f : i32
        scf.yield %p : i32
      }
      func.return %r : i32
    }"""
    assert run(text, *i32(10)) == [3628800]
    with pytest.raises(InterpreterError, match="nest more than 100 deep here: is there a recursion without end") as caught:
        run(text, *i32(1000))
    assert caught.value.op is not None
    assert caught.value.op.name in ("func.call", "scf.if")


# Tensors

T = "tensor<2x3xi32>"
X = np.arange(6, dtype=np.int32).reshape(2, 3)


TENSORS: Sequence[tuple[str, str, Any]] = (
    (f"tensor.extract %x[%one, %two] : {T}", "i32", 5),
    (f"tensor.insert %v into %x[%one, %two] : {T}", T, [[0, 1, 2], [3, 4, 9]]),
    ("tensor.from_elements %v, %v, %v : tensor<3x1xi32>", "tensor<3x1xi32>", [[9], [9], [9]]),
    ("tensor.splat %v : tensor<2xi32>", "tensor<2xi32>", [9, 9]),
    ("tensor.splat %v[%two] : tensor<?xi32>", "tensor<?xi32>", [9, 9]),
    (f"tensor.dim %x, %one : {T}", "index", 3),
    ("tensor.empty(%two) : tensor<?x0xf32>", "tensor<?x0xf32>", [[], []]),
    (f"tensor.cast %x : {T} to tensor<?x3xi32>", "tensor<?x3xi32>", X.tolist()),
    (f"tensor.collapse_shape %x [[0 : i64, 1 : i64]] : {T} into tensor<6xi32>", "tensor<6xi32>", [0, 1, 2, 3, 4, 5]),
    (f"tensor.concat dim(1) %x, %x : ({T}, {T}) -> tensor<2x6xi32>", "tensor<2x6xi32>", [[0, 1, 2] * 2, [3, 4, 5] * 2]),
    (f"tensor.extract_slice %x[0, %one][2, 1][1, 1] : {T} to tensor<2xi32>", "tensor<2xi32>", [1, 4]),
    (f"tensor.extract_slice %x[1, 0][1, %two][1, 2] : {T} to tensor<1x?xi32>", "tensor<1x?xi32>", [[3, 5]]),
    (f"tensor.insert_slice %y into %x[0, 1][2, 1][1, 1] : tensor<2xi32> into {T}", T, [[0, 7, 2], [3, 8, 5]]),
    (f"builtin.unrealized_conversion_cast %x : {T} to tensor<2x?xi32>", "tensor<2x?xi32>", X.tolist()),
)


@pytest.mark.parametrize(("operation", "result", "expected"), TENSORS)
def test_tensors(operation: str, result: str, expected: Any):
    text = f"""
    func.func @f(%x: {T}, %y: tensor<2xi32>, %v: i32) -> {result} {{
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %r = {operation}
      func.return %r : {result}
    }}"""
    assert run(text, X, np.array([7, 8], np.int32), *i32(9)) == [expected]


def test_padding_asks_its_region():
    text = """
    func.func @f(%x: tensor<2xindex>) -> tensor<5xindex> {
      %r = tensor.pad %x low[2] high[1] {
      ^bb0(%i: index):
        tensor.yield %i : index
      } : tensor<2xindex> to tensor<5xindex>
      func.return %r : tensor<5xindex>
    }"""
    assert run(text, np.array([7, 8])) == [[0, 1, 7, 8, 4]]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("%r = tensor.extract %x[%three] : tensor<3xi32>", r"tensor\.extract: index 3 is out of range for 3 entries"),
        ("%m = arith.constant -1 : index\n%r = tensor.extract %x[%m] : tensor<3xi32>", r"index -1 is out of range for 3 entries"),
        (
            "%s = tensor.extract_slice %x[%three][1][1] : tensor<3xi32> to tensor<1xi32>\n%r = arith.constant 0 : i32",
            r"dimension 0 has 3 entries, which 1 entries from 3 in steps of 1 do not lie in",
        ),
        ("%d = tensor.dim %x, %three : tensor<3xi32>\n%r = arith.constant 0 : i32", r"there is no dimension 3 of 1"),
    ],
)
def test_indices_out_of_range(operation: str, message: str):
    text = f"func.func @f(%x: tensor<3xi32>) -> i32 {{\n%three = arith.constant 3 : index\n{operation}\nfunc.return %r : i32\n}}"
    with pytest.raises(InterpreterError, match=message) as caught:
        run(text, np.zeros(3, np.int32))
    assert caught.value.op is not None


# No end

ENDLESS = """
func.func @f(%x: i32) -> i32 {
  %zero = arith.constant 0 : index
  %n = arith.constant 3 : index
  %one = arith.constant 1 : index
  %yes = arith.constant true
  %w = scf.while (%a = %x) : (i32) -> i32 {
    %y = scf.for %i = %zero to %n step %one iter_args(%b = %a) -> (i32) {
      scf.yield %b : i32
    }
    scf.condition(%yes) %y : i32
  } do {
  ^bb0(%a: i32):
    scf.yield %a : i32
  }
  func.return %w : i32
}"""
BLOCKS = """
func.func @f(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  cf.br ^loop(%zero : i32)
^loop(%i: i32):
  %stop = arith.cmpi slt, %i, %zero : i32
  cf.cond_br %stop, ^end, ^loop(%i : i32)
^end:
  func.return %x : i32
}"""
JUMPS = """
exec.method @f {} {
  %x = exec.tensor : tensor<2xf32>
  %no = exec.bool false
  exec.label @again
  exec.call "aten::neg.out"(%x) outs(%x)
  exec.jump_false %no, @again
  exec.return inputs(%x) outputs(%x)
}"""


@pytest.mark.parametrize(
    ("text", "given", "loop", "rounds"),
    [
        (ENDLESS, i32(1)[0], "scf.while", 166),
        (BLOCKS, i32(1)[0], "cf.cond_br", 500),
        (JUMPS, np.zeros(2, np.float32), "exec.jump_false", 333),
    ],
    ids=["region", "blocks", "jumps"],
)
def test_a_loop_without_end_is_named(text: str, given: Array, loop: str, rounds: int):
    with pytest.raises(InterpreterError, match=rf"does not end within 1000 operations; {loop} went round {rounds} times") as caught:
        run(text, given)
    assert caught.value.op is not None
    assert caught.value.op.name == loop


def test_empty_loops_end_too():
    text = """
    func.func @f(%n: index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      scf.for %i = %zero to %n step %one {
      }
      func.return
    }"""
    assert run(text, np.asarray(500)) == []
    with pytest.raises(InterpreterError, match=r"scf\.for went round 9.. times"):
        run(text, np.asarray(2**62))


# Programs of others


@pytest.mark.parametrize("name", ["map", "cond"])
def test_jumps_of_executorch(name: str):
    from flambeau.runtime import Runtime

    data = (PROGRAMS / f"{name}.pte").read_bytes()
    context = FlambeauContext()
    module = read_pte(data, context)
    program = interpret(module, context)
    loaded = Runtime.get().load_program(data).load_method("forward")
    (method,) = (op for op in module.body.block.ops if op.name == "exec.method")
    for seed in range(4):
        given = generate_inputs(method, seed)  # pyright: ignore[reportArgumentType]  it is a method by its name
        (ours,), (theirs,) = program.run("forward", given), loaded.execute(given)
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('"aten::transpose_copy.int_out"(%x, %zero, %one) outs(%y)', [[1, 3], [2, 4]]),
        ('"aten::fmax.out"(%x, %t) outs(%y)', [[2, 2], [3, 4]]),
        ('"aten::triu.out"(%x, %zero) outs(%y)', [[1, 2], [0, 4]]),
    ],
)
def test_kernels_that_no_pass_of_ours_calls(call: str, expected: Any):
    text = f"""
    exec.method @f {{}} {{
      %x = exec.tensor : tensor<2x2xf32>
      %t = exec.tensor : tensor<2x2xf32>
      %y = exec.tensor : tensor<2x2xf32>
      %zero = exec.int 0
      %one = exec.int 1
      exec.call {call}
      exec.return inputs(%x, %t) outputs(%y)
    }}"""
    assert run(text, np.array([[1, 2], [3, 4]], np.float32), np.full((2, 2), 2, np.float32)) == [expected]


# Operations of plug-ins


def test_a_function_runs_the_regions_of_its_operation(monkeypatch: pytest.MonkeyPatch):
    def twice(op: Operation, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
        return run(op.regions[0], run(op.regions[0], values))

    monkeypatch.setattr(functions, "_REGISTERED", {})
    register_interpreter_function(test_dialect.TestOp, twice)
    text = """
    func.func @f(%x: i32) -> i32 {
      %r = "test.op"(%x) ({
      ^bb0(%a: i32):
        %b = arith.addi %a, %x : i32
        "test.termop"(%b) : (i32) -> ()
      }) : (i32) -> i32
      func.return %r : i32
    }"""
    assert run(text, *i32(5)) == [15]


def test_a_function_may_branch(monkeypatch: pytest.MonkeyPatch):
    def second(op: Operation, values: Sequence[Array], run: RunRegion) -> Jump:
        return Jump(op.successors[1], values)

    monkeypatch.setattr(functions, "_REGISTERED", {test_dialect.TestTermOp: second})
    text = """
    func.func @f(%x: i32) -> i32 {
      "test.termop"(%x) [^a, ^b] : (i32) -> ()
    ^a(%p: i32):
      func.return %x : i32
    ^b(%q: i32):
      %r = arith.addi %q, %q : i32
      func.return %r : i32
    }"""
    assert run(text, *i32(5)) == [10]
    monkeypatch.setattr(functions, "_REGISTERED", {})
    with pytest.raises(UnsupportedError, match=r"test\.termop has no meaning to the interpreter; a plug-in gives it one with @interprets"):
        run(text, *i32(5))


def no_arguments(op: Operation, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    return run(op.regions[0], [])


def other_arguments(op: Operation, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    return run(op.regions[0], [np.zeros(2)])


def no_regions(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
    return values


def no_results(op: Operation, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    return []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (no_arguments, "a block of 1 arguments is given 0"),
        (other_arguments, r"test\.op gave float64 \[2\], but its type says int32 \[\]"),
        (no_regions, "its interpreter function failed: TypeError"),
        (no_results, r"test\.op gave 0 arrays for 1 results"),
    ],
)
def test_mistakes_of_functions_with_regions(given: InterpreterFunction, message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(functions, "_REGISTERED", {test_dialect.TestOp: given})
    text = """
    func.func @f(%x: i32) -> i32 {
      %r = "test.op"(%x) ({
      ^bb0(%a: i32):
        "test.termop"(%a) : (i32) -> ()
      }) : (i32) -> i32
      func.return %r : i32
    }"""
    with pytest.raises(InterpreterError, match=message):
        run(text, *i32(5))


@pytest.mark.parametrize("kind", [scf.ForOp, cf.BranchOp, arith.AddiOp, func.CallOp, func.ReturnOp, GlobalStoreOp, ReluOp])
def test_what_has_a_meaning_gets_no_other(kind: type[Operation]):
    with pytest.raises(RegistrationError, match=rf"declares what '{kind.name}' means to the interpreter, but "):
        register_interpreter_function(kind, no_regions)


# The command


def test_the_command_runs_loops_with_numpy(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "loop.mlir"
    path.write_text("""
    func.func @forward(%x: tensor<2xf32>, %n: index, %by: f32) -> (tensor<2xf32>, f32) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r, %s = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %by) -> (tensor<2xf32>, f32) {
        %c = aten.mul.Scalar(%a) {other = 3} : (tensor<2xf32>) -> tensor<2xf32>
        %d = arith.addf %b, %b : f32
        scf.yield %c, %d : tensor<2xf32>, f32
      }
      func.return %r, %s : tensor<2xf32>, f32
    }""")
    np.save(tmp_path / "x.npy", np.array([1, -2], np.float32))
    arguments = ["run", str(path), "--input", str(tmp_path / "x.npy"), "--input", "2", "--input", "0.5"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == {"output_0": [9.0, -18.0], "output_1": 2.0}
    assert main([*arguments, "--engine", "torch"]) == 1
    assert "torch runs operators with a schema, globals and nothing else, not an input of type index" in capsys.readouterr().err
    arguments[5] = "2.5"
    assert main(arguments) == 1
    assert "input 'input_1' must be int64, got float64" in capsys.readouterr().err


@pytest.mark.parametrize("case", [1, -1])
def test_a_switch_on_a_bit_takes_the_case_of_true(case: int) -> None:
    text = f"""
    func.func @f(%flag: i1) -> i32 {{
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      cf.switch %flag : i1, [
        default: ^bb1(%one : i32),
        {case}: ^bb1(%two : i32)
      ]
    ^bb1(%r: i32):
      func.return %r : i32
    }}
    """
    assert [run(text, np.asarray(flag)) for flag in (False, True)] == [[1], [2]]


def test_a_parallel_loop_without_end_is_named() -> None:
    text = """
    func.func @f(%n: index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      "scf.parallel"(%zero, %zero, %n, %n, %one, %one) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
      ^bb0(%i: index, %j: index):
        %k = arith.addi %i, %j : index
        scf.reduce
      }) : (index, index, index, index, index, index) -> ()
      func.return
    }
    """
    with pytest.raises(InterpreterError, match=r"it does not end within 1000 operations; scf\.parallel"):
        run(text, np.asarray(10**12))
