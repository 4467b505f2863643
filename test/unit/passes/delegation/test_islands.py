"""A dequantization belongs to its reader, so that integers cross the borders of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from quantized_programs import quantized_by_pt2e
from torch import nn
from torch_programs import seed
from xdsl.dialects.builtin import f32, i8
from xdsl.dialects.func import FuncOp

from flambeau import to_edge
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import Backend, BackendOptions, Encoded, one_by_one, register_backend
from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.runtime.interpreter import interpret
from flambeau.support.tables import declared_by

FLOATS, INTEGERS = "tensor<4xf32>", "tensor<4xi8>"
LINES = {
    "dq": "quantized_decomposed.dequantize_per_tensor({}) {{scale = 0.05, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8}}",
    "q": "quantized_decomposed.quantize_per_tensor({}) {{scale = 0.05, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8}}",
    "tanh": "edge.tanh({})",
    "cos": "edge.cos({})",
    "add": "edge.add.Tensor({}, {}) {{alpha = 1}}",
}
TANH_OF_X = ["a = dq x", "b = tanh a", "c = q b", "d = dq c"]
CASES: dict[str, tuple[Sequence[str], str, int]] = {
    "a residual around an operator of the CPU": ([*TANH_OF_X, "e = cos d", "f = q e", "g = dq f", "h = add d g", "i = q h"], "i", 2),
    "a value that both read": ([*TANH_OF_X, "e = tanh d", "f = q e", "g = cos d"], "f g", 1),
    "two results": ([*TANH_OF_X, "e = tanh d", "f = q e", "g = dq f", "h = cos d", "i = cos g"], "h i", 1),
    "one that two read": ([*TANH_OF_X, "e = tanh d", "f = q e", "g = tanh d", "h = q g", "i = dq h", "j = cos i"], "f j", 1),
}

LAYER = Rule(constants=("weight", "bias"), dequantized=("weight",))
TABLE = OperatorTable({}, Limit(dtypes=(f32,)), integers={**dict.fromkeys(("tanh", "add.Tensor", "relu"), Rule()), "convolution": LAYER})


@pytest.fixture
def integers() -> Iterator[Partitioner]:
    """A backend that computes in integers only."""
    encode = one_by_one(lambda partition, constants, options: Encoded(b""))
    with declared_by("a test") as registered:
        register_backend(Backend("integers", "IntegersBackend", TABLE, encode, options=BackendOptions))
    yield Partitioner("integers")
    for item in registered:
        item.undo()


def text_of(lines: Sequence[str], results: str) -> str:
    """A function of int8 `x`, in which each line is a name, and an operator with its operands."""
    types, body = {"x": INTEGERS}, list[str]()
    for line in lines:
        name, _, operator, *operands = line.split()
        types[name] = INTEGERS if operator == "q" else FLOATS
        call = LINES[operator].format(*(f"%{operand}" for operand in operands))
        body.append(f"  %{name} = {call} : ({', '.join(types[operand] for operand in operands)}) -> {types[name]}")
    names = results.split()
    kinds = ", ".join(types[name] for name in names)
    body.append(f"  func.return {', '.join(f'%{name}' for name in names)} : {kinds}")
    return f"func.func @forward(%x: {INTEGERS}) -> ({kinds}) {{\n" + "\n".join(body) + "\n}"


@pytest.mark.parametrize("name", CASES)
def test_integers_cross_the_borders(name: str, integers: Partitioner) -> None:
    lines, results, count = CASES[name]
    context = FlambeauContext()
    module = parse_module(text_of(lines, results), context).module
    x = np.array([-128, -3, 40, 127], np.int8)
    expected = interpret(module.clone(), context).run("forward", [x])
    before = sum(isinstance(op, DequantizePerTensorOp) for op in module.walk())
    PartitionPass(backends=(integers,)).apply(context, module)
    verify_module(module)
    partitions = [op for op in module.body.block.ops if isinstance(op, PartitionOp)]
    assert len(partitions) == count
    for partition in partitions:
        kind = partition.function_type
        assert {element_of(item) for item in (*kind.inputs, *kind.outputs)} == {i8}
    # No operation of the CPU is there twice, nor of a partition.
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    for around in (function, *partitions):
        read = [op.operands[0] for op in around.walk() if isinstance(op, DequantizePerTensorOp)]
        assert len(read) == len(set(read))
    assert sum(isinstance(op, DequantizePerTensorOp) for op in module.walk()) <= before + 1
    for found, wanted in zip(interpret(module, context).run("forward", [x]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kept", ["quantize_per_tensor", "dequantize_per_tensor", "tanh"])
def test_a_part_that_stays_keeps_the_others(kept: str, integers: Partitioner) -> None:
    context = FlambeauContext()
    module = parse_module(text_of(TANH_OF_X[:3], "c"), context).module
    PartitionPass(backends=(integers,), no_delegate=(kept,)).apply(context, module)
    assert not any(isinstance(op, PartitionOp) for op in module.walk())


class Residual(nn.Module):
    """A residual block, in whose middle may be an operator that the backend lacks."""

    def __init__(self, middle: bool):
        super().__init__()
        self.middle = middle
        self.first, self.second, self.last = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The last convolution of the sum of two paths."""
        x = torch.relu(self.first(x))
        y = self.second(x)
        return self.last(torch.relu(x + (torch.sin(y) if self.middle else y)))


@pytest.mark.parametrize("middle", [False, True])
def test_a_residual_network_is_as_many_partitions_as_it_must_be(middle: bool, integers: Partitioner) -> None:
    seed()
    x = torch.randn(1, 2, 3, 3)
    program = quantized_by_pt2e(Residual(middle), x)
    cut = to_edge(program).transform([PartitionPass(backends=(integers,))])
    partitions = [op for op in cut.module.body.block.ops if isinstance(op, PartitionOp)]
    assert len(partitions) == 1 + middle
    for partition in partitions:
        assert {element_of(item) for item in (*partition.function_type.inputs, *partition.function_type.outputs)} == {i8}
    (found,) = interpret(cut.module, cut.context).run("forward", [x.numpy()])
    np.testing.assert_allclose(np.asarray(found), cast(Any, program.module())(x).detach(), atol=1e-5)
