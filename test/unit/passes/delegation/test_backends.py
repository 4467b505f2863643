"""Groups of operations that go to a backend: none waits for itself, and the program means what it meant."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.method import NamedDataOp
from flambeau.dialects.ir.diagnostics import listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.passes.delegation.grouping import contracted_order, dependencies, group
from flambeau.passes.delegation.interface import Backend, BackendError, BackendOptions, Encoded, backend_names, one_by_one, register_backend
from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner, partitioners
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.delegation.vetoes import Vetoes
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import delegate
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.runtime.pte import read_program
from flambeau.support.lazy import Array
from flambeau.support.tables import declared_by
from flambeau.tools.semantics.check_semantics import CheckSemantics

KIND = "tensor<5xf32>"
LINES = {
    "add": "edge.add.Tensor(%{0}, %{1}) : (KIND, KIND) -> KIND",
    "tanh": "edge.tanh(%{0}) : (KIND) -> KIND",
    "cos": "edge.cos(%{0}) : (KIND) -> KIND",
    "load": "ml_program.global_load @s : KIND",
}


def random_function(seed: int, *, state: bool = False) -> str:
    """A function of operators that backends take and others, which read any earlier values."""
    chance = random.Random(seed)
    names = ["x", "y"]
    lines: list[str] = []
    for index in range(chance.randint(3, 40)):
        kinds = ["add", "add", "tanh", "cos"] + (["load", "store"] if state else [])
        kind = chance.choice(kinds)
        first, second = (chance.choice(names[-8:]) for _ in range(2))
        if kind == "store":
            lines.append(f"ml_program.global_store @s = %{first} : {KIND}")
            continue
        lines.append(f"%v{index} = " + LINES[kind].format(first, second).replace("KIND", KIND))
        names.append(f"v{index}")
    results = list(dict.fromkeys([names[-1], *chance.sample(names, 2)]))
    returned = ", ".join(f"%{name}" for name in results)
    types = ", ".join([KIND] * len(results))
    head = f'ml_program.global private mutable @s(#flambeau.blob<"s", "DIGEST">) : {KIND}\n' if state else ""
    body = "\n".join(f"  {line}" for line in [*lines, f"func.return {returned} : {types}"])
    return f"{head}func.func @forward(%x: {KIND}, %y: {KIND}) -> ({types}) {{\n{body}\n}}"


def parsed(text: str) -> tuple[Any, FlambeauContext]:
    context = FlambeauContext()
    blob = context.blobs.add("s", memoryview(np.linspace(-1, 1, 5, dtype=np.float32).tobytes()))
    return parse_module(text.replace("DIGEST", blob.digest.data), context).module, context


def block_of(module: Any) -> Block:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp)).body.block


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_groups_have_an_order_in_which_each_runs_at_once(seed: int, most: int):
    module, _ = parsed(random_function(seed, state=seed % 2 == 1))
    table = Partitioner("elementwise").table
    block = block_of(module)
    groups = group(block, lambda op: table.why_not(op) is None, most)
    taken = [op for items in groups for op in items]
    assert set(taken) == {op for op in block.ops if table.why_not(op) is None}
    assert len(taken) == len(set(taken)) and all(len(items) <= most for items in groups)
    flat: list[Operation] = []
    for item in contracted_order(block, groups):
        flat += [item] if isinstance(item, Operation) else groups[item]
    assert len(flat) == len(set(flat)) == len(list(block.ops)) - 1
    position = {op: index for index, op in enumerate(flat)}
    for op, before in dependencies(block).items():
        assert all(position[item] < position[op] for item in before)


@pytest.mark.parametrize("seed", range(20))
def test_a_delegated_program_computes_what_it_did(seed: int):
    text = random_function(seed, state=seed % 2 == 1)
    chance = np.random.default_rng(seed)
    inputs = [chance.standard_normal(5, dtype=np.float32) for _ in range(2)]
    module, context = parsed(text)
    original = interpret(module.clone(), context)
    Pipeline.of(delegate(PipelineOptions(backends=(Partitioner("elementwise"),)))).run(module, context)
    functions = interpret(module.clone(), context, run_payload)
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    methods = interpret(module, context, run_payload)
    loaded = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward")
    for _ in range(2):
        expected = original.run("forward", inputs)
        for actual in (functions.run("forward", inputs), methods.run("forward", inputs), loaded.execute(inputs)):
            for found, value in zip(actual, expected, strict=True):
                np.testing.assert_allclose(np.asarray(found), np.asarray(value), rtol=1e-5, atol=1e-6)


def test_one_group_where_only_a_branch_leaves_and_two_where_it_comes_back():
    text = f"""func.func @forward(%x: {KIND}) -> ({KIND}, {KIND}) {{
      %0 = edge.tanh(%x) : ({KIND}) -> {KIND}
      %1 = edge.cos(%0) : ({KIND}) -> {KIND}
      %2 = edge.tanh(%0) : ({KIND}) -> {KIND}
      LAST
      func.return %3, %1 : {KIND}, {KIND}
    }}"""
    table = Partitioner("elementwise").table
    for last, expected in ((f"%3 = edge.tanh(%2) : ({KIND}) -> {KIND}", [3]), (LINES["add"].format(2, 1).replace("KIND", KIND), [2, 1])):
        line = last if last.startswith("%3") else f"%3 = {last}"
        module, _ = parsed(text.replace("LAST", line))
        groups = group(block_of(module), lambda op: table.why_not(op) is None, 100)
        assert [len(items) for items in groups] == expected


def test_every_backend_is_whole():
    assert "elementwise" in backend_names()
    for name in backend_names():
        choice = Partitioner(name)
        assert choice.backend.name == name and choice.backend.identifier and 1 <= choice.options.least <= choice.table.most
    with pytest.raises(BackendError, match="no backend here is called 'Nobody' by programs"):
        run_payload("Nobody", memoryview(b""), {}, [])


@pytest.fixture
def naming() -> Iterator[list[str]]:
    """A backend whose payloads find one name, with these contents one after another; nothing but its hardware runs them."""
    contents: list[str] = []

    def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
        return Encoded(b"payload", {"weights": contents.pop(0).encode()})

    with declared_by("a test") as registered:
        register_backend(Backend("naming", "NamingBackend", OperatorTable({"tanh": Rule()}), one_by_one(encode)))
    yield contents
    for item in registered:
        item.undo()


TWO_PARTITIONS = f"""func.func @forward(%x: {KIND}) -> {KIND} {{
  %0 = edge.tanh(%x) : ({KIND}) -> {KIND}
  %1 = edge.cos(%0) : ({KIND}) -> {KIND}
  %2 = edge.tanh(%1) : ({KIND}) -> {KIND}
  func.return %2 : {KIND}
}}"""


def test_payloads_share_what_they_find_by_name(naming: list[str]):
    naming += ["same", "same"]
    module, context = parsed(TWO_PARTITIONS)
    Pipeline.parse("delegate{backends=naming}").run(module, context)
    (named,) = [op for op in module.walk() if isinstance(op, NamedDataOp)]
    assert named.key.data == "weights" and bytes(context.blobs.get(named.value)) == b"same"
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    program = read_program(b"".join(emit_pte(module, context)))
    assert [bytes(item.data) for item in program.named_data if item.key == "weights"] == [b"same"]
    with pytest.raises(InterpreterError, match="the payloads of backend 'naming' run on its hardware only"):
        interpret(module, context, run_payload).run("forward", [np.ones(5, np.float32)])


def test_what_only_hardware_runs_is_not_checked(naming: list[str]):
    naming += ["same", "same"]
    module, context = parsed(TWO_PARTITIONS)
    warnings: list[str] = []
    with listening(lambda found: warnings.append(found.message), ["warning"]):
        Pipeline.parse("delegate{backends=naming},edge-to-exec").run(module, context, [CheckSemantics()])
        again = CheckSemantics()
        Pipeline.parse("plan").run(module, context, [again])
    reason = "@forward_naming_0: the payloads of backend 'naming' run on its hardware only"
    assert warnings == [f"results are not checked from here on: {reason}", f"results are not checked: {reason}"]


def test_a_simulator_runs_payloads(request: pytest.FixtureRequest):
    calls: list[bytes] = []
    right = 1000

    def simulate(data: memoryview, named_data: Mapping[str, memoryview], arguments: Sequence[Array]) -> Sequence[Array]:
        calls.append(bytes(data))
        return [np.tanh(arguments[0]) * (1 if len(calls) <= right else 2)]

    encode = one_by_one(lambda partition, constants, options: Encoded(b"payload"))
    with declared_by("a test") as registered:
        register_backend(Backend("simulated", "SimulatedBackend", OperatorTable({"tanh": Rule()}), encode, simulate=simulate))
    request.addfinalizer(lambda: [item.undo() for item in registered])
    module, context = parsed(TWO_PARTITIONS)
    Pipeline.parse("delegate{backends=simulated},edge-to-exec,plan").run(module, context, [CheckSemantics()])
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    (found,) = interpret(module, context, run_payload).run("forward", [x])
    np.testing.assert_allclose(np.asarray(found), np.tanh(np.cos(np.tanh(x))), rtol=1e-6)
    assert set(calls) == {b"payload"}
    module, context = parsed(TWO_PARTITIONS)
    right = len(calls)
    with pytest.raises(PassError, match="lower-partitions: changes the result"):
        Pipeline.parse("delegate{backends=simulated}").run(module, context, [CheckSemantics()])


def test_a_name_has_one_content(naming: list[str]):
    naming += ["one", "another"]
    module, context = parsed(TWO_PARTITIONS)
    with pytest.raises(PassError, match="@forward_naming_1 has other named data 'weights' than a payload before it"):
        Pipeline.parse("delegate{backends=naming}").run(module, context)


@dataclass(frozen=True)
class LevelOptions(BackendOptions):
    """Options that reach the payload."""

    level: int = 1
    words: tuple[str, ...] = ()
    note: str = ""


@pytest.fixture
def levels() -> Iterator[list[tuple[list[str], LevelOptions]]]:
    """A backend that tells which partitions it was given at once, with which options; it takes operators of any dialect and any results."""
    given: list[tuple[list[str], LevelOptions]] = []

    def encode(partitions: Sequence[PartitionOp], constants: ModuleConstants, options: LevelOptions) -> list[Encoded]:
        given.append(([partition.sym_name.data for partition in partitions], options))
        return [Encoded(b"payload") for _ in partitions]

    rules: dict[str, Rule] = dict.fromkeys(("tanh", "topk", "quantized_decomposed.quantize_per_tensor"), Rule())
    with declared_by("a test") as registered:
        register_backend(Backend("levels", "LevelsBackend", OperatorTable(rules), encode, options=LevelOptions))
        register_backend(Backend("absent", "AbsentBackend", OperatorTable(rules), encode, requires=("no_such_sdk",)))
    yield given
    for item in registered:
        item.undo()


def test_a_backend_gets_the_partitions_of_all_methods_at_once(levels: list[tuple[list[str], LevelOptions]]):
    module, context = parsed(TWO_PARTITIONS + "\n" + TWO_PARTITIONS.replace("@forward", "@backward"))
    Pipeline.parse("delegate{backends=levels{level=3 words=a,b note=x}}").run(module, context)
    names = ["forward_levels_0", "forward_levels_1", "backward_levels_0", "backward_levels_1"]
    assert levels == [(names, LevelOptions(level=3, words=("a", "b"), note="x"))]
    specs = {str(op.specs) for op in module.body.block.ops if isinstance(op, PayloadOp)}
    assert specs == {'{level = "3", words = "a,b", note = "x"}'}
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    plan = read_program(b"".join(emit_pte(module, context))).execution_plan[0]
    assert [(spec.key, bytes(spec.value)) for spec in plan.delegates[0].compile_specs] == [
        ("level", b"3"),
        ("words", b"a,b"),
        ("note", b"x"),
    ]


def test_what_is_not_set_is_no_compile_spec(levels: list[tuple[list[str], LevelOptions]]):
    module, context = parsed(TWO_PARTITIONS)
    Pipeline.parse("delegate{backends=levels{least=1}}").run(module, context)
    assert [op.specs for op in module.body.block.ops if isinstance(op, PayloadOp)] == [None, None]


def test_compile_specs_that_a_backend_does_not_have_are_refused(levels: list[tuple[list[str], LevelOptions]]):
    module, context = parsed(f"""delegate.partition @p backend "LevelsBackend" {{"levl" = "3"}} (%x: {KIND}) -> ({KIND}) {{
      delegate.return %x : {KIND}
    }}""")
    message = (
        "partition @p cannot be lowered: backend 'levels' has no option 'levl'; it has least, methods, strict, level, words, note; did you"
    )
    with pytest.raises(PassError, match=re.escape(message)):
        Pipeline.parse("lower-partitions").run(module, context)


def test_operators_of_any_dialect_and_with_several_results_are_taken(levels: list[tuple[list[str], LevelOptions]]):
    module, context = parsed("""func.func @forward(%x: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<5xi8>) {
      %0 = edge.tanh(%x) : (tensor<5xf32>) -> tensor<5xf32>
      %1, %2 = edge.topk(%0) {k = 2} : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi64>)
      %3 = quantized_decomposed.quantize_per_tensor(%0)
        {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<5xf32>) -> tensor<5xi8>
      func.return %1, %2, %3 : tensor<2xf32>, tensor<2xi64>, tensor<5xi8>
    }""")
    Pipeline.parse("partition{backends=levels}").run(module, context)
    (partition,) = [op for op in module.body.block.ops if isinstance(op, PartitionOp)]
    assert len(partition.function_type.outputs) == 3 and not [op for op in block_of(module).ops if isinstance(op, SchemaOp)]


def test_what_must_be_installed_is_said(levels: list[tuple[list[str], LevelOptions]]):
    module, context = parsed(TWO_PARTITIONS)
    with pytest.raises(PassError, match="backend 'absent' needs no_such_sdk, which is not installed here"):
        Pipeline.parse("delegate{backends=absent}").run(module, context)


def test_a_function_keeps_operators():
    module, context = parsed(TWO_PARTITIONS)
    partition = PartitionPass((Partitioner("elementwise{least=1}").keeping(lambda op: isinstance(op.operands[0], BlockArgument)),))
    partition.apply(context, module)
    assert [op.name for op in block_of(module).ops][:3] == ["edge.tanh", "edge.cos", "delegate.call"]


def test_an_operator_is_kept_by_the_name_that_users_know():
    kind = "tensor<2x3xf32>"
    call = f"edge._softmax(%x) {{dim = 1, half_to_float = false}} : ({kind}) -> {kind}"
    module, _ = parsed(f"func.func @f(%x: {kind}) -> {kind} {{ %0 = {call} func.return %0 : {kind} }}")
    softmax = next(op for op in module.walk() if op.name == "edge._softmax")
    assert Vetoes(["softmax"])(softmax) == "no-delegate 'softmax' keeps it"


def test_a_choice_prints_as_it_is_written():
    text = "builtin.module(partition{backends=xnnpack{least=3},elementwise{least=1} no-delegate=layers.0,softmax})"
    assert str(Pipeline.parse(text)) == text == str(Pipeline.parse(str(Pipeline.parse(text))))
    assert tuple(map(str, partitioners("xnnpack{least=3}, elementwise{methods=f}"))) == ("xnnpack{least=3}", "elementwise{methods=f}")
    for wrong in ("", "xnnpack(cse)", "xnnpack{", "nobody"):
        with pytest.raises(ValueError):
            partitioners(wrong)


CONTROL = f"""func.func @forward(%x: {KIND}, %n: tensor<i64>) -> {KIND} {{
  %0 = edge.tanh(%x) : ({KIND}) -> {KIND}
  %1 = edge.relu(%0) : ({KIND}) -> {KIND}
  %p = edge.gt.Scalar(%n) {{other = 0}} : (tensor<i64>) -> tensor<i1>
  %c = tensor.extract %p[] : tensor<i1>
  %2 = scf.if %c -> ({KIND}) {{
    %3 = edge.add.Tensor(%x, %1) : ({KIND}, {KIND}) -> {KIND}
    %4 = edge.sigmoid(%3) : ({KIND}) -> {KIND}
    scf.yield %4 : {KIND}
  }} else {{
    %5 = edge.neg(%1) : ({KIND}) -> {KIND}
    %6 = edge.abs(%5) : ({KIND}) -> {KIND}
    scf.yield %6 : {KIND}
  }}
  %7 = edge.exp(%2) : ({KIND}) -> {KIND}
  %8 = edge.neg(%7) : ({KIND}) -> {KIND}
  func.return %8 : {KIND}
}}"""


def test_partitions_in_branches_compute_what_they_did():
    module, context = parsed(CONTROL)
    original = interpret(module.clone(), context)
    Pipeline.parse("delegate{backends=elementwise}").run(module, context)
    assert sum(isinstance(op, PayloadOp) for op in module.body.block.ops) == 4
    functions = interpret(module.clone(), context, run_payload)
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    loaded = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward")
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    for number in (0, 1):
        inputs = [x, np.array(number)]
        (expected,) = original.run("forward", inputs)
        for actual in (functions.run("forward", inputs), loaded.execute(inputs)):
            np.testing.assert_allclose(np.asarray(actual[0]), np.asarray(expected), rtol=1e-5, atol=1e-6)
