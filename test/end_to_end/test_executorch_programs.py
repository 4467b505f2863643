"""What stock ExecuTorch's own flow writes, without delegates, runs on our C runtime; and our arenas are no larger than its."""

from __future__ import annotations

import pytest
import torch
from engines import TOLERANCE, Journey, distance, run_c
from executorch.exir import to_edge

from flambeau.compiler.memory_report import memory_reports
from flambeau.runtime.pte import read_program

MODELS = pytest.mark.parametrize("journey", [("executorch", "minilm"), ("executorch", "mobilenet_v2")], ids="-".join, indirect=True)


@pytest.fixture(scope="module")
def theirs(journey: Journey) -> bytes:
    return bytes(to_edge(torch.export.export(journey.module, journey.inputs)).to_executorch().buffer)


@MODELS
def test_their_program_runs_on_our_runtime(journey: Journey, theirs: bytes) -> None:
    assert distance(run_c(theirs, journey.arrays), journey.expected) <= TOLERANCE


@MODELS
def test_ours_takes_no_more_memory_or_space(journey: Journey, theirs: bytes) -> None:
    arenas = read_program(theirs).execution_plan[0].non_const_buffer_sizes
    assert sum(memory_reports(journey.stages["planned"], journey.context)["forward"].arenas) <= sum(arenas)
    assert len(journey.program) <= len(theirs)
