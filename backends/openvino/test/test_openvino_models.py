"""Models compiled for OpenVINO: right in every engine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
import torch
from device_models import CASES, Case, Tensors

from flambeau.compiler.edge_program import EdgeProgramManager, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import run_payload
from flambeau.runtime import Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret

pytest.importorskip("openvino")
TOLERANCE = 1e-4
"""The largest difference, in units of the largest value."""


@dataclass
class Journey:
    """A model on its way, and what PyTorch makes of each call."""

    case: Case
    expected: list[Any]
    edge: EdgeProgramManager
    program: bytes


@pytest.fixture(scope="module", params=["mobilenet_v2"])
def journey(request: pytest.FixtureRequest) -> Journey:
    """One at a time: each goes before the next one comes."""
    gc.collect()  # the IR of the one before refers to itself
    cast(Any, torch).manual_seed(0)
    case = CASES[request.param]()
    with torch.no_grad():
        expected = [case.module(*call).numpy() for call in case.calls]
    edge = to_edge(case.export())
    return Journey(case, expected, edge, bytes(edge.to_backend("openvino").to_executorch().buffer))


def check(journey: Journey, run: Callable[[list[Any]], Any]) -> None:
    for call, expected in zip(journey.case.calls, journey.expected, strict=True):
        found = np.asarray(run(arrays(call))[0])
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


def arrays(call: Tensors) -> list[Any]:
    return [tensor.numpy() for tensor in call]


def test_converted_partitions_run_by_numpy(journey: Journey):
    converted = journey.edge.transform("partition{backends=openvino},convert-partitions,cse")
    check(journey, lambda inputs: interpret(converted.module, converted.context).run("forward", inputs))


def test_decoded_payloads_run_by_numpy(journey: Journey):
    context = FlambeauContext()
    interpreted = interpret(read_pte(journey.program, context), context, run_payload)
    check(journey, lambda inputs: interpreted.run("forward", inputs))


def test_the_library_runs_it_through_the_c_runtime(journey: Journey):
    check(journey, Runtime.get().load_program(journey.program).load_method("forward").execute)
