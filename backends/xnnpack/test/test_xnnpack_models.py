"""Models compiled for XNNPACK: right in every engine, and in no more calls than ExecuTorch's own flow makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from device_models import CASES, HALF_CASES, Journey, Tensors, arrays, start_journey
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from shares import drawn

from flambeau.backends.xnnpack.payload import read_payload
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import DelegateCall, read_program

peer: Any = executorch_runtime
NO_NODE = "the backend has no such operator"
MASK = "a tensor is of i1, and its kernel takes f32, f16"
INTEGER = "a tensor is of i64, and its kernel takes f32, f16"
LOOKUP = ("edge.embedding", NO_NODE)
CONVERSIONS = {("edge._to_copy", MASK), ("edge._to_copy", INTEGER)}
MASKS = ("index.Tensor", "bitwise_and.Tensor", "any.dim", "logical_not", "logical_or")
COMPUTED_MASKS = (*MASKS, "arange.start_step", "ne.Scalar", "cumsum", "eq.Tensor", "le.Tensor")
INDICES = ("view_copy", "slice_copy.Tensor", "add.Scalar", "sub.Scalar", "sub.Tensor", "cat")

LEFT: dict[str, set[tuple[str, str]]] = {
    "gpt2": {LOOKUP},
    "llama": {LOOKUP},
    "lstm_classifier": {LOOKUP},
    "minilm": {
        LOOKUP,
        *CONVERSIONS,
        *((f"edge.{name}", NO_NODE) for name in MASKS),
        ("edge.where.self", MASK),
        ("edge.view_copy", INTEGER),
    },
    "llama of any length": {
        LOOKUP,
        *CONVERSIONS,
        ("edge.where.self", MASK),
        ("edge.view_copy", "the run decides more than one of its sizes"),
        *((f"edge.{name}", INTEGER) for name in INDICES),
        *((f"edge.{name}", NO_NODE) for name in COMPUTED_MASKS),
    },
}
"""The operators that stay of a model, with the reasons."""

TRANSPOSES = {"mobilenet_v2": 1, "mobilenet_v3": 1, "mobilenet_v3, images of any number": 1, "resnet18": 1, "ds_cnn": 0}
"""How many transposes a network of images has: that of the image, unless it has one channel."""


@pytest.fixture(scope="module", params=drawn(sorted(CASES | HALF_CASES), parts=3))
def journey(request: pytest.FixtureRequest) -> Journey:
    """One at a time: each goes before the next one comes."""
    return start_journey(request.param, "xnnpack")


def calls(program: bytes) -> int:
    return sum(isinstance(item, DelegateCall) for item in read_program(program).execution_plan[0].chains[0].instructions)


def test_numpy_runs_what_is_converted_and_what_is_decoded(journey: Journey):
    journey.check_by_numpy()


def test_the_c_runtime_runs_it(journey: Journey):
    method = Runtime.get().load_program(journey.program).load_method("forward")
    journey.check(lambda call: method.execute(arrays(call)))


def test_stock_executorch_runs_it(journey: Journey):
    program = peer.Runtime.get().load_program(journey.program, verification=peer.Verification.InternalConsistency)
    method = program.load_method("forward")
    journey.check(lambda call: method.execute(list(call)))


def test_what_stays_has_a_reason(journey: Journey):
    assert set(journey.edge.survey("xnnpack").refused) == LEFT.get(journey.name, set())


beside_stock = pytest.mark.parametrize("journey", drawn(sorted(CASES | HALF_CASES), parts=6), indirect=True)


@pytest.fixture(scope="module")
def stock(journey: Journey) -> bytes:
    """The program that ExecuTorch's own flow makes of the model."""
    lowered: Any = to_edge_transform_and_lower(journey.case.export(), partitioner=[XnnpackPartitioner()])
    return bytes(lowered.to_executorch().buffer)


@beside_stock
def test_it_takes_no_more_calls_than_executorch_makes_of_it(journey: Journey, stock: bytes):
    assert 1 <= calls(journey.program) <= calls(stock)


def check_stock(journey: Journey, stock: bytes, run: Callable[[Tensors], Any]) -> None:
    """As `journey.check`, of ExecuTorch's program, unless ExecuTorch cannot run it either."""
    if journey.case.is_dynamic_in_executorch:
        journey.check(run)
        return
    method = peer.Runtime.get().load_program(stock).load_method("forward")
    with pytest.raises(RuntimeError):
        method.execute(list(journey.case.calls[-1]))
    with pytest.raises((ValueError, FlambeauError), match=r"shape|dimension 0 is 9"):
        run(journey.case.calls[-1])


@beside_stock
def test_numpy_runs_the_payloads_of_executorch(journey: Journey, stock: bytes):
    context = FlambeauContext()
    interpreted = interpret(read_pte(stock, context), context, run_payload)
    check_stock(journey, stock, lambda call: interpreted.run("forward", arrays(call)))


@beside_stock
def test_the_payloads_of_executorch_are_disassembled(journey: Journey, stock: bytes):
    context = FlambeauContext()
    module = read_pte(stock, context)
    Pipeline.parse("disassemble-payloads").run(module, context)
    partitions = {op.sym_name.data: len(op.body.block.args) for op in module.walk() if isinstance(op, PartitionOp)}
    found = [op for op in module.walk() if isinstance(op, DelegateCallOp)]
    assert [partitions[op.delegate.string_value()] for op in found] == [len(op.ins) for op in found] != []


@beside_stock
def test_the_c_runtime_runs_the_payloads_of_executorch(journey: Journey, stock: bytes):
    method = Runtime.get().load_program(stock).load_method("forward")
    check_stock(journey, stock, lambda call: method.execute(arrays(call)))


@pytest.mark.parametrize("journey", TRANSPOSES, indirect=True)
def test_images_are_transposed_once(journey: Journey):
    delegates = read_program(journey.program).execution_plan[0].delegates
    nodes = [type(node.xnode_union).__name__ for item in delegates for node in read_payload(item.processed)[0].xnodes]
    assert nodes.count("static_transpose") == TRANSPOSES[journey.name]
