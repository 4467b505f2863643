"""Every pass of ours has modules for the benchmark, works on them, and does no more than linear work."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import FrameType

import pytest
from opt_modules import CASES, Problem, problems

from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.manager.registry import own_pass_names, pipelines
from flambeau.tools.instruments.ir_printing import ChangePrinting
from flambeau.tools.instruments.pass_statistics import PassStatistics
from flambeau.tools.instruments.stage_dump import StageDump
from flambeau.tools.instruments.timing import Timer

SMALL, LARGE = 30, 120


def test_every_pass_of_the_road_has_modules_of_its_own() -> None:
    passes = pipelines()["compile"](PipelineOptions(target="flambeau", backends=(Partitioner("elementwise"),)))
    assert {item.name for item in passes} - set(CASES) == set()


ALL = [problem for name in own_pass_names() for problem in problems(name)]


@contextmanager
def counting_calls(counts: list[int]) -> Generator[None]:
    """Appends how many functions were called within the block: what a pass does, on every machine the same."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
    counts.append(calls)


@pytest.mark.parametrize("problem", ALL, ids=str)
def test_a_pass_makes_no_more_calls_than_its_input_is_larger(problem: Problem) -> None:
    counts: list[int] = []
    has_work = (
        problem.case is CASES.get(problem.name, (None,))[0] and problem.step is problem.case.steps[0] and problem.name != "verify-plan"
    )
    # The first run fills what is remembered between runs.
    for size in (SMALL, SMALL, LARGE):
        module, context = problem.module(size)
        before = print_module(module) if has_work and size == LARGE else ""
        pipeline = problem.pipeline()
        with counting_calls(counts):
            pipeline.run(module, context, verify_each=False)
    verify_module(module)
    assert not has_work or print_module(module) != before, "the pass has nothing to do"
    assert counts[2] <= 5 * counts[1]


def functions(count: int) -> str:
    kind = "tensor<2xf32>"
    return "\n".join(
        f"func.func @f{index}(%x: {kind}) -> {kind} {{\n  %0 = core.relu(%x) : ({kind}) -> {kind}\n  func.return %0 : {kind}\n}}"
        for index in range(count)
    )


def test_a_nested_pipeline_costs_each_function_the_same(tmp_path: Path) -> None:
    pipeline = Pipeline.parse("func.func(cse,canonicalize)")
    counts: list[int] = []
    for count in (10, 10, 80):
        context = FlambeauContext()
        module = parse_module(functions(count), context).module
        watchers = [StageDump(tmp_path / str(len(counts))), ChangePrinting(StringIO(), "diff"), PassStatistics(), Timer()]
        with counting_calls(counts):
            pipeline.run(module, context, watchers)
    assert counts[2] <= 10 * counts[1]
