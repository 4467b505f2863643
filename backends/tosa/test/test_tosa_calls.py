"""Operators between integers: within a step of their floats, and bit for bit what Arm's reference model gives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from mlir_tools import graphs_of, validated
from payload_judges import Comparison
from quantized_calls import CALLS, QuantizedCall, QuantizedCalls
from quantized_layers import QuantizedLayer, QuantizedPool, QuantizedProduct, QuantizedSum
from reference_model import reference_model
from suite.vendor_tools import installed
from xdsl.dialects.builtin import i8, i16

from flambeau import EdgeProgramManager, get_delegation_info, to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret

OF_BYTES = ("softmax", "log_softmax", "layer_norm", "group_norm")
PROGRAMS = [(torch.int8, 0), (torch.int8, 1), (torch.int16, 0)]
"""The types of the integers of programs, and the number of each of their calls."""
ELEMENTS = {torch.int8: i8, torch.int16: i16}
BACKENDS = {torch.int8: "tosa", torch.int16: "tosa{activations=int16}"}


@cache
def lowered(dtype: torch.dtype, number: int) -> tuple[QuantizedCalls, EdgeProgramManager]:
    """A call of each kind, and layers, and their program."""
    kinds = [kind for kind in CALLS if dtype == torch.int8 or kind not in OF_BYTES]
    layers = (QuantizedLayer(29, dtype), QuantizedPool(2, dtype), QuantizedSum(number, dtype), QuantizedProduct(number, dtype))
    module = QuantizedCalls([*(QuantizedCall(kind, number, dtype) for kind in kinds), *layers])
    return module, to_edge_transform_and_lower(torch.export.export(module, module.inputs), partitioner=[BACKENDS[dtype]])


@pytest.mark.parametrize(("dtype", "number"), PROGRAMS)
def test_each_call_is_within_a_step_of_its_floats(dtype: torch.dtype, number: int) -> None:
    module, edge = lowered(dtype, number)
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in module.inputs])
    wanted = [item.detach().numpy() for item in module.integers(*module.inputs)]
    parts = np.split(np.asarray(found), np.cumsum([len(item) for item in wanted])[:-1])
    steps = [float(np.abs(a - b).max()) for a, b in zip(parts, wanted, strict=True)]
    assert max(steps) <= 1, steps


@pytest.mark.parametrize(("dtype", "number"), PROGRAMS)
def test_integers_cross_the_border_of_one_graph(dtype: torch.dtype, number: int) -> None:
    _, edge = lowered(dtype, number)
    (payload,) = (op for op in edge.module.body.block.ops if isinstance(op, PayloadOp))
    kind = payload.function_type
    assert kind is not None and {element_of(item) for item in (*kind.inputs, *kind.outputs)} == {ELEMENTS[dtype]}
    assert {name.partition(".")[0] for name, _ in get_delegation_info(edge).refused} == {"quantized_decomposed"}


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_each_call(tool: str) -> None:
    programs = [lowered(*item)[1] for item in PROGRAMS]
    validated(tool, "int", {f"calls{index}": graph for index, edge in enumerate(programs) for graph in graphs_of(edge)})


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_gives_the_same_integers(python: str) -> None:
    comparison = Comparison(reference_model(python))
    for module, edge in (lowered(*item) for item in PROGRAMS):
        interpret(edge.module, edge.context, comparison).run("forward", [item.numpy() for item in module.inputs])
    assert comparison.compared.total() == len(PROGRAMS) and not comparison.different
