"""Methods with partitioners, passes and planners of their own, as ExecuTorch takes them: in dicts by method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import ExportedProgram
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

import flambeau
from flambeau import (
    ExecutorchBackendConfig,
    MemoryPlanningPass,
    Partitioner,
    Pipeline,
    get_delegation_info,
    to_edge,
    to_edge_transform_and_lower,
)
from flambeau.compiler.edge_program import Unless
from flambeau.dialects.ml_program import GlobalOp
from flambeau.passes.manager.errors import PassError
from flambeau.passes.transforms.cse import CsePass
from flambeau.runtime import Runtime

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)

LEAST = "elementwise{least=1}"


class Swish(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x) + x


@pytest.fixture(scope="module")
def exported() -> ExportedProgram:
    return torch.export.export(Swish(), (torch.rand(2, 3),))


def run(program: flambeau.ExecutorchProgramManager, *inputs: Any, method: str = "forward") -> Any:
    return Runtime.get().load_program(program.buffer).load_method(method).execute(inputs)


def test_each_method_has_its_own_partitioners(exported: ExportedProgram):
    both = {"forward": exported, "second": exported}
    edge = to_edge_transform_and_lower(both, partitioner={"second": ["elementwise"]})
    assert "@second_elementwise_0" in str(edge) and "@forward_elementwise_0" not in str(edge)
    assert str(to_edge(both).to_backend({"second": Partitioner("elementwise")})) == str(edge)
    assert str(to_edge(both).to_backend("elementwise{methods=second}")) == str(edge)
    assert str(to_edge_transform_and_lower(both, partitioner={name: "elementwise" for name in both})).count("delegate.payload") == 2
    reason = "backend 'elementwise' is for second only"
    assert {row.reason for row in get_delegation_info(edge).rows if row.backend is None} >= {reason}
    found = run(edge.to_executorch(), X), run(edge.to_executorch(), X, method="second")
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    with pytest.raises(PassError, match="backend 'elementwise' is for the method 'secnd', and the program has forward, second; did you"):
        to_edge(both).to_backend({"secnd": "elementwise"})


def test_each_method_keeps_operators_of_its_own(exported: ExportedProgram):
    both = {"forward": exported, "second": exported}
    edge = to_edge_transform_and_lower(both, partitioner=LEAST, no_delegate={"second": "sigmoid", "forward": ["mul", "add.Tensor"]})
    whole = to_edge(both)
    assert str(whole.to_backend(LEAST, no_delegate=["second:sigmoid", "forward:mul", "forward:add.Tensor"])) == str(edge)
    why = {(row.operator, row.reason) for row in get_delegation_info(edge).rows if row.backend is None}
    assert why == {
        ("edge.sigmoid", "no-delegate 'second:sigmoid' keeps it"),
        ("edge.mul.Tensor", "no-delegate 'forward:mul' keeps it"),
        ("edge.add.Tensor", "no-delegate 'forward:add.Tensor' keeps it"),
    }
    unless: dict[str, Unless] = {"second": lambda op: "sigmoid" in op.name, "forward": lambda op: "sigmoid" not in op.name}
    by_function = to_edge_transform_and_lower(both, partitioner={name: [LEAST] for name in both}, unless=unless)
    assert [row.operator for row in get_delegation_info(by_function).rows if row.backend is None] == [
        row.operator for row in get_delegation_info(edge).rows if row.backend is None
    ]
    found = run(by_function.to_executorch(), X), run(by_function.to_executorch(), X, method="second")
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    with pytest.raises(PassError, match=r"no-delegate 'secnd:sigmoid' keeps nothing: .*; did you mean 'second:sigmoid'"):
        whole.to_backend(LEAST, no_delegate={"secnd": "sigmoid"})
    with pytest.raises(ValueError, match="unless is for a method 'secnd'; there are forward, second"):
        whole.to_backend(LEAST, unless={"secnd": lambda op: True})


def test_what_a_method_does_not_give_is_decomposed_for_the_target():
    exported = torch.export.export(torch.nn.SiLU(), (torch.rand(2, 3),))
    edge = to_edge_transform_and_lower({"forward": exported, "second": exported}, partitioner={"second": "openvino"})
    assert [row.operator for row in get_delegation_info(edge).rows if row.backend is None] == ["edge.silu"]
    program = str(edge.to_executorch())
    assert "aten::sigmoid.out" in program and "aten::mul.out" in program


def test_each_method_has_its_own_passes(exported: ExportedProgram):
    both = {"forward": exported, "second": exported}
    edge = to_edge_transform_and_lower(both, transform_passes={"second": "delegate{backends=elementwise}", "forward": [CsePass()]})
    assert "@second_elementwise_0" in str(edge) and "@forward_elementwise_0" not in str(edge) and edge.methods == ("forward", "second")
    delegating = Pipeline.parse("delegate{backends=elementwise}")
    assert str(to_edge(both).transform({"second": delegating, "forward": "cse"})) == str(edge)
    assert str(to_edge(both).transform(delegating)) == str(to_edge(both).transform("delegate{backends=elementwise}"))
    np.testing.assert_allclose(run(edge.to_executorch(), X)[0], run(edge.to_executorch(), X, method="second")[0], rtol=1e-6)


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.seen = torch.nn.Buffer(torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(x.sum(0))
        return self.layer(x).relu() + self.seen


def test_each_method_has_its_own_planner_and_they_share_their_state():
    exported = torch.export.export(Counting().eval(), (torch.ones(2, 3),))
    edge = to_edge({"forward": exported, "second": exported})
    planning = {"second": MemoryPlanningPass("naive", alloc_graph_input=False)}
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    assert program.methods == edge.methods == ("forward", "second")
    loaded = Runtime.get().load_program(program.buffer)
    methods = [loaded.load_method(name) for name in program.methods]
    assert [method.metadata.input_tensor_meta(0).is_memory_planned() for method in methods] == [True, False]
    x = np.ones((2, 3), np.float32)
    first, second = (np.asarray(method.execute([x])[0]) for method in methods)
    np.testing.assert_allclose(second - first, np.full((2, 3), 2), rtol=1e-6)
    with pytest.raises(ValueError, match="memory_planning_pass is for a method 'thrd'; there are forward, second"):
        edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass={"thrd": "greedy"}))


@dataclass(frozen=True)
class Emptying(ModulePass):
    """Erases the method that it sees, then all that nobody reads."""

    name = "emptying"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Leaves a method that returns its input."""
        (function,) = (item for item in op.body.block.ops if isinstance(item, FuncOp))
        returned = function.body.block.last_op
        assert returned is not None
        returned.operands[0] = function.body.block.args[0]
        for item in reversed(list(function.body.block.ops)):
            if item is not returned:
                item.detach()
                item.erase()
        for item in [item for item in op.body.block.ops if isinstance(item, GlobalOp)]:
            op.body.block.erase_op(item)


def test_passes_on_a_method_leave_what_others_read():
    exported = torch.export.export(Counting().eval(), (torch.ones(2, 3),))
    edge = to_edge({"forward": exported, "second": exported})
    emptied = edge.transform({"forward": [Emptying()]})
    assert emptied.methods == edge.methods
    x = np.ones((2, 3), np.float32)
    found = [run(program.to_executorch(), x, method="second")[0] for program in (edge, emptied)]
    np.testing.assert_array_equal(*found)
