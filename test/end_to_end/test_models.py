"""Every model: PyTorch, numpy at each level, the C runtime and stock ExecuTorch agree; no stage loses anything when it is written down."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from all_engines import EMITTED, TARGETS
from engines import TOLERANCE, Journey, distance, run_c, run_executorch, run_numpy
from models import MODELS
from shares import dealt

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import memory_reports
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_module, write_module
from flambeau.frontends.torch_export import export_module
from flambeau.frontends.torch_export.evaluate import run_leaves
from flambeau.passes.manager.pipeline_options import PipelineOptions


def journeys(each: Iterable[tuple[str, str]]) -> pytest.MarkDecorator:
    """The journeys of models to targets; the tests of one run after each other."""
    return pytest.mark.parametrize("journey", [(target, model) for model, target in each], ids="-".join, indirect=True)


every_model = journeys(dealt(MODELS, TARGETS))
small = journeys(product(("digits_cnn", "lstm_classifier"), TARGETS))


@every_model
def test_every_engine_agrees_with_pytorch(journey: Journey) -> None:
    outputs = {stage: run_numpy(journey, stage) for stage in ("core", "edge", "exec", "planned")}
    outputs["aten"] = run_leaves(journey.stages["aten"], journey.context, journey.inputs)[0].numpy()
    outputs["c"] = run_c(journey.program, journey.arrays)
    emitted = compile_module(journey.stages["planned"], journey.context, journey.program, cache_dir=EMITTED).load_method("forward")
    assert emitted.execute(journey.arrays)[0].tobytes() == outputs["c"].tobytes()
    if journey.target == "executorch":
        outputs["stock ExecuTorch"] = run_executorch(journey.program, journey.inputs)
    distances = {engine: distance(output, journey.expected) for engine, output in outputs.items()}
    assert max(distances.values()) <= TOLERANCE, distances


@small
def test_every_stage_is_read_back_and_resumed(journey: Journey, tmp_path: Path) -> None:
    for stage, module in journey.stages.items():
        path = tmp_path / f"{stage}.mlir"
        write_module(module, journey.context, path)
        context = FlambeauContext()
        read = read_module(path, context).module
        assert equivalent(read, module), stage
        assert Compilation(read, context, PipelineOptions(target=journey.target)).emit() == journey.program, stage
        path.with_suffix(".safetensors").unlink()


@every_model
def test_two_compilations_give_the_same_bytes(journey: Journey) -> None:
    context = FlambeauContext()
    again = Compilation(export_module(journey.module, journey.inputs, context), context, PipelineOptions(target=journey.target))
    assert again.emit() == journey.program


@every_model
def test_the_plan_reaches_its_lower_bound(journey: Journey) -> None:
    report = memory_reports(journey.stages["planned"], journey.context)["forward"]
    assert report.lower_bound is not None
    assert report.lower_bound <= sum(report.arenas) <= 1.05 * report.lower_bound
