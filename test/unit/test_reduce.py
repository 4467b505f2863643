"""`flambeau reduce`: each reducer on IR small enough to read, the search around them, the command."""

import json
import random
import re
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult

from flambeau.dialects.interface import inputs_of, outputs_of
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import parse_module, print_module, read_module, save_weights, verify_parsed
from flambeau.dialects.types import f32, shape_of, tensor
from flambeau.dialects.verify import verify_module
from flambeau.tools.main import main
from flambeau.tools.reduction import Progress, Reduction, ReductionError, ReductionResult, reduce_module

Test = Callable[[ModuleOp], bool]
EXEC = Path(__file__).resolve().parents[1] / "filecheck" / "exec" / "ops.mlir"


def has(*names: str) -> Test:
    def holds(module: ModuleOp) -> bool:
        found = {op.name for op in module.walk()}
        return all(name in found for name in names)

    return holds


def read(text: str, context: FlambeauContext) -> ModuleOp:
    parsed = parse_module(text, context)
    verify_parsed(parsed)
    return parsed.module


def reduce(text: str, test: Test) -> str:
    """The reduced module as one line of text; that it parses, verifies and passes the test was checked."""
    context = FlambeauContext(allow_unregistered=True)
    result = reduce_module(read(text, context), context, lambda module, _: test(module))
    assert test(read(result.text, context))
    return " ".join(result.text.split())


LOOP = """builtin.module {
  func.func @f(%a : i32, %n : index, %m : memref<16x32xf32>) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = arith.constant 12345 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %a) -> (i32) {
      %x = arith.addi %acc, %t : i32
      %cond = arith.cmpi slt, %x, %a : i32
      %y = scf.if %cond -> (i32) {
        %z = arith.muli %x, %t : i32
        scf.yield %z : i32
      } else {
        %z = arith.subi %x, %t : i32
        scf.yield %z : i32
      }
      scf.yield %y : i32
    }
    func.return %r : i32
  }
  func.func @g() { func.return }
}"""

BRANCHES = """builtin.module {
  func.func @f(%a : i32, %c : i1) -> i32 {
    cf.cond_br %c, ^one(%a : i32), ^two
  ^one(%x : i32):
    %1 = arith.addi %x, %a : i32
    cf.br ^end(%1 : i32)
  ^two:
    %2 = arith.muli %a, %a : i32
    cf.br ^end(%2 : i32)
  ^end(%y : i32):
    %3 = arith.subi %y, %a : i32
    func.return %3 : i32
  }
}"""


@pytest.mark.parametrize(("text", "name"), [(LOOP, "arith.muli"), (LOOP, "arith.subi"), (BRANCHES, "arith.muli"), (BRANCHES, "arith.subi")])
def test_what_is_nested_or_behind_branches_comes_out(text: str, name: str):
    assert reduce(text, has(name)) == f"builtin.module {{ func.func @f(%0: i32) {{ %1 = {name} %0, %0 : i32 func.return }} }}"


def test_operations_that_need_each_other_stay_connected():
    def feeds(module: ModuleOp) -> bool:
        return any(
            op.name == "arith.subi" and any(isinstance(v, OpResult) and v.op.name == "arith.addi" for v in op.operands)
            for op in module.walk()
        )

    text = BRANCHES.replace("arith.muli %a", "arith.addi %a")
    found = reduce(text.replace("cf.br ^end(%2 : i32)", "%4 = arith.subi %2, %2 : i32\n cf.br ^end(%4 : i32)"), feeds)
    assert found.count("arith.") == 2


def test_called_functions_become_declarations():
    text = """builtin.module {
      func.func private @callee(%a : i32) -> i32 {
        %1 = "foo.bar"(%a) {x = 5 : i32, y = "hello"} : (i32) -> i32
        %2 = arith.addi %1, %a : i32
        func.return %2 : i32
      }
      func.func @f(%a : i32) -> i32 {
        %1 = func.call @callee(%a) : (i32) -> i32
        %2 = func.call @callee(%1) : (i32) -> i32
        func.return %2 : i32
      }
    }"""
    found = reduce(text, has("func.call"))
    assert found.startswith("builtin.module { func.func private @callee(i32) -> i32 func.func @f(%0: i32) {")
    assert found.count("func.call") == 1
    kept = reduce(text, lambda module: '"foo.bar"' in print_module(module))
    assert kept == 'builtin.module { func.func private @callee() { %0 = "foo.bar"() : () -> i32 func.return } }'


