"""What stock ExecuTorch's own flow writes, without delegates, runs on our C runtime; and our arenas are no larger than its."""

from __future__ import annotations

import pytest
import torch
from engines import TOLERANCE, distance, run_c, travel
from executorch.exir import to_edge

from flambeau.compiler.memory_report import memory_reports
from flambeau.runtime.pte import read_program


@pytest.fixture(scope="module", params=["minilm", "mobilenet_v2"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def theirs(name: str) -> bytes:
    journey = travel(name, "executorch")
    return bytes(to_edge(torch.export.export(journey.module, journey.inputs)).to_executorch().buffer)


def test_their_program_runs_on_our_runtime(name: str, theirs: bytes) -> None:
    journey = travel(name, "executorch")
    assert distance(run_c(theirs, journey.arrays), journey.expected) <= TOLERANCE


def test_ours_takes_no_more_memory_or_space(name: str, theirs: bytes) -> None:
    journey = travel(name, "executorch")
    arenas = read_program(theirs).execution_plan[0].non_const_buffer_sizes
    assert sum(memory_reports(journey.stages["planned"], journey.context)["forward"].arenas) <= sum(arenas)
    assert len(journey.program) <= len(theirs)
