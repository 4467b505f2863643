"""The suite: judges a backend by its table, its passes and its payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from flambeau.dialects.text.module_text import write_module
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.conformance.conformance_report import OperatorResult, Report
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.drawing.operator_choices import Operator, operators_of
from flambeau.tools.conformance.drawing.quantized_drawing import storages_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph, seeds_from
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.graph_trial import Failure, Outcome, Trial
from flambeau.tools.conformance.single_checks import SINGLE_CHECKS

GRAPHS = 200
RUNTIME = "C runtime"
MEMORY = 32 << 30
"""The bytes of addresses that the process of our runtime may have: bad payloads may ask for any number, and libraries for many."""


@dataclass(frozen=True)
class ConformanceOptions:
    """The options of the suite."""

    seed: int = 0
    """The seed of the first graph; each later graph has the next number."""
    graphs: int = GRAPHS
    quantized: bool = False
    """Whether to draw quantized graphs only."""
    size: int | None = None
    """The largest number of operators in a graph; None for graphs of several sizes."""
    keep: Path | None = None
    """The folder to write failing graphs to; None to write none."""
    engines: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further engines by name: `package.module:name` or `file.py:name` of a function that loads a program."""


def judge(backend: str, options: ConformanceOptions, tell: Callable[[Report], None] = lambda report: None) -> Report:
    """Judges a backend, named as on the command line. `tell` receives the report after each graph. Raises BackendError if unknown."""
    partitioner = _from_one_operator_on(Partitioner.judged(backend))
    report = Report(backend, options.seed)
    operators, untried = operators_of(partitioner.table)
    report.operators = {name: OperatorResult(untried=why) for name, why in untried.items()}
    report.operators |= {operator.name: OperatorResult() for operator in operators}
    with ExitStack() as stack:
        runtime = stack.enter_context(EngineProcess(RUNTIME, "flambeau.tools.conformance.c_engine:load", MEMORY))
        others = [stack.enter_context(EngineProcess(name, place)) for name, place in options.engines.items()]
        trial = Trial(partitioner, runtime, others)
        report.absent = trial.absent
        kinds = 2 if storages_of(partitioner.table) else 1
        if kinds == 1:
            report.notes.append("quantized graphs: skipped, because the table does not quantize and dequantize int8 or uint8 per tensor")
        _try_graphs(trial, operators, options, report, tell)
        # Quantized numbers are drawn in quantized graphs only.
        drawn = [operator for operator in operators if kinds > 1 or not operator.name.startswith("quantized_decomposed.")]
        untried = {operator.name: why for operator in drawn if (why := report.never_tried().get(operator.name)) is not None}
        if not options.quantized and options.graphs >= kinds * len(operators) and untried:
            details = "; ".join(f"{name}: {why}" for name, why in untried.items())
            report.failures.append(Failure("every operator is tried", f"never tried: {details}", operators=tuple(untried)))
        for name, why in trial.refusals.items():
            if not any(check.startswith(name) for check in report.passed):
                report.failures.append(Failure(name, f"it runs nothing: {why}"))
        for name, check in SINGLE_CHECKS.items():
            try:
                notes = check(trial)
            except Disagreement as error:
                report.failures.append(Failure(name, str(error)))
                continue
            if notes is not None:
                report.checks.append(name)
                report.notes += notes
    return report


def _try_graphs(
    trial: Trial, operators: Sequence[Operator], options: ConformanceOptions, report: Report, tell: Callable[[Report], None]
) -> None:
    table = trial.partitioner.table
    for seed in seeds_from(options.seed, options.graphs, table, options.quantized) if operators else ():
        graph = draw_graph(table, operators, seed, options.size)
        if graph is None:
            continue
        outcome = trial.run(graph)
        report.add(outcome)
        if outcome.failure is not None and options.keep is not None:
            _keep(outcome, options.keep / f"{trial.partitioner.backend.name}-{seed}.mlir")
        tell(report)


def _from_one_operator_on(partitioner: Partitioner) -> Partitioner:
    """Returns the backend with the option to take single operators too, unless the user gave another number than its own."""
    is_own = partitioner.options.least == partitioner.backend.options.least
    return partitioner.with_options(least=1) if is_own else partitioner


def _keep(outcome: Outcome, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_module(outcome.graph.module, outcome.graph.context, path)