def test_what_calls_hide_comes_out():
    text = """builtin.module {
      func.func private @leaf(%a : i32, %b : i32) -> (i32, i32) {
        %1 = arith.muli %a, %b : i32
        func.return %1, %a : i32, i32
      }
      func.func @f(%a : i32) -> i32 {
        %1, %2 = func.call @leaf(%a, %a) : (i32, i32) -> (i32, i32)
        %3, %4 = func.call @leaf(%1, %2) : (i32, i32) -> (i32, i32)
        %5 = arith.subi %3, %4 : i32
        func.return %5 : i32
      }
    }"""

    def test(module: ModuleOp) -> bool:
        """A product of a product is subtracted from, whatever hides it."""
        calls = sum(op.name == "func.call" for op in module.walk())
        products = sum(op.name == "arith.muli" for op in module.walk())
        return has("arith.subi")(module) and (products >= 2 or (calls >= 2 and products == 1))

    found = reduce(text, test)
    assert found.count("func.func") == 1
    assert (found.count("arith."), found.count("func.call")) == (3, 0)


def test_zeros_take_the_place_of_what_must_be_constant():
    context = FlambeauContext()
    numbers = np.arange(8, dtype=np.float32)
    text = f"""builtin.module {{
      {store(context, "w", numbers)}
      func.func @f(%n : i32) -> tensor<8xf32> {{
        %w = ml_program.global_load_const @w : tensor<8xf32>
        %1 = aten.relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
        %2 = aten.neg(%1) : (tensor<8xf32>) -> tensor<8xf32>
        %3 = aten.tanh(%2) : (tensor<8xf32>) -> tensor<8xf32>
        %4 = aten.exp(%3) : (tensor<8xf32>) -> tensor<8xf32>
        func.return %4 : tensor<8xf32>
      }}
    }}"""

    def known(op: object) -> bool:
        return isinstance(op, Operation) and all(known(value.owner) for value in op.operands)

    def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
        return any(op.name == "aten.exp" and known(op) for op in module.walk())

    result = reduce_module(read(text, context), context, predicate)
    assert re.findall(r"\b(?:aten|ml_program)\.\w+", result.text) == ["ml_program.global", "ml_program.global_load_const", "aten.exp"]
    inner = LOOP.replace("%z = arith.subi %x, %t", "%q = arith.addi %i, %i : index\n %z = arith.subi %x, %t")
    assert "scf.for" in reduce(inner, lambda module: "scf.for" in print_module(module) and "arith.muli" in print_module(module))


def test_methods_of_exec_lose_instructions_and_slots():
    def test(module: ModuleOp) -> bool:
        return any(op.name == "exec.call" and len(op.operands) >= 2 for op in module.walk())

    found = reduce(EXEC.read_text().split("// -----")[0], test)
    assert found.count("exec.") <= 5
    assert len(found) < 300


CONVOLUTION = """builtin.module {
  func.func @f(%x : tensor<2x16x12x12xf32>, %w : tensor<8x16x3x3xf32>, %b: tensor<8xf32>) -> tensor<2x1152xf32> {
    %1 = aten.conv2d(%x, %w, %b) {padding = [1, 1]} : (tensor<2x16x12x12xf32>, tensor<8x16x3x3xf32>, tensor<8xf32>) -> tensor<2x8x12x12xf32>
    %2 = aten.relu(%1) : (tensor<2x8x12x12xf32>) -> tensor<2x8x12x12xf32>
    %3 = aten.view(%2) {size = [2, 1152]} : (tensor<2x8x12x12xf32>) -> tensor<2x1152xf32>
    func.return %3 : tensor<2x1152xf32>
  }
}"""


