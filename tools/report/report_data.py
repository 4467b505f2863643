"""The contents of a report: a part for each tab of the page, each gathered on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import memory_reports, methods_of
from flambeau.compiler.program_profile import profile_program
from flambeau.compiler.program_size import SIZE_BY, program_sizes
from flambeau.compiler.stages import STAGES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError
from flambeau.runtime.interpreter import Leaf
from flambeau.tools.commands.engines import make_engine
from flambeau.tools.commands.program_description import describe_program
from flambeau.tools.instruments.partition_report import PartitionReport
from flambeau.tools.profiling.latency import latencies
from flambeau.tools.profiling.machine import machine_name, measure_machine
from flambeau.tools.profiling.profile_report import profile_data
from flambeau.tools.report.memory_chart import memory_chart
from flambeau.tools.report.program_graph import ProgramGraph, program_graph
from flambeau.tools.report.source_excerpts import kernel_excerpt, model_excerpt
from flambeau.tools.report.stage_recorder import StageRecorder
from flambeau.tools.semantics.numeric_errors import EAGER, compare_values, rounding_noise, run_device, run_eager, run_stage, usual_reference
from flambeau.tools.semantics.result_comparison import SemanticsOptions

Part = dict[str, Any]
"""A part of the report as JSON; `missing` says why a part could not be gathered."""


NO_BACKEND = "no backend took part, so the kernels of the target run every operator; --backend NAME hands operators to a backend"


@dataclass(frozen=True)
class Subject:
    """The program that a report is about.

    Attributes:
        source: the module as it was read, at any stage; it is not changed.
        context: its weights.
        method: the method that runs and whose graph is shown.
        road: the target, the backends and other options of the passes.
        data: the bytes of the program if it was read from a `.pte`.
    """

    source: ModuleOp
    context: FlambeauContext
    method: str
    road: PipelineOptions
    data: bytes | None = None


@dataclass(frozen=True)
class Lowered:
    """A compiled program, with a record of the compilation.

    Attributes:
        planned: the module at the last stage.
        data: the bytes of the `.pte`.
        graphs: the text and the graph of each stage.
        stages: the part of the report about them.
        partitions: the part of the report about backends.
    """

    planned: ModuleOp
    data: bytes
    graphs: Mapping[str, ProgramGraph]
    stages: Part
    partitions: Part


def lower(subject: Subject, tell: Callable[[str], object]) -> Lowered:
    """Compiles the program and records each stage, after telling its name. Raises PassError, StageError, EmitError."""
    recorder, partitions = StageRecorder(), PartitionReport()
    compilation = Compilation(subject.source.clone(), subject.context, subject.road, instrumentations=(recorder, partitions))
    graphs: dict[str, ProgramGraph] = {}
    stages: list[Part] = []
    for stage in STAGES[STAGES.index(compilation.stage) :]:
        tell(f"stage {stage}")
        done = len(recorder.steps)
        compilation.to(stage)
        graphs[stage] = graph = program_graph(compilation.module, subject.method)
        record = compilation.records[-1]
        stages.append(
            {
                "name": stage,
                "operations": record.operations,
                "text": graph.text.splitlines(),
                "nodes": list(map(asdict, graph.nodes)),
                "steps": list(map(asdict, recorder.steps[done:])),
            }
        )
    data = compilation.emit() if subject.data is None else subject.data
    rows: Part = {"rows": partitions.data()}
    return Lowered(compilation.module, data, graphs, {"stages": stages}, rows if rows["rows"] else {"missing": NO_BACKEND})


def gather(
    subject: Subject, lowered: Lowered, inputs: Sequence[Leaf], options: SemanticsOptions, iterations: int, tell: Callable[[str], object]
) -> dict[str, Part]:
    """Returns the parts of a report by name, each after telling its name. A part that cannot be made has the reason under `missing`."""
    makers: dict[str, Callable[[], Part]] = {
        "stages": lambda: lowered.stages,
        "memory": lambda: _memory(subject, lowered),
        "profile": lambda: _profile(subject, lowered, inputs, iterations),
        "pytorch": lambda: _beside_pytorch(subject, lowered, inputs, iterations),
        "numerics": lambda: _numerics(subject, lowered, inputs, options),
        "sizes": lambda: _sizes(lowered),
        "partitions": lambda: lowered.partitions,
        "overview": lambda: _overview(subject, lowered),
        "sources": lambda: _sources(lowered),
    }
    found: dict[str, Part] = {}
    for number, (name, make) in enumerate(makers.items(), 1):
        tell(f"{name} ({number} of {len(makers)})")
        found[name] = _part(make)
    return found


def _part(make: Callable[[], Part]) -> Part:
    try:
        return make()
    except (ValueError, FlambeauError, OSError, MemoryError) as error:
        return {"missing": str(error) or type(error).__name__}


def _memory(subject: Subject, lowered: Lowered) -> Part:
    method = methods_of(lowered.planned)[subject.method]
    report = memory_reports(lowered.planned, subject.context)[subject.method]
    graph = lowered.graphs[STAGES[-1]]
    chart = memory_chart(method, graph.operations, graph.names)
    return {**asdict(chart), "report": vars(report) | {"total": report.total}}


def _profile(subject: Subject, lowered: Lowered, inputs: Sequence[Leaf], iterations: int) -> Part:
    profile = profile_program(lowered.data, lambda: _fresh(inputs), method=subject.method, iterations=iterations)
    machine = measure_machine()
    steps = methods_of(lowered.planned)[subject.method].steps
    nodes = lowered.graphs[STAGES[-1]].operations
    data = profile_data(profile, "instruction", machine)
    for row in data["rows"]:
        number: int = row["instruction"]
        row["node"] = nodes.get(steps[number]) if row["chain"] == 0 and number < len(steps) else None
    data["modules"] = profile_data(profile, "module", machine)["rows"]
    data["operators"] = profile_data(profile, "operator", machine)["rows"]
    return data


def _beside_pytorch(subject: Subject, lowered: Lowered, inputs: Sequence[Leaf], iterations: int) -> Part:
    """Returns the latencies of the program and of PyTorch, which runs the same operators; both are called from Python, in turns."""
    reference = usual_reference(subject.source, subject.method)
    if reference != EAGER:
        return {"missing": f"PyTorch does not run a program of the stage {reference} here"}
    from flambeau.frontends.torch_export.evaluate import AtenProgram, runner_of, thread_count

    eager = runner_of(AtenProgram(subject.source, subject.context), subject.method)
    ours = make_engine("c", lowered.planned, subject.context, subject.method, lowered.data)
    here, there = latencies([(lambda: _fresh(inputs), ours), (lambda: _fresh(inputs), eager)], iterations)
    return {"flambeau_ns": here * 1e6, "pytorch_ns": there * 1e6, "threads": thread_count()}


def _numerics(subject: Subject, lowered: Lowered, inputs: Sequence[Leaf], options: SemanticsOptions) -> Part:
    reference = usual_reference(subject.source, subject.method)
    against = EAGER if reference == EAGER else f"the interpreter at stage {reference}"
    run = run_eager if reference == EAGER else run_stage
    expected = run(subject.source, subject.context, subject.method, inputs)
    found = run_device(lowered.planned, subject.context, subject.method, inputs)
    numerics = compare_values(expected, found, options, rounding_noise(subject.source, subject.context, subject.method, inputs))
    first = numerics.first_bad
    nodes = lowered.graphs[STAGES[-1]].operations
    rows = [{**error.data(), "node": nodes.get(error.op)} for error in numerics.errors]
    return {"against": against, "rows": rows, "unmatched": numerics.unmatched, "first_bad": None if first is None else str(first)}


def _sizes(lowered: Lowered) -> Part:
    return {
        "bytes": len(lowered.data),
        **{by: [{**vars(row), "bytes": row.bytes} for row in program_sizes(lowered.data, by)] for by in SIZE_BY},
    }


def _overview(subject: Subject, lowered: Lowered) -> Part:
    found = describe_program(lowered.planned, subject.context)
    return {
        "machine": machine_name(),
        "date": str(date.today()),
        "target": subject.road.target,
        "backends": [str(choice) for choice in subject.road.backends],
        "method": found["methods"][subject.method],
        "methods": list(found["methods"]),
        "weight_bytes": found["weight_bytes"],
        "delegates": found["delegates"],
    }


def _sources(lowered: Lowered) -> Part:
    """Returns the excerpts that the panel of an operator shows: of the model by `file:line`, of kernels by operator."""
    nodes = [node for graph in lowered.graphs.values() for node in graph.nodes]
    lines = dict.fromkeys(node.line for node in nodes if node.line is not None)
    model = {f"{file}:{line}": found for file, line in lines if (found := model_excerpt(file, line)) is not None}
    kernels = {name: found for name in dict.fromkeys(node.operator for node in nodes) if (found := kernel_excerpt(name)) is not None}
    return {"model": {key: asdict(item) for key, item in model.items()}, "kernels": {key: asdict(item) for key, item in kernels.items()}}


def _fresh(inputs: Sequence[Leaf]) -> list[Leaf]:
    return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in inputs]
