"""The backend end to end: from a model to the C runtime and the interpreter, against PyTorch."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from flambeau.backends.elementwise.legality import table
from flambeau.compiler.edge_program import EdgeCompileConfig, EdgeProgramManager, to_edge
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendError, BackendOptions
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import PassError, Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.runtime.pte import read_program

GENERATOR = torch.Generator().manual_seed(3)


class Mixed(torch.nn.Module):
    """Two runs of elementwise operators around a product, a constant number and a weight among their operands."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)
        self.scale = torch.nn.Parameter(torch.rand(4, 6))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = torch.relu(x + y) * self.scale
        b = self.linear(a)
        return torch.sigmoid(b - a) * 0.5 + a, torch.maximum(a, -y)


class Every(torch.nn.Module):
    """Every operation of a payload at least once."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        positive = (x.abs() + 0.5).log().exp().sqrt()
        z = torch.minimum(positive.rsqrt(), positive.reciprocal()) / positive
        return torch.tanh(torch.maximum(x - y, z) * 1.5 + torch.sigmoid(-y)) + torch.relu(x)


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 6, generator=GENERATOR), torch.randn(4, 6, generator=GENERATOR)


def exported(model: torch.nn.Module, *args: torch.Tensor) -> EdgeProgramManager:
    return to_edge(torch.export.export(model.eval(), args))


def arrays(values: tuple[torch.Tensor, ...]) -> list[Any]:
    return [value.numpy() for value in values]


def same(actual: Any, expected: torch.Tensor | tuple[torch.Tensor, ...]) -> None:
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(actual) == len(wanted)
    for found, value in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(found, value.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", [Mixed, Every])
@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_every_engine_computes_what_pytorch_does(model: type[torch.nn.Module], target: str):
    x = inputs()
    module = model().eval()
    expected = module(*x)
    edge = to_edge(torch.export.export(module, x), compile_config=EdgeCompileConfig(target=target)).to_backend("elementwise")
    same(interpret(edge.module, edge.context, run_payload).run("forward", arrays(x)), expected)
    program = edge.to_executorch()
    same(interpret(program.module, program.context, run_payload).run("forward", arrays(x)), expected)
    loaded = Runtime.get().load_program(program.buffer).load_method("forward")
    same(loaded.execute(arrays(x)), expected)
    context = FlambeauContext()
    again = read_pte(program.buffer, context)
    same(interpret(again, context, run_payload).run("forward", arrays(x)), expected)


def test_what_the_backend_does_not_take_stays_between_two_partitions():
    edge = exported(Mixed(), *inputs())
    assert str(edge.survey("elementwise")).splitlines()[0] == "elementwise takes 9 of 10 operators in 2 partitions"
    assert "the backend has no such operator" in str(edge.survey("elementwise"))
    delegated = edge.to_backend("elementwise")
    assert sum(isinstance(op, PayloadOp) for op in delegated.module.body.block.ops) == 2
    program = read_program(delegated.to_executorch().buffer)
    assert [delegate.id for delegate in program.execution_plan[0].delegates] == ["FlambeauElementwise"] * 2
    assert "FlambeauElementwise" not in str(edge), "to_backend leaves the program as it is"


def test_everything_may_be_delegated():
    x = inputs()
    edge = exported(Every(), *x).to_backend("elementwise")
    assert edge.survey("elementwise").num_non_delegated_nodes == 0
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    same(method.execute(arrays(x)), Every()(*x))


def test_partitions_run_before_they_are_lowered():
    x = inputs()
    module = Mixed().eval()
    edge = exported(module, *x).transform("partition{backends=elementwise}")
    assert any(isinstance(op, PartitionOp) for op in edge.module.body.block.ops)
    same(interpret(edge.module, edge.context).run("forward", arrays(x)), module(*x))
    with pytest.raises(PassError, match="run lower-partitions first"):
        edge.transform("edge-to-exec")


def test_long_runs_are_cut_and_stay_in_order():
    class Long(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            for step in range(100):
                x, y = y - x * 0.5, torch.tanh(x + step * 0.01)
            return x + y

    x = inputs()
    edge = exported(Long(), *x).to_backend("elementwise")
    payloads = [op for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]
    assert len(payloads) == -(-401 // table(BackendOptions()).most)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    same(method.execute(arrays(x)), Long()(*x))


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (63,), (64,), (65,), (5, 129)])
def test_sizes_around_the_block(shape: tuple[int, ...]):
    class Run(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + x) - 0.25

    x = torch.randn(shape, generator=GENERATOR)
    edge = exported(Run(), x).to_backend("elementwise")
    assert any(isinstance(op, PayloadOp) for op in edge.module.body.block.ops)
    same(Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute([x.numpy()]), Run()(x))


def test_nan_and_infinity_go_through():
    class Extremes(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            z = x + 0.0
            return torch.maximum(z, y), torch.minimum(z, y), torch.relu(z), torch.sigmoid(z), z.log(), z.rsqrt(), z * 1e300

    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -1.0, 100.0, -100.0])
    x = (values.repeat(7), values.repeat_interleave(7))
    edge = exported(Extremes(), *x).to_backend("elementwise")
    program = edge.to_executorch().buffer
    expected = Extremes()(*x)
    same(Runtime.get().load_program(program).load_method("forward").execute(arrays(x)), expected)
    same(interpret(edge.module, edge.context, run_payload).run("forward", arrays(x)), expected)


def test_an_unknown_backend_is_one_line_that_lists_those_that_exist():
    edge = exported(Mixed(), *inputs())
    for ask in (edge.to_backend, edge.survey):
        with pytest.raises(BackendError, match=r"^there is no backend 'nobody'; there are .*elementwise[^\n]*$"):
            ask("nobody")
    with pytest.raises(PassError, match="no backend is named"):
        Pipeline.parse("partition").run(edge.module.clone(), edge.context)


def test_a_delegate_needs_someone_who_runs_it():
    x = inputs()
    edge = exported(Mixed(), *x).to_backend("elementwise")
    with pytest.raises(InterpreterError, match="was given no backends"):
        interpret(edge.module, edge.context).run("forward", arrays(x))


def test_a_damaged_payload_is_refused_when_the_method_is_loaded():
    program = exported(Mixed(), *inputs()).to_backend("elementwise").to_executorch().buffer
    place = program.index(b"FLEW")
    damaged = bytearray(program)
    damaged[place + 4] = 9
    message = re.escape("backend 'FlambeauElementwise' refuses it: its payload is of another version")
    with pytest.raises(FlambeauError, match=message) as caught:
        Runtime.get().load_program(bytes(damaged)).load_method("forward")
    assert caught.value.status.name == "DELEGATE_INCOMPATIBLE"


def test_the_memory_report_counts_what_delegates_take():
    program = exported(Mixed(), *inputs()).to_backend("elementwise").to_executorch()
    report = program.memory["forward"]
    assert report.delegates
    assert report.total == Runtime.get().load_program(program.buffer).metadata().memory.total


def test_the_runtime_refuses_options():
    data = to_edge(torch.export.export(torch.nn.ReLU(), (torch.rand(3),))).to_backend("elementwise{least=1}").to_executorch().buffer
    with pytest.raises(FlambeauError, match=r"backend 'elementwise' has no option '\w+'; it has none$"):
        Runtime.get().load_program(data, backend_options={"elementwise": {"threads": 2}})