def test_shapes_shrink_together_with_the_sizes_in_attributes():
    def test(module: ModuleOp) -> bool:
        shapes = {op.name: shape_of(op.results[0]) for op in module.walk() if op.name.startswith("aten.")}
        found = shapes.get("aten.view", ())
        return set(shapes) == {"aten.conv2d", "aten.relu", "aten.view"} and len(found) == 2 and found[1] > 4

    found = reduce(CONVOLUTION, test)
    sizes = [int(size) for size in re.findall(r"(?<=[<x])\d+(?=x)", found)]
    assert max(sizes) <= 6
    assert "aten.view" in found


@pytest.mark.parametrize("least", [3, 1000, 3001])
def test_extents_that_must_not_fall_below_some_number_are_found_in_few_tests(least: int):
    context = FlambeauContext()
    text = "func.func @f(%x : tensor<4096xf32>) -> tensor<4096xf32> {\n %1 = aten.relu(%x) : (tensor<4096xf32>) -> tensor<4096xf32>\n"
    module = read(f"{text}func.return %1 : tensor<4096xf32>\n}}", context)

    def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
        return any(op.name == "aten.relu" and shape_of(op.results[0])[0] >= least for op in module.walk())

    result = reduce_module(module, context, predicate)
    assert f"aten.relu(%0) : (tensor<{least}xf32>)" in result.text
    assert result.tests < 100


def test_attributes_go_or_become_simple():
    text = CONVOLUTION.replace("padding", "stride = [1, 1], groups = 1, padding")
    found = reduce(text, has("aten.conv2d"))
    assert "{" not in found[found.index("aten.conv2d") :].partition("func.return")[0]


