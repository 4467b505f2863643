"""Measures how close single operators come to this machine's peak, and fails where one is far from it without a reason.

    python benchmarks/kernels.py
    python benchmarks/kernels.py convolution --target executorch
    FLAMBEAU_LIBRARY=build/c/x86-64-v3/libflambeau.so python benchmarks/kernels.py --json

The operations and bytes of each instruction and the peak are those of `flambeau profile --peak`, on one core. A row that reaches neither a
tenth of the operations nor of the bytes that this machine does in a second is named at the end, unless its case says why.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import date
from typing import Any, cast

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, whose product measures the peak

import torch
from operator_shares.single_operators import Case, cases
from rich.console import Console
from rich.table import Table

import flambeau
from flambeau import EdgeCompileConfig, to_edge
from flambeau.compiler.program_profile import profile_program
from flambeau.tools.profiling.machine import Machine, machine_name, measure_machine

TARGETS = ("flambeau", "executorch")
BAR = 0.1
"""The part of the peak or of the bandwidth that an operator reaches, unless its case has a reason."""


def compile_case(case: Case, target: str) -> bytes:
    """Returns the program of a case."""
    with torch.no_grad():
        exported = torch.export.export(case.module.eval(), case.inputs)
        if case.recipe is not None:
            exported = flambeau.quantize(exported, [case.inputs], cast(Any, case.recipe)).program
    return to_edge(exported, compile_config=EdgeCompileConfig(target=target)).to_executorch().buffer


def measure(case: Case, target: str, machine: Machine, runs: int) -> dict[str, Any]:
    """Returns a row: the least time of each instruction, and what of the machine they reach together."""
    arrays = [tensor.numpy() for tensor in case.inputs]
    profile = profile_program(compile_case(case, target), lambda: [array.copy() for array in arrays], iterations=runs)
    rows = [row for row in profile.rows("operator") if not row.is_inside]
    times = {row.name: min(row.times) for row in rows}
    nanoseconds = max(sum(times.values()), 1)
    counted = [row.flops for row in rows if row.flops is not None]
    moved = sum(row.bytes or 0 for row in rows) / runs
    return {
        "name": case.name,
        "target": target,
        "microseconds": round(nanoseconds / 1e3, 2),
        "of_peak": round(sum(counted) / runs * 1e9 / nanoseconds / machine.flops, 4),
        "of_bandwidth": round(moved * 1e9 / nanoseconds / machine.bandwidth, 4),
        "slowest": max(times, key=lambda name: times[name]),
        "reason": case.reasons.get(target, ""),
    }


def is_under(row: dict[str, Any]) -> bool:
    """Tells whether a row is under the bar in both."""
    return max(row["of_peak"], row["of_bandwidth"]) < BAR


def table_of(rows: list[dict[str, Any]]) -> Table:
    """Returns the rows for the user."""
    table = Table("operator", "target", box=None, header_style="bold")
    for head in ("µs", "of peak", "of bandwidth"):
        table.add_column(head, justify="right")
    table.add_column("slowest kernel")
    for row in rows:
        style = ("yellow" if row["reason"] else "red") if is_under(row) else None
        shares = (f"{100 * row[key]:.1f} %" for key in ("of_peak", "of_bandwidth"))
        table.add_row(row["name"], row["target"], f"{row['microseconds']:.1f}", *shares, row["slowest"], style=style)
    return table


def main() -> int:
    """Measures the cases; returns 1 if some row is under the bar without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases whose name begins with this text; all by default")
    parser.add_argument("--target", choices=TARGETS, action="append", help="both by default")
    parser.add_argument("--runs", type=int, default=30, help="of each program; the least time counts")
    parser.add_argument("--json", action="store_true", help="print the rows, the machine and the date as JSON")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    machine = measure_machine()
    console = Console(stderr=True, highlight=False, width=140)
    rows: list[dict[str, Any]] = []
    for case in cases():
        if not options.names or case.name.startswith(tuple(options.names)):
            rows += [measure(case, target, machine, options.runs) for target in options.target or TARGETS]
    console.print(f"{machine_name()}: {machine.flops / 1e9:.1f} GFLOP/s, {machine.bandwidth / 1e9:.1f} GB/s")
    console.print(table_of(rows))
    under = [row for row in rows if is_under(row) and not row["reason"]]
    for row in under:
        console.print(f"under {BAR:.0%} of both, and no reason says why: {row['name']}, {row['target']}", markup=False, soft_wrap=True)
    if options.json:
        measured = {"flops_per_second": machine.flops, "bytes_per_second": machine.bandwidth}
        print(json.dumps({"machine": machine_name(), "date": str(date.today()), **measured, "rows": rows}, indent=1, ensure_ascii=False))
    return 1 if under else 0


if __name__ == "__main__":
    sys.exit(main())
