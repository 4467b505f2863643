"""`flambeau reduce`: each reducer on IR small enough to read, and the search around them."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from chains import random_chain, read, store
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult

from flambeau.dialects.flambeau.method_interface import inputs_of, outputs_of
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module
from flambeau.tools.reduction import Progress, Reduction, ReductionError, ReductionResult, reduce_module

Test = Callable[[ModuleOp], bool]
EXEC = Path(__file__).resolve().parents[2] / "filecheck" / "exec" / "ops.mlir"


def has(*names: str) -> Test:
    def holds(module: ModuleOp) -> bool:
        found = {op.name for op in module.walk()}
        return all(name in found for name in names)

    return holds


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


@pytest.mark.parametrize("seed", range(6))
def test_some_operations_among_many_are_found_in_few_tests(seed: int):
    context = FlambeauContext()
    module = read(random_chain(120, seed), context)
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
    module = read(random_chain(60, 0), context)

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
    module = read(random_chain(60, 0), context)

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
        reduce_module(read(random_chain(3, 0), context), context, lambda module, _: False)


def test_progress_counts_tests():
    context = FlambeauContext()
    steps: list[Progress] = []
    result: ReductionResult = reduce_module(
        read(random_chain(20, 0), context), context, lambda module, _: has("aten.relu")(module), on_progress=steps.append
    )
    assert [step.tests for step in steps] == list(range(1, result.tests + 1))
    assert {step.at_start for step in steps} == {22}