def store(context: FlambeauContext, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> str:
    blob = context.blobs.add(name, array.data)
    return f"ml_program.global private @{name}({blob}) : {tensor(f32, array.shape)}"


def test_weights_are_sliced_with_their_shapes_and_lose_their_values(tmp_path: Path):
    context = FlambeauContext()
    numbers = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    text = f"""builtin.module {{
      {store(context, "w", numbers)}
      {store(context, "unused", numbers)}
      func.func @f(%x : tensor<4x32xf32>) -> tensor<4x64xf32> {{
        %w = ml_program.global_load_const @w : tensor<64x32xf32>
        %y = aten.linear(%x, %w, none) : (tensor<4x32xf32>, tensor<64x32xf32>) -> tensor<4x64xf32>
        func.return %y : tensor<4x64xf32>
      }}
    }}"""

    def test(module: ModuleOp, owner: FlambeauContext) -> bool:
        values = [op for op in module.walk() if isinstance(op, GlobalOp)]
        loaded = any(isinstance(v, OpResult) and v.op.name.endswith("const") for op in module.walk() for v in op.operands)
        return loaded and any(np.frombuffer(owner.blobs.get(op.blob), np.float32)[-1:] >= 33.0 for op in values)

    result = reduce_module(read(text, context), context, test)
    held = [op for op in result.module.walk() if isinstance(op, GlobalOp)]
    assert [op.sym_name.data for op in held] == ["w"]
    assert len(context.blobs.get(held[0].blob)) <= 4 * 4
    plain = reduce_module(read(text, context), context, lambda module, _: has("ml_program.global_load_const")(module))
    held = [op for op in plain.module.walk() if isinstance(op, GlobalOp)]
    assert [bytes(context.blobs.get(op.blob)) for op in held] == [bytes(4)]


def test_lists_of_inputs_and_outputs_follow_the_signature():
    text = """builtin.module {
      func.func @f(%x : tensor<2xf32>, %y : tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {
        flambeau.inputs = [{name = "x"}, {name = "n", value = 3 : i64}, {name = "y"}],
        flambeau.outputs = [{name = "p"}, {name = "q"}], flambeau.in_spec = "[]", flambeau.out_spec = "[]"} {
        %1 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
        %2 = aten.neg(%y) : (tensor<2xf32>) -> tensor<2xf32>
        func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
      }
    }"""

    def test(module: ModuleOp) -> bool:
        function = next(iter(module.body.block.ops), None)
        return function is not None and "flambeau.inputs" in function.attributes and has("aten.neg", "func.return")(module)

    context = FlambeauContext()
    seen: list[tuple[list[str], list[str]]] = []

    def predicate(module: ModuleOp, owner: FlambeauContext) -> bool:
        for op in module.body.block.ops:
            seen.append(([leaf.name for leaf in inputs_of(op)], [leaf.name for leaf in outputs_of(op)]))  # pyright: ignore[reportArgumentType]  it is a function
        return test(module)

    result = reduce_module(read(text, context), context, predicate)
    assert len(seen) > 5
    assert "aten.relu" not in result.text
    assert '{name = "y"}' in result.text
    assert '{name = "x"}' not in result.text


def located(text: str) -> str:
    return text.replace("-> tensor<2x8x12x12xf32>\n    %3", '-> tensor<2x8x12x12xf32> loc("model.py":3:1)\n    %3')


def test_locations_and_names_go_unless_they_matter():
    def located_relu(module: ModuleOp) -> bool:
        return any(op.name == "aten.relu" and "model.py" in str(op.location) for op in module.walk())

    text = located(CONVOLUTION)
    assert "model.py" not in reduce(text, has("aten.relu"))
    assert 'loc("model.py":3:1)' in reduce(text, located_relu)


# The search


def chain(length: int, seed: int) -> str:
    """A function of so many element-wise operations, each on earlier values."""
    chooser = random.Random(seed)
    lines = ["builtin.module {", "func.func @f(%v0 : tensor<4x8xf32>) -> tensor<4x8xf32> {"]
    kind = "tensor<4x8xf32>"
    for index in range(length):
        if chooser.random() < 0.3:
            other = chooser.randrange(index + 1)
            lines.append(f"%v{index + 1} = aten.add.Tensor(%v{index}, %v{other}) : ({kind}, {kind}) -> {kind}")
        else:
            lines.append(f"%v{index + 1} = aten.{chooser.choice(('relu', 'tanh', 'neg', 'exp'))}(%v{index}) : ({kind}) -> {kind}")
    return "\n".join([*lines, f"func.return %v{length} : {kind}", "}", "}"])


@pytest.mark.parametrize("seed", range(6))
def test_some_operations_among_many_are_found_in_few_tests(seed: int):
    context = FlambeauContext()
    module = read(chain(120, seed), context)
    chooser = random.Random(seed)
    candidates = [op for op in module.walk() if op.name.startswith("aten.")]
    wanted = chooser.sample(candidates, 1 + seed % 3)
    names = {f"p{index}" for index in range(len(wanted))}
    for name, op in zip(sorted(names), wanted, strict=True):
        op.attributes["mark"] = StringAttr(name)

    def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
        verify_module(module)
        found = {mark.data for op in module.walk() if isinstance(mark := op.attributes.get("mark"), StringAttr)}
        for op in list(module.walk())[1:2]:
            op.detach()  # it may do what it likes with the module
        return names <= found

    result = reduce_module(module, context, predicate)
    assert result.operations == len(wanted) + 2
    assert result.tests < 60 * len(wanted)
    assert result.operations_before == 122
    again = reduce_module(module, context, predicate)
    assert (again.text, again.tests) == (result.text, result.tests)


def test_no_state_is_tested_twice():
    context = FlambeauContext(allow_unregistered=True)
    asked: list[str] = []

    def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
        asked.append(print_module(module))
        return has("scf.if", "arith.cmpi")(module)

    result = reduce_module(read(LOOP, context), context, predicate)
    assert len(asked) == len(set(asked)) == result.tests
    assert result.repeated


def test_limits_end_the_search_with_the_best_so_far():
    context = FlambeauContext()
    module = read(chain(60, 0), context)

    def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
        return has("aten.exp")(module)

    full = reduce_module(module, context, predicate)
    limited = reduce_module(module, context, predicate, max_tests=8)
    assert (limited.stopped, limited.tests) == ("limit", 8)
    assert full.stopped is None
    assert full.operations < limited.operations < 62
    assert reduce_module(module, context, predicate, timeout=0).stopped == "timeout"


def test_an_interrupt_and_a_failing_predicate_keep_the_best_so_far():
    context = FlambeauContext()
    module = read(chain(60, 0), context)

    def failing(error: BaseException) -> Reduction:
        asked: list[int] = []

        def predicate(module: ModuleOp, _: FlambeauContext) -> bool:
            asked.append(1)
            if len(asked) > 8:
                raise error
            return has("aten.exp")(module)

        return Reduction(module, context, predicate)

    assert failing(KeyboardInterrupt()).run().stopped == "interrupt"
    broken = failing(RuntimeError("no"))
    with pytest.raises(RuntimeError, match="no"):
        broken.run()
    assert broken.begun
    assert broken.result.operations < 62
    verify_module(broken.result.module)


def test_a_predicate_that_does_not_hold_is_an_error():
    context = FlambeauContext()
    with pytest.raises(ReductionError, match="nothing to reduce"):
        reduce_module(read(chain(3, 0), context), context, lambda module, _: False)


def test_progress_counts_tests():
    context = FlambeauContext()
    steps: list[Progress] = []
    result: ReductionResult = reduce_module(
        read(chain(20, 0), context), context, lambda module, _: has("aten.relu")(module), on_progress=steps.append
    )
    assert [step.tests for step in steps] == list(range(1, result.tests + 1))
    assert {step.at_start for step in steps} == {22}


# The command

PLUGIN = '''
from dataclasses import dataclass
from xdsl.passes import ModulePass
from flambeau.passes.registry import register_pass


@dataclass(frozen=True)
class FragilePass(ModulePass):
    """Fails on tanh of exp."""

    name = "fragile"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "aten.tanh" and getattr(inner.operands[0].owner, "name", "") == "aten.exp":
                raise IndexError("list index out of range")


register_pass(FragilePass)
'''


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, object], str]:
    status = main(["reduce", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else {}, captured.err


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(chain(80, 3))
    return path


@pytest.mark.parametrize("options", [[], ["--crash"], ["--error", "index out of r.nge"]])
def test_a_crash_of_a_pass_of_a_plug_in(options: list[str], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "fragile.py"
    plugin.write_text(PLUGIN)
    output = tmp_path / "out.mlir"
    status, report, error = run(capsys, source, "--load-plugin", plugin, "-p", "canonicalize,fragile", "-o", output, *options)
    assert status == 0, error
    assert report["operations"] == 4
    assert [op.name for op in read_module(output, FlambeauContext()).module.walk() if op.name.startswith("aten.")] == [
        "aten.exp",
        "aten.tanh",
    ]


SLIPPING = """
from flambeau.passes.kit import *


class SlipPass(ModulePass):
    \"\"\"Fails on what it is to fail on, and on what is small.\"\"\"

    name = "slip"

    def apply(self, ctx, op):
        names = [inner.name for inner in op.walk() if inner.name.startswith("aten.")]
        if "aten.tanh" in names and "aten.exp" in names:
            raise ValueError("the real one")
        if len(names) < 4:
            raise ValueError("too small")
"""


def test_another_error_of_the_same_class_is_another(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "slipping.py"
    plugin.write_text(SLIPPING)
    status, report, error = run(capsys, source, "--load-plugin", plugin, "-p", "slip", "-o", tmp_path / "out.mlir")
    assert status == 0, error
    assert "the real one" in str(report["detail"])
    assert report["operations"] == 4


STATEFUL = """
from flambeau.passes.kit import *

runs = []


class LatePass(ModulePass):
    \"\"\"Fails from the second run of a process on, as its first run knows nothing of others.\"\"\"

    name = "late"

    def apply(self, ctx, op):
        runs.append(op)
        if len(runs) > 2 or len(list(op.walk())) > 60:
            raise IndexError("what an earlier run left")
"""


def test_what_a_new_process_does_not_show_is_not_reproducible(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "stateful.py"
    plugin.write_text(STATEFUL)
    status, _, error = run(capsys, source, "--load-plugin", plugin, "-p", "late", "--crash", "-o", tmp_path / "out.mlir")
    assert status == 1
    assert "this is not reproducible: the predicate held for this module, but does not in a new process" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--script", "./none.sh"], "error: the script './none.sh' cannot be run: No such file"),
        (["--script", ""], "error: the script is empty"),
        (["-p", "canonicalize", "--inputs", "inputs.npz"], "there is no input 'v0' for @f among the stored ones (y)"),
    ],
)
def test_a_predicate_that_makes_no_sense_says_why(
    options: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(source.parent)
    np.savez("inputs.npz", y=np.ones(3, np.float32))
    status, _, error = run(capsys, source, "-o", source.with_name("out.mlir"), *options)
    assert status == 1
    assert message in error
    assert "nothing to reduce" not in error


def test_filecheck_and_script(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    checks, output = tmp_path / "checks.txt", tmp_path / "out.mlir"
    checks.write_text("CHECK: aten.exp\nCHECK: aten.tanh\n")
    status, report, error = run(capsys, source, "--filecheck", checks, "-o", output)
    assert status == 0, error
    assert report["operations"] == 4
    script = tmp_path / "check.sh"
    script.write_text('#!/bin/sh\ngrep -q aten.neg "$1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    status, report, error = run(capsys, source, "--script", script, "-o", output)
    assert status == 0, error
    assert report["operations"] == 3
    assert "aten.neg" in output.read_text()


def test_the_weights_of_the_result_stand_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    context = FlambeauContext()
    text = f"""builtin.module {{
      {store(context, "w", np.arange(512, dtype=np.float32))}
      func.func @f(%x : tensor<512xf32>) -> tensor<512xf32> {{
        %w = ml_program.global_load_const @w : tensor<512xf32>
        %y = aten.mul.Tensor(%x, %w) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
        func.return %y : tensor<512xf32>
      }}
    }}"""
    source, checks, output = tmp_path / "model.mlir", tmp_path / "checks.txt", tmp_path / "out.mlir"
    source.write_text(text)
    save_weights(read(text, context), context.blobs, source.with_suffix(".safetensors"))
    checks.write_text("CHECK: global_load_const\n")
    status, _, error = run(capsys, source, "--filecheck", checks, "-o", output)
    assert status == 0, error
    assert output.with_suffix(".safetensors").stat().st_size < 512 < source.with_suffix(".safetensors").stat().st_size


def test_weights_of_others_are_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    context = FlambeauContext()
    text = f"""builtin.module {{
      {store(context, "w", np.arange(512, dtype=np.float32))}
      func.func @f() -> tensor<512xf32> {{
        %w = ml_program.global_load_const @w : tensor<512xf32>
        func.return %w : tensor<512xf32>
      }}
    }}"""
    source, output = tmp_path / "model.mlir", tmp_path / "model-reduced.mlir"
    source.write_text(text)
    for path in (source, output):
        save_weights(read(text, context), context.blobs, path.with_suffix(".safetensors"))
    status, _, error = run(capsys, source, "--script", "grep -q func.func", "-o", output)
    assert status == 1
    assert "model-reduced.safetensors exists, and there is no" in error
    assert output.with_suffix(".safetensors").exists()
    output.write_text(text)
    assert run(capsys, source, "--script", "grep -q func.func", "-o", output)[0] == 0
    assert not output.with_suffix(".safetensors").exists()
    status, _, error = run(capsys, source, "--script", "grep -q func.func", "-o", source)
    assert status == 1
    assert "is what is read, and is not written over" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "canonicalize"], "nothing to reduce: the predicate is that the pipeline changes the result, but the results are the same"),
        (["-p", "canonicalize", "--crash"], "nothing to reduce: the predicate is that the pipeline fails, but the pipeline does not fail"),
        ([], "give a pipeline (-p), or a predicate"),
        (["-p", "canonicalize", "-o", "out.pte"], "--output out.pte: what is reduced is a .mlir file"),
    ],
)
def test_what_cannot_be_reduced_is_one_line(options: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str]):
    output = source.with_name("out.mlir")
    status, report, error = run(capsys, source, "-o", output, *options)
    assert (status, report) == (1, {})
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not output.exists()
