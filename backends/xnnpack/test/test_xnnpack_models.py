"""Models compiled for XNNPACK: right in every engine, and in no more calls than ExecuTorch's own flow makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from memory import free_memory

from flambeau.backends.xnnpack.test.xnnpack_models import CASES, Case, Tensors
from flambeau.compiler.edge_program import EdgeProgramManager, to_edge
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import DelegateCall, read_program

peer: Any = executorch_runtime
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 4e-3}
"""The largest difference, in units of the largest value: in float16, some steps of its precision."""


@dataclass
class Journey:
    """A model on its way, and what PyTorch makes of each call."""

    case: Case
    expected: list[Any]
    edge: EdgeProgramManager
    program: bytes


@pytest.fixture(scope="module", params=sorted(CASES))
def journey(request: pytest.FixtureRequest) -> Journey:
    """One at a time: each goes before the next one comes."""
    free_memory()
    cast(Any, torch).manual_seed(0)
    case = CASES[request.param]()
    with torch.no_grad():
        expected = [case.module(*call).numpy() for call in case.calls]
    edge = to_edge(case.export())
    return Journey(case, expected, edge, bytes(edge.to_backend("xnnpack").to_executorch().buffer))


def check(journey: Journey, run: Callable[[Tensors], Any]) -> None:
    for call, expected in zip(journey.case.calls, journey.expected, strict=True):
        found = np.asarray(run(call)[0])
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        wide, right = found.astype(np.float64), expected.astype(np.float64)
        assert np.abs(wide - right).max() <= TOLERANCE[expected.dtype] * np.abs(right).max()


def arrays(call: Tensors) -> list[Any]:
    return [tensor.numpy() for tensor in call]


def calls(program: bytes) -> int:
    return sum(isinstance(item, DelegateCall) for item in read_program(program).execution_plan[0].chains[0].instructions)


def test_the_converted_partitions_run_by_numpy(journey: Journey):
    converted = journey.edge.transform("partition{backends=xnnpack},convert-partitions,cse")
    interpreted = interpret(converted.module, converted.context)
    check(journey, lambda call: interpreted.run("forward", arrays(call)))


def test_the_decoded_payloads_run_by_numpy(journey: Journey):
    context = FlambeauContext()
    interpreted = interpret(read_pte(journey.program, context), context, run_payload)
    check(journey, lambda call: interpreted.run("forward", arrays(call)))


def test_the_c_runtime_runs_it(journey: Journey):
    method = Runtime.get().load_program(journey.program).load_method("forward")
    check(journey, lambda call: method.execute(arrays(call)))


def test_stock_executorch_runs_it(journey: Journey):
    program = peer.Runtime.get().load_program(journey.program, verification=peer.Verification.InternalConsistency)
    method = program.load_method("forward")
    check(journey, lambda call: method.execute(list(call)))


def test_what_stays_has_a_reason(journey: Journey):
    assert set(journey.edge.survey("xnnpack").refused) == journey.case.left


@pytest.fixture(scope="module")
def stock(journey: Journey) -> bytes:
    """The program that ExecuTorch's own flow makes of the model."""
    lowered: Any = to_edge_transform_and_lower(journey.case.export(), partitioner=[XnnpackPartitioner()])
    return bytes(lowered.to_executorch().buffer)


def test_it_takes_no_more_calls_than_executorch_makes_of_it(journey: Journey, stock: bytes):
    assert 1 <= calls(journey.program) <= calls(stock)


def check_stock(journey: Journey, stock: bytes, run: Callable[[Tensors], Any]) -> None:
    """As `check`, of ExecuTorch's program, unless ExecuTorch cannot run it either."""
    if journey.case.is_dynamic_in_executorch:
        check(journey, run)
        return
    method = peer.Runtime.get().load_program(stock).load_method("forward")
    with pytest.raises(RuntimeError):
        method.execute(list(journey.case.calls[-1]))
    with pytest.raises((ValueError, FlambeauError), match=r"shape|dimension 0 is 9"):
        run(journey.case.calls[-1])


def test_numpy_runs_the_payloads_of_executorch(journey: Journey, stock: bytes):
    context = FlambeauContext()
    interpreted = interpret(read_pte(stock, context), context, run_payload)
    check_stock(journey, stock, lambda call: interpreted.run("forward", arrays(call)))


def test_the_payloads_of_executorch_are_disassembled(journey: Journey, stock: bytes):
    context = FlambeauContext()
    module = read_pte(stock, context)
    Pipeline.parse("disassemble-payloads").run(module, context)
    partitions = {op.sym_name.data: len(op.body.block.args) for op in module.walk() if isinstance(op, PartitionOp)}
    found = [op for op in module.walk() if isinstance(op, DelegateCallOp)]
    assert [partitions[op.delegate.string_value()] for op in found] == [len(op.ins) for op in found] != []


def test_the_c_runtime_runs_the_payloads_of_executorch(journey: Journey, stock: bytes):
    method = Runtime.get().load_program(stock).load_method("forward")
    check_stock(journey, stock, lambda call: method.execute(arrays(call)))
