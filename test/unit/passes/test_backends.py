"""Groups of operations that go to a backend: none waits for itself, and the program means what it meant."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.exec.method import NamedDataOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.grouping import contracted_order, dependencies, group
from flambeau.passes.delegation.interface import Backend, BackendError, Encoded, backend_names, find_backend, register_backend, run_payload
from flambeau.passes.delegation.survey import why_refused
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import delegate
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.runtime.pte import read_program
from flambeau.support.tables import declared_by

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
    backend = find_backend("elementwise")
    block = block_of(module)
    groups = group(block, lambda op: why_refused(op, backend) is None, 1, most)
    taken = [op for items in groups for op in items]
    assert set(taken) == {op for op in block.ops if why_refused(op, backend) is None}
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
    Pipeline.of(delegate(PipelineOptions(backends=("elementwise",)))).run(module, context)
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
    backend = find_backend("elementwise")
    for last, expected in ((f"%3 = edge.tanh(%2) : ({KIND}) -> {KIND}", [3]), (LINES["add"].format(2, 1).replace("KIND", KIND), [2, 1])):
        line = last if last.startswith("%3") else f"%3 = {last}"
        module, _ = parsed(text.replace("LAST", line))
        groups = group(block_of(module), lambda op: why_refused(op, backend) is None, 1, 100)
        assert [len(items) for items in groups] == expected


def test_every_backend_is_whole():
    assert "elementwise" in backend_names()
    for name in backend_names():
        backend = find_backend(name)
        assert backend.name == name and backend.identifier and 1 <= backend.least <= backend.most
    with pytest.raises(BackendError, match="no backend here is called 'Nobody' by programs"):
        run_payload("Nobody", memoryview(b""), {}, [])


@pytest.fixture
def naming() -> Iterator[list[str]]:
    """A backend whose payloads find one name, with these contents one after another; nothing but its hardware runs them."""
    contents: list[str] = []

    def encode(partition: PartitionOp, constants: ModuleConstants) -> Encoded:
        return Encoded(b"payload", {"weights": contents.pop(0).encode()})

    with declared_by("a test") as registered:
        register_backend(
            Backend("naming", "NamingBackend", lambda op: None if op.name == "edge.tanh" else "no", lambda op, value: False, encode)
        )
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


def test_a_name_has_one_content(naming: list[str]):
    naming += ["one", "another"]
    module, context = parsed(TWO_PARTITIONS)
    with pytest.raises(PassError, match="@forward_naming_1 has other named data 'weights' than a payload before it"):
        Pipeline.parse("delegate{backends=naming}").run(module, context)
