"""The suite: judges a backend by its table, its passes and its payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Self

from flambeau.dialects.text.module_text import write_module
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.conformance.conformance_report import OperatorResult, Report
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.drawing.graph import Graph
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.quantized_drawing import storages_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph, seeds_from
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.graph_trial import Failure, Outcome, Trial
from flambeau.tools.conformance.single_checks import SINGLE_CHECKS
from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import Here, in_order

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


class _Judge:
    """Tries graphs of a backend by their seeds. Sent to another process, it is made again there, once, with engines of its own."""

    def __init__(self, backend: str, engines: Sequence[tuple[str, str]]):
        self._made_of = backend, tuple(engines)
        self.partitioner = _from_one_operator_on(Partitioner.judged(backend))
        self.operators, self.untried = operators_of(self.partitioner.table)
        self._engines = [EngineProcess(RUNTIME, "flambeau.tools.conformance.c_engine:load", MEMORY), *starmap(EngineProcess, engines)]
        self.trial = Trial(self.partitioner, self._engines[0], self._engines[1:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for engine in self._engines:
            engine.end()

    def __reduce__(self) -> tuple[Callable[..., _Judge], tuple[object, ...]]:
        return _judge_of_this_process, self._made_of

    def graph(self, seed: int, size: int | None) -> Graph | None:
        """Draws a graph."""
        return draw_graph(self.partitioner.table, self.operators, seed, size)

    def outcome(self, size: int | None, seed: int) -> Outcome | None:
        """Tries a graph; None if nothing fits."""
        graph = self.graph(seed, size)
        return None if graph is None else self.trial.run(graph)


@cache
def _judge_of_this_process(backend: str, engines: Sequence[tuple[str, str]]) -> _Judge:
    return _Judge(backend, engines)


def judge(
    backend: str,
    options: ConformanceOptions,
    tell: Callable[[Report], None] = lambda report: None,
    executor: Executor | None = None,
) -> Report:
    """Judges a backend, named as on the command line. `tell` receives the report after each graph. Raises BackendError if unknown.

    The executor tries the graphs; None tries them here. The report does not depend on it.
    """
    with _Judge(backend, tuple(options.engines.items())) as judging:
        trial, operators = judging.trial, judging.operators
        table = trial.partitioner.table
        report = Report(backend, options.seed)
        report.operators = {name: OperatorResult(untried=why) for name, why in judging.untried.items()}
        report.operators |= {operator.name: OperatorResult() for operator in operators}
        kinds = 2 if storages_of(table) else 1
        if kinds == 1:
            report.notes.append("quantized graphs: skipped, because the table does not quantize and dequantize int8 or uint8 per tensor")
        refusals = _try_graphs(judging, options, report, tell, executor or Here())
        # Quantized numbers are drawn in quantized graphs only.
        drawn = [operator for operator in operators if kinds > 1 or not operator.name.startswith("quantized_decomposed.")]
        untried = {operator.name: why for operator in drawn if (why := report.never_tried().get(operator.name)) is not None}
        if not options.quantized and options.graphs >= kinds * len(operators) and untried:
            details = "; ".join(f"{name}: {why}" for name, why in untried.items())
            report.failures.append(Failure("every operator is tried", f"never tried: {details}", operators=tuple(untried)))
        for name, why in refusals.items():
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
    judging: _Judge, options: ConformanceOptions, report: Report, tell: Callable[[Report], None], executor: Executor
) -> dict[str, str]:
    """Adds the outcomes of all graphs to the report. Returns by engine why it did not run the first graph that it did not run."""
    backend, refusals = judging.partitioner.backend.name, dict[str, str]()
    seeds = seeds_from(options.seed, options.graphs, judging.partitioner.table, options.quantized) if judging.operators else ()
    example: int | None = None
    for seed, future in in_order(executor, partial(judging.outcome, options.size), seeds):
        try:
            outcome = future.result()
        except LostProcessError as error:
            report.graphs += 1
            report.failures.append(Failure("the process that tries the graph", str(error), seed))
            continue
        if outcome is None:
            continue
        report.add(outcome)
        refusals = outcome.refusals | refusals
        if outcome.is_example and example is None:
            example = seed
        if outcome.failure is not None and options.keep is not None and (graph := judging.graph(seed, options.size)) is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            write_module(graph.module, graph.context, options.keep / f"{backend}-{seed}.mlir")
        tell(report)
    if example is not None and judging.trial.example is None:
        judging.outcome(options.size, example)  # in this process too, for the checks that follow
    return refusals


def _from_one_operator_on(partitioner: Partitioner) -> Partitioner:
    """Returns the backend with the option to take single operators too, unless the user gave another number than its own."""
    is_own = partitioner.options.least == partitioner.backend.options.least
    return partitioner.with_options(least=1) if is_own else partitioner
