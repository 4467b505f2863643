"""Results of the suite: a table of operators, and the failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from flambeau.tools.conformance.graph_trial import Failure, Outcome

_MOST_REASONS = 3
"""The number of reasons of one operator that the table shows."""


@dataclass
class OperatorResult:
    """The result for one operator of the table."""

    ok: int = 0
    """The number of graphs with this operator in which all checks passed."""
    failed: int = 0
    tried: int = 0
    """The number of graphs in which the backend took it."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """The number of times that the table, or the backend's compiler, refused the drawn operator, by reason."""
    untried: str | None = None
    """Why no sample of the operator was tried; None if some was."""


@dataclass
class Report:
    """The results of the suite for a backend."""

    backend: str
    seed: int
    graphs: int = 0
    """The number of graphs that were tried."""
    passed: Counter[str] = field(default_factory=Counter[str])
    """The number of graphs that passed a check, by check."""
    checks: list[str] = field(default_factory=list[str])
    """The passed checks among those that are made once per backend."""
    absent: dict[str, str] = field(default_factory=dict[str, str])
    """The reason why each unavailable engine is absent, by engine."""
    partitions: int = 0
    payloads: Counter[str] = field(default_factory=Counter[str])
    """The number of payloads by their state, and the tool that made them, in words."""
    operators: dict[str, OperatorResult] = field(default_factory=dict[str, OperatorResult])
    failures: list[Failure] = field(default_factory=list[Failure])
    notes: list[str] = field(default_factory=list[str])
    """Possible improvements, and omitted checks."""

    def add(self, outcome: Outcome) -> None:
        """Adds the result of a graph."""
        self.graphs += 1
        self.partitions += outcome.partitions
        self.payloads.update(outcome.origins)
        for name, why in outcome.absent.items():
            self.absent.setdefault(name, why)
        for (name, reason), count in (outcome.refused + outcome.given_back).items():
            self.operators[name].refused[reason] += count
        failure = outcome.failure
        back = {name for name, _ in outcome.given_back}
        for name in outcome.operators:
            self.operators[name].tried += 1
            self.operators[name].ok += failure is None and name not in back
            self.operators[name].failed += failure is not None and name in failure.operators
        self.passed.update(outcome.passed)
        if failure is not None:
            self.failures.append(failure)

    def never_tried(self) -> dict[str, str]:
        """Returns the operators that were in no graph as ones of the backend, with a reason of the table for refusing them.

        Those without samples, and those that a failure names already, are left out.
        """
        named = {name for failure in self.failures for name in failure.operators}
        others = {name: result for name, result in self.operators.items() if name not in named and result.untried is None}
        found = {name: result.refused for name, result in others.items() if not result.tried}
        return {name: max(refused, key=refused.__getitem__, default="no sample of it can be drawn") for name, refused in found.items()}

    def data(self) -> dict[str, Any]:
        """Returns the report, for JSON."""
        operators = {name: vars(result) for name, result in self.operators.items()}
        return {**vars(self), "operators": operators, "failures": [vars(failure) for failure in self.failures]}

    def table(self) -> Table:
        """Returns the operators with their results, failures first."""
        table = Table("operator", "ok", "refused", "failed", "why refused, why untried", box=None, header_style="bold")
        for name, result in sorted(self.operators.items(), key=lambda item: (-item[1].failed, item[0])):
            reasons = [reason for reason, _ in result.refused.most_common()]
            why = "; ".join(reasons[:_MOST_REASONS]) + ("; …" if len(reasons) > _MOST_REASONS else "")
            table.add_row(name, str(result.ok), str(result.refused.total()), str(result.failed), result.untried or why)
        return table
