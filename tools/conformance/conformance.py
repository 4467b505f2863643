"""The suite: judges a backend by its table, its passes and its payloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flambeau.dialects.text.module_text import write_module
from flambeau.passes.delegation.options import find_choice
from flambeau.passes.manager.grammar import Element, parse
from flambeau.tools.conformance.conformance_report import OperatorResult, Report
from flambeau.tools.conformance.graph_drawing import draw_graph
from flambeau.tools.conformance.graph_trial import Outcome, Trial
from flambeau.tools.conformance.operator_choices import operators_of

GRAPHS = 200


@dataclass(frozen=True)
class ConformanceOptions:
    """What the suite tries."""

    seed: int = 0
    """That of the first graph; each other one has the next."""
    graphs: int = GRAPHS
    size: int | None = None
    """The most operators of a graph; None: of several sizes."""
    keep: Path | None = None
    """The folder for graphs that fail."""


def judge(backend: str, options: ConformanceOptions, tell: Callable[[Report], None] = lambda report: None) -> Report:
    """Judges a backend, named as on command lines. Raises BackendError when there is none. `tell` gets what was found so far."""
    given, choice = _from_one_operator_on(backend), find_choice(_from_one_operator_on(backend))
    report = Report(backend, options.seed)
    operators, untried = operators_of(choice.table)
    report.operators = {name: OperatorResult(untried=why) for name, why in untried.items()}
    report.operators |= {operator.name: OperatorResult() for operator in operators}
    trial = Trial(given, choice)
    for seed in range(options.seed, options.seed + options.graphs) if operators else ():
        graph = draw_graph(choice.table, operators, seed, options.size)
        if graph is None:
            continue
        outcome = trial.run(graph)
        report.add(outcome)
        if outcome.failure is not None and options.keep is not None:
            _keep(outcome, options.keep / f"{choice.backend.name}-{seed}.mlir")
        tell(report)
    return report


def _from_one_operator_on(backend: str) -> str:
    """The backend with the option that it takes single operators too, unless the user says how many."""
    name, brace, options = backend.partition("{")
    if any(option.key == "least" for element in parse(backend).elements if isinstance(element, Element) for option in element.options):
        return backend
    return f"{name}{{least=1,{options}" if brace else f"{name}{{least=1}}"


def _keep(outcome: Outcome, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_module(outcome.graph.module, outcome.graph.context, path)
