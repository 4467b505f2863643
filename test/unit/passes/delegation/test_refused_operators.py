"""Operators that a backend's compiler refuses: they go to the next backend, or stay, and the report says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import ir_backend
import numpy as np
import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from flambeau import get_delegation_info, to_edge
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ir.diagnostics import listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.delegation import refusals
from flambeau.passes.delegation.interface import BackendOptions, Encoded, RefusedError, find_backend, one_by_one, register_backend
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.interpreter import interpret
from flambeau.support.tables import declared_by

KIND = "tensor<5xf32>"
TO_CORE = Converters("core")
Encode = Callable[[PartitionOp, ModuleConstants, BackendOptions], Encoded]


def _to_core(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    TO_CORE.apply(partition, constants)


@TO_CORE("tanh", "cos", "sin")
def _core_operator(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    kind = find_op(f"core.{op.schema.name}")
    assert kind is not None
    return kind(op.argument("self")).results[0]


class Npu:
    """A backend whose compiler refuses some operators, by name; `tried` has the operators that it was given, call by call."""

    def __init__(self) -> None:
        self.refuses: dict[str, str] = {"cos": "it has no table of cosines"}
        self.tried: list[list[str]] = []

    def encode(self, partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
        operators = [op for op in partition.walk() if isinstance(op, SchemaOp)]
        self.tried.append([op.name for op in operators])
        if refused := self.refused(partition, operators):
            raise RefusedError(refused)
        return ir_backend.BACKEND.encode([partition], constants, options)[0]

    def refused(self, partition: PartitionOp, operators: Sequence[SchemaOp]) -> dict[Operation, str]:
        return {op: self.refuses[op.schema.name] for op in operators if op.schema.name in self.refuses}


@pytest.fixture
def npu() -> Iterator[Npu]:
    """The backends `npu`; `npu_core`, with a dialect; and `other`, which takes everything."""
    found = Npu()
    backend = replace(ir_backend.BACKEND, name="npu", identifier="Npu", encode=one_by_one(found.encode), refuses=True)
    with declared_by("a test") as registered:
        register_backend(backend)
        register_backend(replace(backend, name="npu_core", identifier="NpuCore", convert=_to_core))
        register_backend(replace(ir_backend.BACKEND, name="other", identifier="Other"))
    yield found
    for item in registered:
        item.undo()


def chain(*operators: str) -> str:
    lines = [f"%{i + 1} = edge.{name}(%{i}) : ({KIND}) -> {KIND}" for i, name in enumerate(operators)]
    text = "\n  ".join([*lines, f"func.return %{len(lines)} : {KIND}"])
    return f"func.func @forward(%0: {KIND}) -> {KIND} {{\n  {text}\n}}"


def delegated(text: str, pipeline: str) -> tuple[ModuleOp, FlambeauContext, list[str]]:
    """The module behind a pipeline, whose results are compared with those before, and the remarks."""
    context = FlambeauContext()
    module = parse_module(text, context).module
    whole = module.clone()
    remarks: list[str] = []
    with listening(lambda found: remarks.append(found.message), ["remark"]):
        Pipeline.parse(pipeline).run(module, context)
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    outputs = [np.asarray(interpret(item, context, run_payload).run("forward", [x])[0]) for item in (whole, module)]
    np.testing.assert_allclose(*outputs, rtol=1e-6)
    return module, context, remarks


def outside(module: ModuleOp) -> list[str]:
    return [op.name for item in module.body.block.ops if isinstance(item, FuncOp) for op in item.walk() if isinstance(op, SchemaOp)]


def payloads(module: ModuleOp) -> Counter[str]:
    return Counter(op.backend.data for op in module.body.block.ops if isinstance(op, PayloadOp))


@pytest.mark.parametrize("name", ["npu", "npu_core"])
def test_what_is_refused_stays_and_the_rest_goes(npu: Npu, name: str) -> None:
    module, _, remarks = delegated(chain("tanh", "cos", "sin"), f"delegate{{backends={name}}}")
    level = "core" if name == "npu_core" else "edge"
    taken = [[f"{level}.tanh"], [f"{level}.sin"]]
    assert npu.tried == [[f"{level}.{op}" for op in ("tanh", "cos", "sin")], *taken, *taken]
    assert outside(module) == ["edge.cos"] and payloads(module).total() == 2
    assert remarks == [f"backend '{name}' leaves it: its compiler refuses it: it has no table of cosines"]


def test_what_is_refused_goes_to_the_next_backend(npu: Npu) -> None:
    module, _, _ = delegated(chain("tanh", "cos", "sin"), "delegate{backends=npu,other}")
    assert outside(module) == [] and payloads(module) == {"Npu": 2, "Other": 1}


def test_the_note_is_in_the_program_and_for_these_options_only(npu: Npu) -> None:
    module, _, _ = delegated(chain("tanh", "cos"), "partition{backends=npu}")
    text = print_module(module)
    assert '{"refused" = {npu = "it has no table of cosines"}}' in text.replace("refused =", '"refused" =')
    npu.tried.clear()
    npu.refuses.clear()
    again, _, _ = delegated(text, "partition{backends=npu}")
    assert outside(again) == ["edge.cos"] and npu.tried == []
    for others in ("npu{methods=forward}", "other"):
        again, _, _ = delegated(text, f"partition{{backends={others}}}")
        assert outside(again) == []


def test_partitions_are_tried_together_and_a_note_stays_beside_another(npu: Npu) -> None:
    npu.refuses["sin"] = "nor of sines"
    module, _, _ = delegated(chain("cos", "tanh", "log", "sin"), "partition{backends=npu,npu_core{least=1} no-delegate=log}")
    assert outside(module) == ["edge.cos", "edge.log", "edge.sin"]
    assert npu.tried == [["edge.cos", "edge.tanh"], ["edge.sin"], ["edge.tanh"], ["core.cos"], ["core.sin"]]
    (cos,) = (op for op in module.walk() if op.name == "edge.cos")
    assert str(cos.attributes["refused"]) == '{npu = "it has no table of cosines", npu_core = "it has no table of cosines"}'


def test_operators_stay_without_the_compiler(npu: Npu, request: pytest.FixtureRequest) -> None:
    with declared_by("a test") as registered:
        register_backend(replace(find_backend("npu"), name="absent", identifier="Absent", requires=("no_such_sdk",)))
    request.addfinalizer(lambda: [item.undo() for item in registered])
    module, _, _ = delegated(chain("tanh", "cos"), "partition{backends=absent}")
    assert outside(module) == npu.tried == []
    missing, context = "backend 'absent' needs no_such_sdk, which is not installed here", FlambeauContext()
    module = parse_module(chain("tanh", "log", "cos"), context).module
    with pytest.warns(UserWarning, match=f"{missing}; 3 operators stay"):
        Pipeline.parse("delegate{backends=absent}").run(module, context)
    assert outside(module) == ["edge.tanh", "edge.log", "edge.cos"] and npu.tried == []
    assert [str(op.attributes["refused"]) for op in module.walk() if "refused" in op.attributes] == [f'{{absent = "{missing}"}}'] * 3
    with pytest.raises(PassError, match=f"lower-partitions: {missing}"):
        delegated(chain("tanh", "cos"), "delegate{backends=absent{strict=true}}")


def test_a_strict_backend_refuses_the_program(npu: Npu) -> None:
    with pytest.raises(PassError, match=r"lower-partitions: its compiler refuses edge.cos: it has no table of cosines$") as raised:
        delegated(chain("tanh", "cos"), "delegate{backends=npu{strict=true}}")
    assert raised.value.diagnostic.op is not None and raised.value.diagnostic.op.name == "edge.cos"
    assert npu.tried == [["edge.tanh", "edge.cos"]]


def test_a_refusal_of_several_operators_is_told_once() -> None:
    module = parse_module(chain("cos", "cos", "sin"), FlambeauContext()).module
    operators = [op for op in module.walk() if isinstance(op, SchemaOp)]
    told = "its compiler refuses edge.cos: no table; its compiler refuses edge.sin: no table"
    assert str(RefusedError(dict.fromkeys(operators, "no table"))) == told


def test_conversion_may_refuse_too(npu: Npu, request: pytest.FixtureRequest) -> None:
    def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
        refused = npu.refused(partition, [op for op in partition.walk() if isinstance(op, SchemaOp)])
        TO_CORE.apply(partition, constants)
        if refused:
            raise RefusedError(refused)

    with declared_by("a test") as registered:
        backend = replace(ir_backend.BACKEND, name="converting", identifier="Converting", convert=convert, refuses=True)
        register_backend(backend)
        register_backend(replace(backend, name="silent", identifier="Silent", refuses=False))
    request.addfinalizer(lambda: [item.undo() for item in registered])
    module, _, _ = delegated(chain("tanh", "cos", "sin"), "delegate{backends=converting}")
    assert outside(module) == ["edge.cos"] and payloads(module) == {"Converting": 2}
    with pytest.raises(PassError, match=r"convert-partitions: its compiler refuses edge.cos: it has no table of cosines"):
        delegated(chain("tanh", "cos", "sin"), "delegate{backends=silent}")


def test_a_partition_may_be_refused_as_a_whole(npu: Npu, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_cosines(partition: PartitionOp, operators: Sequence[SchemaOp]) -> dict[Operation, str]:
        return {partition: "it is too large"} if any(op.schema.name == "cos" for op in operators) else {}

    monkeypatch.setattr(npu, "refused", without_cosines)
    module, _, remarks = delegated(chain("tanh", "cos", "log", "exp", "neg"), "delegate{backends=npu{least=2} no-delegate=log}")
    assert outside(module) == ["edge.tanh", "edge.cos", "edge.log"] and payloads(module) == {"Npu": 1}
    assert remarks.count("backend 'npu' leaves it: its compiler refuses it: it is too large") == 2
    with pytest.raises(PassError, match="its compiler refuses @forward_npu_0: it is too large"):
        delegated(chain("cos"), "delegate{backends=npu{strict=true}}")


def test_rounds_are_bounded(npu: Npu, monkeypatch: pytest.MonkeyPatch) -> None:
    def the_last(partition: PartitionOp, operators: Sequence[SchemaOp]) -> dict[Operation, str]:
        return {operators[-1]: "one at a time"}

    monkeypatch.setattr(npu, "refused", the_last)
    module, _, _ = delegated(chain(*["tanh"] * 20), "delegate{backends=npu}")
    assert outside(module) == ["edge.tanh"] * 20 and len(npu.tried) == refusals.MOST_ROUNDS
    assert [len(operators) for operators in npu.tried] == list(range(20, 12, -1))


def test_an_operation_of_unknown_origin_stands_for_its_partition(npu: Npu, monkeypatch: pytest.MonkeyPatch) -> None:
    def last(partition: PartitionOp, operators: Sequence[SchemaOp]) -> dict[Operation, str]:
        end = partition.body.block.last_op
        assert end is not None
        return {end: "no way back"}

    monkeypatch.setattr(npu, "refused", last)
    module, _, _ = delegated(chain("tanh", "cos"), "delegate{backends=npu}")
    assert outside(module) == ["edge.tanh", "edge.cos"]


class Waves(nn.Module):
    """Products with operators that the compiler refuses between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> Any:
        y = torch.cos(self.first(x))
        return self.second(y).tanh(), torch.cos(y)


@pytest.mark.parametrize("backends", ["npu", "npu,other"])
def test_a_model_computes_what_it_did(npu: Npu, backends: str) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType] - torch leaves the type of its argument out
    model, x = Waves().eval(), torch.randn(3, 6)
    edge = to_edge(torch.export.export(model, (x,)))
    for backend in backends.split(","):
        edge = edge.to_backend(backend)
    info = get_delegation_info(edge)
    refused = "its compiler refuses it: it has no table of cosines"
    assert info.refused == ({("edge.cos", refused): 2} if backends == "npu" else {})
    assert f"  edge.cos (2 times): {refused}" in str(info) or backends != "npu"
    assert info.subgraphs["npu"] == 2 and info.subgraphs.get("other", 0) == (backends != "npu")
    program = edge.to_executorch()
    found = interpret(program.module, program.context, run_payload).run("forward", [x.numpy()])
    for actual, expected in zip(found, model(x), strict=True):
        np.testing.assert_allclose(np.asarray(actual), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_survey_knows_what_is_refused(npu: Npu) -> None:
    edge = to_edge(torch.export.export(Waves().eval(), (torch.randn(3, 6),)))
    assert ("edge.cos", "its compiler refuses it: it has no table of cosines") in edge.survey("npu").refused
