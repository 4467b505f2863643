"""How fast `flambeau-opt` starts, reads, verifies and prints, beside stock `xdsl-opt`; and whether every pass is linear.

    python benchmarks/opt.py              processes, interleaved with xdsl-opt
    python benchmarks/opt.py --passes     every pass of ours at two sizes; exit status 1 if one takes more than its share of the larger

`--json` prints the figures as JSON. How far the measurement of passes is goes to stderr.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from opt_modules import CASES, Problem, problems

from flambeau.backends.delegate import register_passes
from flambeau.passes.registry import own_pass_names, registered_passes

OPERATIONS = 10_000
SIZES = (2_000, 16_000)
LIMIT = 10.0
"""The most that the larger size may take of the time of the smaller, which is eight times smaller."""
IMAGE = "tensor<1x16x32x32xf32>"


def arith_module(count: int) -> str:
    """A chain of additions of numbers."""
    lines = [f"  %{index + 1} = arith.addi %{index}, %c : i32" for index in range(count)]
    return "\n".join(["func.func @f(%0 : i32, %c : i32) -> i32 {", *lines, f"  func.return %{count} : i32", "}", ""])


def tensor_module(count: int, level: str) -> str:
    """Our operators on images, one reading the other; most lines are like earlier ones, as in models that repeat their layers."""
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
    """No two lines alike: another shape in each."""
    lines: list[str] = []
    kinds = [f"tensor<{1 + index % 89}x{2 + index // 89}xf32>" for index in range(count)]
    for index, kind in enumerate(kinds):
        lines.append(
            f"  %v{index} = {level}.full() {{size = [{kind[7:].split('xf')[0].replace('x', ', ')}], fill_value = 1.0}} : () -> {kind}"
        )
    return "\n".join(["func.func @f() {", *lines, "  func.return", "}", ""])


@dataclass(frozen=True)
class Task:
    """What a process does; `peer` is the same with xdsl-opt, where that can."""

    name: str
    arguments: tuple[str, ...]
    peer: tuple[str, ...] | None
    limit: float | None = None
    """Seconds that the project promises."""


@dataclass(frozen=True)
class Figure:
    """The least times of a task over all rounds, in seconds."""

    name: str
    wall: float
    cpu: float
    peer_wall: float | None
    peer_cpu: float | None
    limit: float | None


def run(tool: str, arguments: Sequence[str], times: tuple[float, float]) -> tuple[float, float]:
    """Runs a tool; gives the lesser of `times` and its wall and processor time. Raises RuntimeError when it fails."""
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
    """Every task, in rounds that go through all of them, so that both tools see the same machine."""

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


@dataclass(frozen=True)
class Growth:
    """The processor time of a pass on a family of modules of two sizes."""

    problem: str
    small: float
    large: float

    @property
    def ratio(self) -> float:
        """How many times as long the larger takes."""
        return self.large / self.small


_ELSEWHERE = bytes(64 << 20)
"""More than fits into the caches that a core has for itself."""


def time_of(problem: Problem, size: int, seconds: float = 0.0) -> float:
    """The least processor time of a pass over modules of a size: of one run, or of as many as fit into `seconds`, twenty at most.

    Each run begins with cold caches: a small module would lie in them, a large one does not.
    """
    module, context = problem.module(size)
    times: list[float] = []
    while not times or (sum(times) < seconds and len(times) < 20):
        copy, pipeline = module.clone() if seconds else module, problem.pipeline()
        gc.collect()
        _ELSEWHERE.count(1)
        start = time.process_time()
        pipeline.run(copy, context, verify_each=False)
        times.append(time.process_time() - start)
    return min(times)


def growth_of(problem: Problem, sizes: tuple[int, int], limit: float) -> Growth:
    """Measures one family of modules at two sizes; what looks like more than `limit`, up to four times, of which the least counts.

    The collector of garbage is off, as in the tool.
    """
    gc.disable()
    try:
        found = Growth(str(problem), time_of(problem, sizes[0], 0.1), time_of(problem, sizes[1]))
        for _ in range(3):
            if found.ratio <= limit:
                break
            again = time_of(problem, sizes[0], 0.5), time_of(problem, sizes[1], 0.3)
            found = Growth(found.problem, min(found.small, again[0]), min(found.large, again[1]))
        return found
    finally:
        gc.enable()


def measure_passes(names: Sequence[str], sizes: tuple[int, int], limit: float, report: Callable[[Growth], None]) -> list[Growth]:
    """Every family of every pass. Raises KeyError for a pass without families."""
    found: list[Growth] = []
    for name in names:
        for problem in problems(name):
            found.append(growth_of(problem, sizes, limit))
            report(found[-1])
    return found


def all_names() -> list[str]:
    """Every pass of ours. Raises KeyError for one without modules."""
    register_passes()
    names = sorted({*own_pass_names(), *registered_passes()})
    missing = [name for name in names if name not in CASES]
    if missing:
        raise KeyError(f"there are no modules for {', '.join(missing)}: add them to CASES in benchmarks/opt_modules.py")
    return names


def main() -> int:
    """Measures and prints; the exit status says whether every pass is linear."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", nargs="*", metavar="PASS", help="measure passes, these or all, instead of processes")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, help="the sizes of the modules for passes")
    parser.add_argument("--rounds", type=int, default=5, help="how often to run each process; the least time counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.passes is not None:
        return passes_main(arguments.passes or all_names(), tuple(arguments.sizes), arguments.json)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure_processes(Path(folder), arguments.rounds)
    if arguments.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return 0
    heads = ("wall", "cpu", "xdsl-opt", "cpu", "ratio", "promise")
    print(f"{f'seconds, the least of {arguments.rounds}':34}", *(f"{head:>8}" for head in heads))
    for figure in figures:
        ratio = figure.wall / figure.peer_wall if figure.peer_wall else None
        columns = (figure.wall, figure.cpu, figure.peer_wall, figure.peer_cpu, ratio, figure.limit)
        print(f"{figure.name:34}", *("       —" if column is None else f"{column:8.2f}" for column in columns))
    return 0


def passes_main(names: Sequence[str], sizes: tuple[int, int], as_json: bool) -> int:
    """Measures passes, worst first; 1 when one grows faster than its input by more than measurement explains."""
    limit = LIMIT / (SIZES[1] / SIZES[0]) * (sizes[1] / sizes[0])

    def line(growth: Growth) -> str:
        mark = "  more than linear" if growth.ratio > limit else ""
        return f"{growth.problem:46} {growth.small:8.4f} {growth.large:8.4f} {growth.ratio:7.1f} {1e6 * growth.large / sizes[1]:7.1f}{mark}"

    found = measure_passes(names, sizes, limit, lambda growth: print(line(growth), file=sys.stderr, flush=True))
    found.sort(key=lambda growth: -growth.ratio)
    if as_json:
        print(json.dumps([asdict(growth) | {"ratio": growth.ratio} for growth in found], indent=2))
    else:
        print(f"{'processor seconds':46} {sizes[0]:>8} {sizes[1]:>8} {'ratio':>7} {'us/op':>7}", *map(line, found), sep="\n")
    return int(any(growth.ratio > limit for growth in found))


if __name__ == "__main__":
    sys.exit(main())
