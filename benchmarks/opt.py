"""Measures how fast `flambeau-opt` starts, parses, verifies and prints, in turns with stock `xdsl-opt`.

    python benchmarks/opt.py

`--json` prints the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

OPERATIONS = 10_000
IMAGE = "tensor<1x16x32x32xf32>"


def arith_module(count: int) -> str:
    """Returns the text of a module with a chain of `count` additions of numbers."""
    lines = [f"  %{index + 1} = arith.addi %{index}, %c : i32" for index in range(count)]
    return "\n".join(["func.func @f(%0 : i32, %c : i32) -> i32 {", *lines, f"  func.return %{count} : i32", "}", ""])


def tensor_module(count: int, level: str) -> str:
    """Returns the text of a chain of operators on images; most lines resemble earlier lines, as in models that repeat their layers."""
    chosen = random.Random(0)
    names = ["%x"]
    lines: list[str] = []
    for index in range(count):
        before, other, result = names[-1], chosen.choice(names[-20:]), f"%v{index}"
        kind = chosen.randrange(5)
        if kind == 0:
            lines.append(f"  {result} = {level}.relu({before}) : ({IMAGE}) -> {IMAGE}")
        elif kind == 1:
            lines.append(f"  {result} = {level}.hardtanh({before}) {{min_val = 0.0, max_val = 6.0}} : ({IMAGE}) -> {IMAGE}")
        else:
            name = ("add", "mul", "sub")[kind - 2]
            lines.append(f"  {result} = {level}.{name}.Tensor({before}, {other}) : ({IMAGE}, {IMAGE}) -> {IMAGE}")
        names.append(result)
    return "\n".join([f"func.func @f(%x : {IMAGE}) -> {IMAGE} {{", *lines, f"  func.return {names[-1]} : {IMAGE}", "}", ""])


def varied_module(count: int, level: str) -> str:
    """Returns the text of operators of different shapes, so that no two lines are similar."""
    lines: list[str] = []
    kinds = [f"tensor<{1 + index % 89}x{2 + index // 89}xf32>" for index in range(count)]
    for index, kind in enumerate(kinds):
        lines.append(
            f"  %v{index} = {level}.full() {{size = [{kind[7:].split('xf')[0].replace('x', ', ')}], fill_value = 1.0}} : () -> {kind}"
        )
    return "\n".join(["func.func @f() {", *lines, "  func.return", "}", ""])


@dataclass(frozen=True)
class Task:
    """The arguments of a process; `peer` has xdsl-opt's arguments for the same task, or None."""

    name: str
    arguments: tuple[str, ...]
    peer: tuple[str, ...] | None
    limit: float | None = None
    """The limit in seconds that the project promises."""


@dataclass(frozen=True)
class Figure:
    """The minimum times of a task over all rounds, in seconds."""

    name: str
    wall: float
    cpu: float
    peer_wall: float | None
    peer_cpu: float | None
    limit: float | None


def run(tool: str, arguments: Sequence[str], times: tuple[float, float]) -> tuple[float, float]:
    """Runs a tool and returns the minimum of `times` and its wall and processor time. Raises RuntimeError if it fails."""
    program = str(Path(sysconfig.get_path("scripts")) / tool)
    null = os.open(os.devnull, os.O_WRONLY)
    start = time.perf_counter()
    child = os.posix_spawn(program, [program, *arguments], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    os.close(null)
    if status != 0:
        raise RuntimeError(f"{tool} {' '.join(arguments)} failed")
    return min(times[0], wall), min(times[1], used.ru_utime + used.ru_stime)


def measure_processes(folder: Path, rounds: int) -> list[Figure]:
    """Measures every task once per round, so that both tools run under the same load."""

    def file(name: str, text: str) -> str:
        path = folder / f"{name}.mlir"
        path.write_text(text)
        return str(path)

    small = file("small", arith_module(10))
    arith = file("arith", arith_module(OPERATIONS))
    tasks = [
        Task("--help", ("--help",), ("--help",), 0.3),
        Task("10 operations, one pass", (small, "-p", "cse"), (small, "-p", "cse"), 0.4),
        Task(f"{OPERATIONS} of arith", (arith,), (arith,), 1.0),
        Task(f"{OPERATIONS} of arith, generic form", (arith, "--print-op-generic"), (arith, "--print-op-generic")),
        *(Task(f"{OPERATIONS} of {level}", (file(level, tensor_module(OPERATIONS, level)),), None, 1.0) for level in ("aten", "edge")),
        Task(f"{OPERATIONS} of aten, no two alike", (file("varied", varied_module(OPERATIONS, "aten")),), None),
    ]
    worst = (float("inf"), float("inf"))
    ours, theirs = [worst] * len(tasks), [worst] * len(tasks)
    for _ in range(rounds):
        for index, task in enumerate(tasks):
            ours[index] = run("flambeau-opt", task.arguments, ours[index])
            if task.peer is not None:
                theirs[index] = run("xdsl-opt", task.peer, theirs[index])
    return [
        Figure(task.name, *mine, *(peer if task.peer is not None else (None, None)), task.limit)
        for task, mine, peer in zip(tasks, ours, theirs, strict=True)
    ]


def main() -> int:
    """Measures and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often to run each process; the minimum counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure_processes(Path(folder), arguments.rounds)
    if arguments.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return 0
    heads = ("wall", "cpu", "xdsl-opt", "cpu", "ratio", "promise")
    print(f"{f'seconds, minimum of {arguments.rounds}':34}", *(f"{head:>8}" for head in heads))
    for figure in figures:
        ratio = figure.wall / figure.peer_wall if figure.peer_wall else None
        columns = (figure.wall, figure.cpu, figure.peer_wall, figure.peer_cpu, ratio, figure.limit)
        print(f"{figure.name:34}", *("       —" if column is None else f"{column:8.2f}" for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
