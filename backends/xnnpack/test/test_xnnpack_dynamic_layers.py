"""Linear layers whose inputs each run quantizes: integers in one call, and the numbers of stock ExecuTorch and of the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from quantized_programs import ops
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import flambeau
from flambeau.backends.xnnpack.dialect.quantization import RoundRowsNodeOp
from flambeau.backends.xnnpack.payload import QDINT8, PerTokenDynamicQuant, QuantizedTensorValue, read_payload, write_payload
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import DelegateCall, read_program, write_program
from flambeau.support.lazy import Array

peer: Any = executorch_runtime
INT8 = (-128, 127, torch.int8)
Recipe = Callable[[nn.Module, tuple[Tensor, ...]], Any]


class Shared(nn.Module):
    """Two layers of one input, with a bias and without; a limit, and what a float computes between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 48), nn.Linear(64, 48, bias=False), nn.Linear(48, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x).relu() * self.second(x).sigmoid())


class Tokens(nn.Module):
    """The same, each input of a layer quantized row by row."""

    def __init__(self, inner: Shared):
        super().__init__()
        self.inner = inner

    def layer(self, layer: nn.Linear, x: Tensor) -> Tensor:
        """Returns linear(dequantize(quantize(x)), dequantize(weight), bias)."""
        scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
        x = ops.dequantize_per_token(ops.quantize_per_token(x, scale, zero, *INT8), scale, zero, *INT8, torch.float32)
        scales = layer.weight.abs().amax(1) / 127
        weight = (layer.weight / scales[:, None]).round().to(torch.int8)
        return nn.functional.linear(x, ops.dequantize_per_channel(weight, scales, None, 0, *INT8), layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        first, second = (self.layer(layer, x) for layer in (self.inner.first, self.inner.second))
        return self.layer(self.inner.last, first.relu() * second.sigmoid())


def by_tokens(module: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    """The program of `Tokens`."""
    assert isinstance(module, Shared)
    return torch.export.export(Tokens(module).eval(), inputs)


def by_recipe(module: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    """The program of `flambeau quantize --recipe int8-dynamic`."""
    return flambeau.quantize((module, inputs), None, "int8-dynamic").program


def by_pt2e(module: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    """The program of PT2E with one scale for each weight."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=False, is_dynamic=True))
    prepared: Any = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


RECIPES: Mapping[str, Recipe] = {"recipe": by_recipe, "pt2e": by_pt2e, "tokens": by_tokens}
SHAPES = ((4, 64), (64,), (2, 1, 3, 64))


@cache
def program_of(recipe: str, shape: tuple[int, ...]) -> tuple[Any, bytes, Tensor]:
    """A quantized program, as Flambeau compiles it for the backend, and an input whose rows have different ranges."""
    seed()
    x = torch.randn(shape)
    x = x * torch.arange(1, x.numel() // 64 + 1).reshape(*shape[:-1], 1) + 1
    quantized = RECIPES[recipe](Shared().eval(), (x,))
    return quantized, bytes(flambeau.to_edge(quantized).to_backend("xnnpack").to_executorch().buffer), x


def stock(program: bytes, x: Tensor) -> Array:
    return peer.Runtime.get().load_program(program).load_method("forward").execute([x])[0].numpy().copy()


def here(program: bytes, x: Tensor) -> Array:
    return np.array(Runtime.get().load_program(program).load_method("forward").execute([x.numpy()])[0])


def by_numpy(program: bytes, x: Tensor) -> Array:
    context = FlambeauContext()
    return np.asarray(interpret(read_pte(program, context), context, run_payload).run("forward", [x.numpy()])[0])


def nodes_of(program: bytes) -> Counter[str]:
    plan = read_program(program).execution_plan[0]
    assert [type(item) for item in plan.chains[0].instructions] == [DelegateCall]
    return Counter(type(node.xnode_union).__name__ for node in read_payload(plan.delegates[0].processed)[0].xnodes)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_engines_compute_the_same(recipe: str, shape: tuple[int, ...]):
    quantized, program, x = program_of(recipe, shape)
    assert nodes_of(program) == {"convert": 2, "fully_connected": 3, "multiply": 1, "sigmoid": 1}
    found, expected = stock(program, x), quantized.module()(x).detach().numpy()
    assert np.array_equal(here(program, x), found)
    # The sums of each node are rounded otherwise here; a number at the border of two steps may round to the other one.
    largest = np.abs(found).max()
    assert np.abs(by_numpy(program, x) - found).max() <= 0.01 * largest
    assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_what_executorch_makes_of_it(shape: tuple[int, ...]):
    quantized, program, x = program_of("recipe", shape)
    lowered: Any = to_edge_transform_and_lower(quantized, partitioner=[XnnpackPartitioner()])
    theirs = bytes(lowered.to_executorch().buffer)
    expected = stock(theirs, x)
    assert np.array_equal(stock(program, x), expected)
    assert np.array_equal(here(theirs, x), expected)
    assert np.abs(by_numpy(theirs, x) - expected).max() <= 0.01 * np.abs(expected).max()


def test_rows_are_rounded_as_xnnpack_rounds_them():
    """The product with the unit matrix gives the rounded numbers, to the last bit."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(64, 16, generator=generator) * torch.logspace(-30, 30, 64)[:, None] + torch.randn(64, 1, generator=generator)
    rows[0], rows[1], rows[2] = 0, 3, -3
    layer = nn.Linear(16, 16, bias=False).eval()
    layer.weight.data = torch.eye(16) * 127
    program = bytes(flambeau.to_edge(by_recipe(layer, (rows,))).to_backend("xnnpack").to_executorch().buffer)
    found, expected = here(program, rows) / np.float32(127), RoundRowsNodeOp.numpy(1, rows.numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)
    assert np.array_equal(stock(program, rows), here(program, rows))


def test_sizes_that_only_the_run_knows():
    seed()
    x = torch.randn(5, 64)
    exported = torch.export.export(Shared().eval(), (x,), dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=9)},))
    quantized = flambeau.quantize(exported, [(x,)], "int8-dynamic").program
    program = bytes(flambeau.to_edge(quantized).to_backend("xnnpack").to_executorch().buffer)
    ours = Runtime.get().load_program(program).load_method("forward")
    theirs = peer.Runtime.get().load_program(program).load_method("forward")
    for rows in (5, 1, 9, 2):
        x = torch.randn(rows, 64)
        (found,) = ours.execute([x.numpy()])
        assert np.array_equal(np.asarray(found), theirs.execute([x])[0].numpy())
        expected = quantized.module()(x).detach().numpy()
        assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()


def test_what_quantizes_for_a_layer_that_stays_stays():
    quantized, _, x = program_of("recipe", (4, 64))
    edge = flambeau.to_edge(quantized)
    program = bytes(edge.to_backend("xnnpack", no_delegate=["last"]).to_executorch().buffer)
    expected = quantized.module()(x).detach().numpy()
    assert np.abs(here(program, x) - expected).max() <= 0.05 * np.abs(expected).max()


def changed(number: int, fields: Mapping[str, Any], meaning: Any) -> bytes:
    """The program for which a value of the payload has other fields, or other parameters."""
    program = read_program(program_of("recipe", (4, 64))[1])
    plan = program.execution_plan[0]
    graph = read_payload(plan.delegates[0].processed)[0]
    values: list[Any] = list(graph.xvalues)
    tensor = replace(values[number].tensor_value, **fields)
    values[number] = replace(values[number], tensor_value=tensor, quant_params=meaning or values[number].quant_params)
    payload = memoryview(write_payload(replace(graph, xvalues=tuple(values))))
    plans = (replace(plan, delegates=(replace(plan.delegates[0], processed=payload),)),)
    return b"".join(write_program(replace(program, execution_plan=plans)))


def numbers(is_dynamic: bool) -> list[int]:
    """The quantized values of the payload: those that a run quantizes, or the weights."""
    graph = read_payload(read_program(program_of("recipe", (4, 64))[1]).execution_plan[0].delegates[0].processed)[0]
    values = [value for value in graph.xvalues if isinstance(value, QuantizedTensorValue)]
    tensors = [value.tensor_value for value in values]
    return [tensor.id_out for tensor in tensors if tensor is not None and (tensor.datatype == QDINT8) == is_dynamic]


DAMAGES: list[tuple[bool, Mapping[str, Any], Any, str, str]] = [
    (True, {}, PerTokenDynamicQuant(0), "has 1 to 2 dimensions, not 0", "has rows of 0 of its 2 dimensions"),
    (True, {}, PerTokenDynamicQuant(3), "has 1 to 2 dimensions, not 3", "has rows of 3 of its 2 dimensions"),
    (True, {}, PerTokenDynamicQuant(2), "does not take it with what else it reads", "is of a type that it does not take"),
    (True, {"datatype": 3}, None, "is of datatype 3 with PerTokenDynamicQuant", "is of type qint8 with quantization 3"),
    (True, {"constant_buffer_idx": 1}, None, "is quantized in each run, and an argument or a constant", "an argument or a constant"),
    (True, {"flags": 1, "external_id": 0}, None, "two values are argument 0", "an argument or a constant"),
    (False, {"datatype": QDINT8}, None, "is of datatype 9 with PerChannelQuant", "an argument or a constant"),
]


@pytest.mark.parametrize(("is_dynamic", "fields", "meaning", "in_python", "in_c"), DAMAGES)
def test_damaged_payloads_are_refused(is_dynamic: bool, fields: Mapping[str, Any], meaning: Any, in_python: str, in_c: str):
    program = changed(numbers(is_dynamic)[0], fields, meaning)
    context = FlambeauContext()
    with pytest.raises(ValueError, match=f"XNNPACK payload: .*{re.escape(in_python)}"):
        interpret(read_pte(program, context), context, run_payload).run("forward", [np.zeros((4, 64), np.float32)])
    with pytest.raises(FlambeauError, match=re.escape(in_c)):
        Runtime.get().load_program(program).load_method("forward")


def test_a_damaged_program_is_refused_or_runs(run_changed: Callable[[list[bytes], int], list[int]]):
    assert sum(run_changed([program_of("recipe", (4, 64))[1]], 500)) == 500
