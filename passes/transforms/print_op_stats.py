"""`print-op-stats`: prints how often each operation occurs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation

from flambeau.passes.manager import OperationPass
from flambeau.passes.rewriting.legality import name_of


@dataclass(frozen=True)
class PrintOpStatsPass(OperationPass):
    """Prints the number of operations of each name, by dialect. `flambeau-opt` prints it to stderr. Changes nothing."""

    name = "print-op-stats"
    json: bool = False
    """Print a JSON object instead, with the names as keys."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Prints the statistics of `op`."""
        found = Counter(name_of(item) for item in op.walk())
        names = sorted(found, key=lambda name: name.partition(".")[::2])
        if self.json:
            import json

            print(json.dumps({name: found[name] for name in names}, indent=2))
            return
        rows = [(*name.partition(".")[::2], str(found[name])) for name in names]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        print("Operations encountered:\n-----------------------")
        for dialect, operation, number in rows:
            print(f"  {dialect:>{widths[0]}} , {operation:{widths[1]}} , {number:>{widths[2]}}")
