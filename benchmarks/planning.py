"""Compares memory planners: bytes of the arena over the maximum of live bytes.

    python benchmarks/planning.py DIRECTORY_OR_FILE …

A `.csv` file holds buffers in MiniMalloc's format (id, lower, upper, size; the lifetime is the half-open range [lower, upper)). A `.mlir`
file holds `exec` methods; the script runs no passes on them.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.planning.buffers import Buffer, check_plan, lower_bound
from flambeau.passes.planning.portfolio import plan_buffers
from flambeau.passes.storage.method_plan import PlanOptions, plan_method
from flambeau.passes.storage.slot_rewrites import methods_of

COLUMNS = ("greedy", "first-fit", "best-fit", "best")


def read_csv(path: Path) -> list[Buffer]:
    """Returns the buffers of a file in MiniMalloc's format."""
    with path.open(newline="") as file:
        return [Buffer(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]


def read_methods(path: Path) -> Iterator[tuple[str, list[Buffer]]]:
    """Yields the lifetimes of each method of a module."""
    context = FlambeauContext()
    context.blobs.open_beside(str(path))
    for method in methods_of(parse_module(path.read_text(), context, str(path)).module):
        yield f"{path.stem}/{method.sym_name.data}", list(plan_method(method, PlanOptions(algorithm="first-fit")).buffers)


def problems(paths: Sequence[Path]) -> Iterator[tuple[str, list[Buffer], int]]:
    """Yields name, buffers and alignment of each problem in the paths."""
    for path in paths:
        inside = sorted(path.glob("*.csv")) + sorted(path.glob("*.mlir")) if path.is_dir() else [path]
        for file in inside:
            if file.suffix == ".csv":
                yield file.stem, read_csv(file), 1
            else:
                for name, buffers in read_methods(file):
                    yield name, buffers, 16


def main(arguments: Sequence[str]) -> int:
    """Prints one line per problem, and the mean of each column."""
    if not arguments:
        print("usage: python benchmarks/planning.py DIRECTORY_OR_FILE …", file=sys.stderr)
        return 2
    print(f"{'problem':24} {'buffers':>7} {'live bytes':>12}", *(f"{name:>10}" for name in COLUMNS), f"{'seconds':>8}  found by")
    totals = dict.fromkeys(COLUMNS, 0.0)
    count = 0
    for name, buffers, alignment in problems([Path(argument) for argument in arguments]):
        bound = lower_bound(buffers, alignment)
        ratios: list[float] = []
        seconds, found = 0.0, ""
        for column in COLUMNS:
            start = time.perf_counter()
            plan = plan_buffers(buffers, alignment=alignment, algorithm=column)
            seconds, found = time.perf_counter() - start, plan.algorithm
            check_plan(buffers, plan, alignment)
            ratios.append(plan.size / bound if bound else 1.0)
            totals[column] += ratios[-1]
        count += 1
        print(f"{name:24} {len(buffers):7} {bound:12}", *(f"{ratio:10.4f}" for ratio in ratios), f"{seconds:8.2f}  {found}", flush=True)
    if count:
        print(f"{'mean':24} {'':7} {'':12}", *(f"{totals[column] / count:10.4f}" for column in COLUMNS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
