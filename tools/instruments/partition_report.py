"""A report of the operators that backends took and left: a table for the user, and data for programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.report import DelegationRow
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep


class PartitionReport(Instrumentation):
    """An instrumentation that gathers the report of each `partition` of a pipeline."""

    def __init__(self) -> None:
        self.rows: list[DelegationRow] = []

    def after_pass(self, step: PassStep) -> None:
        """Adds the report of the pass."""
        if isinstance(step.pass_, PartitionPass):
            self.rows += step.pass_.report(step.module, step.context).rows

    def table(self) -> Table:
        """Returns the rows, with their sums by place."""
        table = Table("operator", "backend", "count", "MFLOP", "kB", "reason", box=None, header_style="bold")
        for row in self.rows:
            table.add_row(row.operator, row.backend or "-", str(row.count), *_work(row.flops, row.bytes), row.reason)
        for backend in dict.fromkeys(row.backend for row in self.rows):
            rows = [row for row in self.rows if row.backend == backend]
            work = _work(sum(row.flops for row in rows), sum(row.bytes for row in rows))
            table.add_row("all", backend or "-", str(sum(row.count for row in rows)), *work, "")
        if unbounded := sum(row.unbounded for row in self.rows):
            table.caption = f"without the work of {unbounded} operators whose sizes have no bound"
        return table

    def data(self) -> list[dict[str, Any]]:
        """Returns the rows, for JSON."""
        return [vars(row) for row in self.rows]


def _work(flops: int, size: int) -> tuple[str, str]:
    return f"{flops / 1e6:.3f}", f"{size / 1e3:.1f}"
