"""Operators between integers: within steps of their floats, and bit for bit what Arm's reference model gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest
import torch
from mlir_tools import graphs_of, validated
from quantized_calls import CALLS, QuantizedCall
from reference_model import reference_model
from suite.vendor_tools import installed

from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array

NUMBERS = range(2)


@cache
def lowered(kind: str, number: int) -> tuple[QuantizedCall, EdgeProgramManager]:
    layer = QuantizedCall(kind, number)
    edge = to_edge_transform_and_lower(torch.export.export(layer, layer.inputs), partitioner=["tosa"])
    assert len(graphs_of(edge)) == 1
    return layer, edge


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_is_within_a_step_of_its_floats(kind: str) -> None:
    for number in NUMBERS:
        layer, edge = lowered(kind, number)
        inputs = [item.numpy() for item in layer.inputs]
        (found,) = interpret(edge.module, edge.context, run_payload).run("forward", inputs)
        wanted = layer(*layer.inputs).detach().numpy()
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=1.01 * layer.output_scale)


@pytest.mark.parametrize("tool", installed("tosa-tools", "tosa-opt"))
def test_tosa_opt_takes_each_call(tool: str) -> None:
    layers = [lowered(kind, number) for kind in CALLS for number in NUMBERS]
    validated(tool, "int", {f"call{index}": graph for index, (_, edge) in enumerate(layers) for graph in graphs_of(edge)})


@pytest.mark.parametrize("python", installed("tosa-tools"))
def test_the_reference_model_gives_the_same_integers(python: str) -> None:
    model, compared = reference_model(python), list[str]()

    def both(identifier: str, data: memoryview, named: Mapping[str, memoryview], arrays: Sequence[Array], outputs: bool) -> Sequence[Array]:
        expected = run_payload(identifier, data, named, arrays, outputs)
        for a, b in zip(expected, model.run(bytes(data), arrays), strict=True):
            np.testing.assert_array_equal(a, b, f"{kind} {number}")
        compared.append(kind)
        return expected

    for kind in CALLS:
        for number in NUMBERS:
            layer, edge = lowered(kind, number)
            interpret(edge.module, edge.context, both).run("forward", [item.numpy() for item in layer.inputs])
    assert set(compared) == set(CALLS)
