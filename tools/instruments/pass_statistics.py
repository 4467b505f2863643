"""Statistics of passes: their counters, their rewrites, and the change in the number of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.rewriting.actions import Action

JSON_VERSION = 1
"""The version of the form that `PassStatistics.to_json` gives."""


@dataclass(eq=False)
class PassRecord:
    """The statistics of one pass of a pipeline, over all operations that it ran on."""

    pass_: ModulePass
    path: tuple[str, ...]
    """The anchors of the pipelines that contain the pass, outermost first."""
    runs: int = 0
    failures: int = 0
    counters: Counter[str] = field(default_factory=Counter[str])
    attempts: Counter[str] = field(default_factory=Counter[str])
    """The number of attempts of each pattern, by name."""
    applied: Counter[str] = field(default_factory=Counter[str])
    """The number of rewrites of each pattern; rewrites outside of patterns are under the name of the pass."""
    before: Counter[str] = field(default_factory=Counter[str])
    """The number of operations before the pass inside of the operation that it ran on, by name."""
    after: Counter[str] = field(default_factory=Counter[str])

    def changes(self) -> dict[str, int]:
        """Returns the change in the number of operations of each name, largest first."""
        differences = {name: self.after[name] - self.before[name] for name in self.before | self.after}
        return {name: n for name, n in sorted(differences.items(), key=lambda item: (-abs(item[1]), item[0])) if n}


class PassStatistics(Instrumentation):
    """An instrumentation that gathers a record for each pass, in the order of their first runs."""

    def __init__(self) -> None:
        # Keyed by the identity of the pass, because equal passes may be in a pipeline twice.
        self._records: dict[tuple[tuple[int, ...], int], PassRecord] = {}
        self._current: PassRecord | None = None

    @property
    def records(self) -> tuple[PassRecord, ...]:
        """The statistics of each pass."""
        return tuple(self._records.values())

    def before_pass(self, step: PassStep) -> None:
        """Counts operations."""
        record = self._records.setdefault((step.position, id(step.pass_)), PassRecord(step.pass_, step.path))
        record.before.update(_operations(step.op))
        self._current = record

    def after_pass(self, step: PassStep) -> None:
        """Counts operations again."""
        self._finish(step)

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Counts the work of a pass before it failed, as after a success."""
        self._finish(step).failures += 1

    def after_action(self, action: Action, changed: bool) -> None:
        """Counts the attempt."""
        if self._current is None or action.kind == "analysis":
            return
        if action.kind == "pattern":
            self._current.attempts[action.name] += 1
        if changed:
            self._current.applied[action.name] += 1

    def _finish(self, step: PassStep) -> PassRecord:
        record = self._records[step.position, id(step.pass_)]
        record.runs += 1
        record.counters.update(step.counters)
        record.after.update(_operations(step.op))
        self._current = None
        return record

    def to_json(self) -> dict[str, Any]:
        """Returns the records for programs."""
        return {
            "version": JSON_VERSION,
            "passes": [
                {
                    "pass": record.pass_.name,
                    "path": list(record.path),
                    "runs": record.runs,
                    "failures": record.failures,
                    "counters": dict(record.counters),
                    "rewrites": {
                        name: {"applied": record.applied[name]} | ({"attempts": record.attempts[name]} if name in record.attempts else {})
                        for name in record.applied | record.attempts
                    },
                    "operations": {
                        "before": record.before.total(),
                        "after": record.after.total(),
                        "changes": record.changes(),
                    },
                }
                for record in self.records
            ],
        }

    def report(self, display: Literal["pipeline", "list"] = "pipeline") -> str:
        """Returns the records as text: a paragraph for each place in the pipeline, or for all runs of one pass together, sorted by name."""
        lines: list[str] = []
        for record in self.records if display == "pipeline" else _by_name(self.records):
            place = "" if len(record.path) == 1 else f" on {record.path[-1]}"
            runs = [f"{record.runs} runs"] if record.runs != 1 else []
            failed = [f"{record.failures} failed" if record.runs != 1 else "failed"] if record.failures else []
            lines.append(f"{record.pass_.name}{place}{', '.join(['', *runs, *failed])}")
            lines.append(f"  operations: {_change_of(record)}")
            tried = sorted(record.attempts | record.applied, key=lambda name: (-record.applied[name], name))
            if tried:
                lines.append(f"  rewrites: {', '.join(_rewrites_of(record, name) for name in tried)}")
            if record.counters:
                lines.append(f"  counters: {', '.join(f'{name} {count:,}' for name, count in sorted(record.counters.items()))}")
        return "".join(f"{line}\n" for line in lines)


def _by_name(records: Sequence[PassRecord]) -> list[PassRecord]:
    """Returns one record for each pass and kind of operation that it ran on."""
    merged: dict[tuple[str, str], PassRecord] = {}
    for record in records:
        total = merged.setdefault((record.pass_.name, record.path[-1]), PassRecord(record.pass_, record.path))
        total.runs += record.runs
        total.failures += record.failures
        total.counters.update(record.counters)
        total.attempts.update(record.attempts)
        total.applied.update(record.applied)
        total.before.update(record.before)
        total.after.update(record.after)
    return [merged[key] for key in sorted(merged)]


def _operations(op: Operation) -> Counter[str]:
    return Counter(inner.name for inner in op.walk() if inner is not op)


def _change_of(record: PassRecord) -> str:
    before, after = record.before.total(), record.after.total()
    changes = ", ".join(f"{number:+,} {name}" for name, number in record.changes().items())
    if not changes:
        return f"{before:,}, as before"
    return f"{before:,} -> {after:,} ({changes})"


def _rewrites_of(record: PassRecord, name: str) -> str:
    of = f" of {record.attempts[name]:,}" if name in record.attempts else ""
    return f"{name} {record.applied[name]:,}{of}"
