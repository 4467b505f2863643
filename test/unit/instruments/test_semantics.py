"""Made-up inputs, comparing results, checking the semantics of passes, and operations that others give a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.layers.activation import HardswishOp, ReluOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ml_program import GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import PassError, PatternPass, Pipeline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.runtime.interpreter import InterpreterError, interpret, register_interpreter_function
from flambeau.runtime.interpreter import functions as interpreter_functions
from flambeau.support.lazy import Array
from flambeau.tools.main import main
from flambeau.tools.semantics.check_semantics import CheckSemantics
from flambeau.tools.semantics.reference_results import Reference, SemanticsError
from flambeau.tools.semantics.result_comparison import SemanticsOptions
from flambeau.tools.semantics.stored_inputs import load_inputs

STATE = """
ml_program.global private mutable @total({blob}) : tensor<2xf32>
func.func @forward(%x : tensor<2xf32>) -> tensor<2xf32> {{
  %old = ml_program.global_load @total : tensor<2xf32>
  %new = aten.add.Tensor(%old, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  ml_program.global_store @total = %new : tensor<2xf32>
  %out = aten.relu(%old) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %out : tensor<2xf32>
}}
"""

NUMBERS = """
func.func @forward(%x : tensor<?xf32, #edge.layout<sizes = [n in [0, 8]]>>, %k : i64) -> (i64, i64) {
  %size = flambeau.value n + 1 : i64
  func.return %size, %k : i64, i64
}
"""

LAYERS = """
func.func @forward(%x : tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %a = aten.hardswish(%x) : (tensor<8x3xf32>) -> tensor<8x3xf32> loc("layers.0.act"("model.py":3:1))
  %b = aten.relu(%x) : (tensor<8x3xf32>) -> tensor<8x3xf32> loc("layers.1.act"("model.py":4:1))
  %c = aten.sigmoid(%b) : (tensor<8x3xf32>) -> tensor<8x3xf32> loc("layers.2.act"("model.py":5:1))
  %d = aten.neg(%c) : (tensor<8x3xf32>) -> tensor<8x3xf32> loc("layers.3"("model.py":6:1))
  func.return %a, %d : tensor<8x3xf32>, tensor<8x3xf32>
}
"""


def parse(text: str, context: FlambeauContext | None = None) -> tuple[ModuleOp, FlambeauContext]:
    context = context or FlambeauContext()
    return parse_module(text, context).module, context


def function(text: str) -> FuncOp:
    (found,) = (op for op in parse(text)[0].body.block.ops if isinstance(op, FuncOp))
    return found


def with_state() -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    blob = context.blobs.add("total", np.zeros(2, np.float32).data)
    return parse(STATE.format(blob=blob), context)


@dataclass(frozen=True)
class HalfSlopePattern(Pattern):
    """relu with a slope that it should not have."""

    roots = (ReluOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        replace_with_values(op, [aten.mul.Scalar(op.operands[0], 0.5)], rewriter)


class HalfSlopePass(PatternPass):
    name = "half-slope"

    def patterns(self) -> Sequence[Pattern]:
        return [HalfSlopePattern()]


# Checking


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_no_pass_of_the_compiler_changes_a_result(target: str):
    module, context = parse(LAYERS)
    Pipeline.parse(f"compile{{target={target}}}").run(module, context, [CheckSemantics()])


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_number_that_is_returned_is_a_number_at_every_stage(target: str):
    module, context = parse(NUMBERS)
    assert interpret(module, context).run("forward", [np.ones(2, np.float32), 5]) == [3, 5]
    Pipeline.parse(f"compile{{target={target}}}").run(module, context, [CheckSemantics()])


def test_the_first_wrong_pass_is_named_with_the_value_and_the_place():
    module, context = parse(LAYERS)
    with pytest.raises(PassError) as caught:
        Pipeline.of([*Pipeline.parse("canonicalize").passes(), HalfSlopePass(), *Pipeline.parse("cse").passes()]).run(
            module, context, [CheckSemantics()]
        )
    message = str(caught.value)
    assert message.startswith("half-slope: ")
    assert "layers.1.act (model.py:4)" in message
    assert "output 1 of @forward differs" in message
    assert "the first value that differs is %b, computed by aten.mul.Scalar (aten.relu before)" in message
    assert caught.value.diagnostic.op is not None
    assert caught.value.diagnostic.op.name == "aten.mul.Scalar"


def test_values_without_names_are_found_by_their_place():
    module, context = parse(LAYERS)
    for op in module.walk():
        for result in op.results:
            result.name_hint = None
    with pytest.raises(PassError, match=r"the first value that differs is computed by aten\.mul\.Scalar \(aten\.relu before\)"):
        Pipeline.of([HalfSlopePass()]).run(module, context, [CheckSemantics()])


def test_a_wrong_kernel_call_is_named():
    module, context = parse(LAYERS)
    Pipeline.parse("compile").run(module, context)
    (method,) = (op for op in module.body.block.ops if isinstance(op, MethodOp))

    class SwapPass(ModulePass):
        name = "swap"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for call in method.instructions:
                if (name := call.properties.get("operator")) is not None and "sigmoid" in str(name):
                    call.properties["operator"] = type(name)("aten::tanh.out")  # pyright: ignore[reportCallIssue]  a StringAttr

    with pytest.raises(PassError, match=r"the first value that differs is %c, computed by aten::tanh.out \(aten::sigmoid.out before\)"):
        Pipeline.of([SwapPass()]).run(module, context, [CheckSemantics()])


def test_state_is_looked_at_by_a_second_call():
    module, context = with_state()
    Pipeline.parse("compile").run(module.clone(), context, [CheckSemantics()])

    class ForgetPass(ModulePass):
        name = "forget"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in list(op.walk()):
                if isinstance(inner, GlobalStoreOp):
                    inner.detach()
                    inner.erase()

    with pytest.raises(PassError, match=r"the state @total after @forward differs"):
        Pipeline.of([ForgetPass()]).run(module, context, [CheckSemantics()])


ENDLESS = """
exec.method @loop {} {
  %c = exec.bool false
  %y = exec.tensor : tensor<4xf32>
  exec.label @again
  exec.call "aten::neg.out"(%y) outs(%y)
  exec.jump_false %c, @again
  exec.return inputs() outputs(%y)
}
"""

TWO_METHODS = """
ml_program.global private mutable @total({blob}) : tensor<2xf32>
func.func @add(%x : tensor<2xf32>) -> tensor<2xf32> {{
  %old = ml_program.global_load @total : tensor<2xf32>
  %new = aten.add.Tensor(%old, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  ml_program.global_store @total = %new : tensor<2xf32>
  func.return %x : tensor<2xf32>
}}
func.func @show(%x : tensor<2xf32>) -> tensor<2xf32> {{
  %old = ml_program.global_load @total : tensor<2xf32>
  %out = aten.{op}(%old) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %out : tensor<2xf32>
}}
"""


def test_what_one_method_leaves_to_another_is_a_result():
    context = FlambeauContext()
    blob = context.blobs.add("total", np.zeros(2, np.float32).data)
    right, wrong = (parse_module(TWO_METHODS.format(blob=blob, op=op), context).module for op in ("abs", "neg"))
    difference = Reference(right, context).difference(wrong)
    assert difference is not None
    assert str(difference).startswith("output 0 of @show of a later call differs")


def test_state_that_no_call_changes_may_go():
    module, context = with_state()
    constant = parse_module(print_module(module).replace("ml_program.global_store @total = %new : tensor<2xf32>", ""), context).module
    reference = Reference(constant, context)
    Pipeline.parse("canonicalize,remove-dead-code").run(constant, context)
    assert reference.difference(constant) is None
    assert Reference(module, context).difference(constant) is not None


@pytest.mark.parametrize(("dtype", "factor"), [("f32", "5.0e-9"), ("f16", "5.0e-5"), ("bf16", "2.0e-4"), ("f64", "1.0e-30")])
def test_small_results_are_compared_as_large_ones_are(dtype: str, factor: str):
    def scaled(by: str) -> tuple[ModuleOp, FlambeauContext]:
        kind = f"tensor<8x{dtype}>"
        body = f"%0 = aten.mul.Scalar(%x) {{other = {by}}} : ({kind}) -> {kind}"
        return parse(f"func.func @f(%x: {kind}) -> {kind} {{ {body} func.return %0 : {kind} }}")

    reference = Reference(*scaled(factor))
    assert reference.difference(scaled(factor)[0]) is None
    assert reference.difference(scaled("0.0")[0]) is not None
    assert reference.difference(scaled(f"3{factor[1:]}")[0]) is not None


CANCELLING = """
func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {{
  %a = aten.mul.Scalar(%x) {{other = {factor}}} : (tensor<64xf32>) -> tensor<64xf32>
  %b = aten.{second} : (tensor<64xf32>) -> tensor<64xf32>
  %c = aten.sub.Tensor(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %c : tensor<64xf32>
}}"""


def test_what_rounding_leaves_where_numbers_cancel_out_is_no_difference():
    reference = Reference(*parse(CANCELLING.format(factor=3, second="div.Scalar(%x) {other = 0.33333333333}")))
    thrice = parse(CANCELLING.format(factor=3, second="mul.Scalar(%x) {other = 3.0000001}"))[0]
    assert reference.difference(thrice) is None
    four = parse(CANCELLING.format(factor=3, second="mul.Scalar(%x) {other = 3.00001}"))[0]
    assert reference.difference(four) is not None


SOFTMAX = """
func.func @f(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {{
  {body}
  func.return %r : tensor<2x8xf32>
}}"""
NAIVE_SOFTMAX = """%e = aten.exp(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = aten.sum.dim_IntList(%e) {dim = [-1], keepdim = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %r = aten.div.Tensor(%e, %s) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>"""
NAIVE_TANH = """%d = aten.mul.Scalar(%x) {other = 2} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %e = aten.exp(%d) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %n = aten.add.Scalar(%e) {other = -1} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %m = aten.add.Scalar(%e) {other = 1} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %r = aten.div.Tensor(%n, %m) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("%r = aten.softmax.int(%x) {dim = -1} : (tensor<2x8xf32>) -> tensor<2x8xf32>", NAIVE_SOFTMAX),
        ("%r = aten.tanh(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>", NAIVE_TANH),
    ],
)
def test_what_overflows_where_the_reference_does_not_is_found(right: str, wrong: str):
    reference = Reference(*parse(SOFTMAX.format(body=right)))
    difference = reference.difference(parse(SOFTMAX.format(body=wrong))[0])
    assert difference is not None
    assert "of the third call differs" in str(difference)
    assert "infinite or not numbers on one side only" in str(difference)
    # The other way round there is nothing to compare.
    assert Reference(*parse(SOFTMAX.format(body=wrong))).difference(parse(SOFTMAX.format(body=right))[0]) is None


def test_thresholds_of_integers_are_passed():
    text = """
    func.func @f(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi1> {{
      %0 = aten.add.Tensor(%x, %y) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
      %1 = aten.{op}.Scalar(%0) {{other = 100}} : (tensor<4xi64>) -> tensor<4xi1>
      func.return %1 : tensor<4xi1>
    }}"""
    assert Reference(*parse(text.format(op="gt"))).difference(parse(text.format(op="eq"))[0]) is not None


def test_stored_inputs_are_found_by_name(tmp_path: Path):
    module, context = parse(LAYERS)
    array = np.full((8, 3), -1, np.float32)
    for name in ("x", "forward.x", "input_0", "arr_0"):
        np.savez(tmp_path / "inputs.npz", **{name: array})  # pyright: ignore[reportArgumentType]  numpy's stub takes a keyword of its own
        reference = Reference(module, context, SemanticsOptions(inputs=load_inputs(tmp_path / "inputs.npz")))
        assert reference.outputs["forward"][0][1] == pytest.approx(-0.5)
    with pytest.raises(SemanticsError, match=r"there is no input 'x' for @forward among the stored ones \(y\)"):
        Reference(module, context, SemanticsOptions(inputs={"y": array}))
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(SemanticsError, match=r"is not an \.npz file"):
        load_inputs(tmp_path / "text.npz")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('%r = "gpu.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>', "gpu.op has no meaning to the interpreter"),
        ("%r = aten.rand_like(%x) : (tensor<2xf32>) -> tensor<2xf32>", "aten.rand_like gives random numbers"),
    ],
)
def test_what_cannot_be_checked_is_said(body: str, message: str):
    text = f"func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{ {body} func.return %r : tensor<2xf32> }}"
    module, context = parse(text, FlambeauContext(allow_unregistered=True))
    with pytest.raises(SemanticsError, match=message):
        Pipeline.parse("cse").run(module, context, [CheckSemantics()])


def test_what_does_not_fit_in_memory_is_refused_with_its_place():
    kind = "tensor<1000000x1000000xf32>"
    for text in (
        f"func.func @f(%x: {kind}) -> {kind} {{ func.return %x : {kind} }}",
        f"func.func @f() -> {kind} {{ %x = aten.ones() {{size = [1000000, 1000000]}} : () -> {kind}\nfunc.return %x : {kind} }}",
        "exec.method @f {arenas = [4000000000000]} { exec.return }",
    ):
        with pytest.raises(SemanticsError, match="would have 4000000000000 bytes") as caught:
            Reference(*parse(text))
        assert caught.value.op is not None


def test_a_loop_without_end_is_found_soon():
    with pytest.raises(SemanticsError, match="200000 operations"):
        Reference(*parse(ENDLESS))


def test_a_module_without_functions_cannot_be_checked():
    module, context = parse("module {}")
    with pytest.raises(SemanticsError, match="no function"):
        Pipeline.parse("cse").run(module, context, [CheckSemantics()])


def test_a_pass_may_not_leave_what_cannot_run():
    module, context = parse(LAYERS)

    class OpaquePass(ModulePass):
        name = "opaque"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in list(op.walk()):
                if isinstance(inner, HardswishOp):
                    PatternRewriter(inner).replace(inner, test_dialect.TestOp([inner.operands[0]], [inner.result.type]))

    with pytest.raises(PassError, match=r"opaque: left a module whose results cannot be checked: @forward cannot be run: test\.op"):
        Pipeline.of([OpaquePass()]).run(module, context, [CheckSemantics()])


@pytest.mark.parametrize("pipeline", ["cse", "compile"])
def test_an_index_out_of_range_is_an_error_of_the_operation(pipeline: str):
    module, context = parse("""
    func.func @f(%w: tensor<7x3xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
      %r = aten.embedding(%w, %i) : (tensor<7x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
      func.return %r : tensor<4x3xf32>
    }""")
    Pipeline.parse(pipeline).run(module, context)
    with pytest.raises(InterpreterError, match=r"embedding.*: index 9 is out of range for 7 entries") as caught:
        interpret(module, context).run("f", [np.ones((7, 3), np.float32), np.array([0, 1, 9, 2])])
    assert caught.value.op is not None


def test_delegates_are_run_by_their_backends():
    text = """
    func.func @forward(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %a = aten.mul.Tensor(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %b = aten.add.Tensor(%a, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %b : tensor<8xf32>
    }"""
    pipeline = "compile{backends=elementwise}"
    module, context = parse(text)
    Pipeline.parse(pipeline).run(module, context, [CheckSemantics()])
    assert "exec.delegate_call" in print_module(module)
    with pytest.raises(InterpreterError, match="the interpreter was given no backends"):
        interpret(module, context).run("forward", [np.ones(8, np.float32)] * 2)


# Operations of others

TRIPLE = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}"""


def test_a_registered_function_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interpreter_functions, "_REGISTERED", {})

    def triple(op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
        return [arrays[0] * np.float32(3)]

    register_interpreter_function(test_dialect.TestOp, triple)
    (result,) = interpret(*parse(TRIPLE)).run("f", [np.array([1, 2], np.float32)])
    assert np.array_equal(result, [3, 6])  # pyright: ignore[reportArgumentType]  it is an array


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "gave 0 arrays for 1 results"),
        ([np.zeros(2)], "gave float64"),
        ([np.zeros(3, np.float32)], r"gave float32 \[3\], but its type says float32 \[2\]"),
        (None, "its interpreter function failed: TypeError"),
    ],
)
def test_a_registered_function_is_checked(given: Sequence[Array] | None, message: str, monkeypatch: pytest.MonkeyPatch):
    def function(op: Operation, arrays: Sequence[Array]) -> Any:
        return given

    monkeypatch.setattr(interpreter_functions, "_REGISTERED", {test_dialect.TestOp: function})
    with pytest.raises(InterpreterError, match=rf"test\.op.*{message}"):
        interpret(*parse(TRIPLE)).run("f", [np.array([1, 2], np.float32)])


def test_arithmetic_of_builtin_dialects_runs():
    module, context = parse("""
    func.func @f(%x: f32, %n: index) -> (f32, tensor<2xi32>, index) {
      %c = arith.constant 2.5 : f32
      %t = arith.constant dense<[1, 2]> : tensor<2xi32>
      %s = arith.constant dense<3> : tensor<2xi32>
      %r = arith.mulf %x, %c : f32
      %u = arith.addi %t, %s : tensor<2xi32>
      %m = arith.addi %n, %n : index
      func.return %r, %u, %m : f32, tensor<2xi32>, index
    }""")
    results = interpret(module, context).run("f", [np.array(2, np.float32), np.array(4)])
    assert [np.asarray(result).tolist() for result in results] == [5.0, [4, 5], 8]
    Reference(module, context)


def test_the_aten_level_runs_with_numpy(tmp_path: Path):
    path = tmp_path / "layers.mlir"
    path.write_text(LAYERS)
    np.save(tmp_path / "x.npy", np.ones((8, 3), np.float32))
    assert main(["run", str(path), "--input", str(tmp_path / "x.npy"), "--engine", "numpy", "--output", str(tmp_path / "out.npz")]) == 0
    assert np.load(tmp_path / "out.npz")["output_0"] == pytest.approx(2 / 3)


def test_compiling_checks_semantics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "layers.mlir"
    path.write_text(LAYERS)
    arguments = ["compile", str(path), "--check-semantics", "-o", str(tmp_path / "layers.pte")]
    assert main(arguments) == 0

    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.add.Scalar(x, 1)

    monkeypatch.setattr(HardswishOp, "decompose", staticmethod(decompose), raising=False)
    capsys.readouterr()
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "legalize-operators" in error
    assert "changes the result: output 0 of @forward differs" in error


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("aten.abs(%x) : (tensor<64xi64>) -> tensor<64xi64>", "aten.clone(%x) : (tensor<64xi64>) -> tensor<64xi64>"),
        (
            "aten.hardtanh(%x) {min_val = 0, max_val = 6} : (tensor<4xf32>) -> tensor<4xf32>",
            "aten.hardtanh(%x) {min_val = 0, max_val = 5} : (tensor<4xf32>) -> tensor<4xf32>",
        ),
    ],
)
def test_made_up_inputs_go_beyond_the_usual(right: str, wrong: str):
    def module(operation: str) -> tuple[ModuleOp, FlambeauContext]:
        kind = operation.rpartition(" -> ")[2]
        return parse(f"func.func @forward(%x: {kind}) -> {kind} {{\n  %0 = {operation}\n  func.return %0 : {kind}\n}}")

    reference = Reference(*module(right))
    assert reference.difference(module(right)[0]) is None
    assert reference.difference(module(wrong)[0]) is not None


def test_wide_inputs_that_a_module_cannot_take_are_left_out():
    module, context = parse("""
        func.func @forward(%table: tensor<3x2xf32>, %i: tensor<4xi64>) -> tensor<4x2xf32> {
          %0 = aten.add.Scalar(%i) {other = 0} : (tensor<4xi64>) -> tensor<4xi64>
          %1 = aten.embedding(%table, %0) : (tensor<3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
          func.return %1 : tensor<4x2xf32>
        }
    """)
    assert Reference(module, context).difference(module.clone()) is None
