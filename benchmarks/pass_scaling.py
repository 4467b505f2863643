"""Checks that every pass is linear: measures its time on modules of two sizes.

    python benchmarks/pass_scaling.py [PASS…]

The exit status is 1 if the ratio of a pass is above the limit. Each pass runs on several families of modules (opt_modules.py).
`--json` prints the figures as JSON; progress goes to stderr.

The time at the smaller size is the mean over several modules, which together have the size of the larger. So both touch the
same amount of memory, and only the size of a module differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.registry import own_pass_names

sys.path.append(str(Path(__file__).resolve().parent.parent / "test" / "unit" / "passes"))
from opt_modules import Problem, Source, problems

SIZES = (2_000, 16_000)
LIMIT = 10.0
"""The maximum ratio of the times; the ratio of the sizes is 8."""
ROUNDS = 4
"""The maximum number of measurements of a family; the minimum times count."""

Module = tuple[ModuleOp, FlambeauContext]


@dataclass(frozen=True)
class Growth:
    """The processor time of a pass on modules of two sizes, in seconds."""

    problem: str
    small: float
    large: float

    @property
    def ratio(self) -> float:
        """The time of the larger size divided by the time of the smaller size."""
        return self.large / self.small


@dataclass
class Family:
    """Modules of two sizes from one source, and the passes that already ran on them."""

    source: Source
    sizes: tuple[int, int]
    passes: tuple[str, ...] | None = None
    small: tuple[Module, ...] = ()
    large: tuple[Module, ...] = ()

    def bring_to(self, passes: tuple[str, ...]) -> None:
        """Runs the missing passes; builds new modules if other passes ran."""
        if self.passes is None or passes[: len(self.passes)] != self.passes:
            small, large = self.sizes
            self.small = tuple(self.source.module(small) for _ in range(large // small))
            self.large = (self.source.module(large),)
            self.passes = ()
        for name in passes[len(self.passes) :]:
            for module, context in (*self.small, *self.large):
                Pipeline.parse(name).run(module, context, verify_each=False)
        self.passes = passes


def time_of(pipeline: Pipeline, modules: Sequence[Module]) -> float:
    """Runs a pass on these modules, in place, and returns the mean processor time for one module."""
    start = time.process_time()
    for module, context in modules:
        pipeline.run(module, context, verify_each=False)
    return (time.process_time() - start) / len(modules)


def growth_of(problem: Problem, family: Family, limit: float) -> Growth:
    """Measures a pass on copies of a family, up to ROUNDS times while the ratio is above `limit`."""
    small = large = float("inf")
    for _ in range(ROUNDS):
        copies = [[(module.clone(), context) for module, context in modules] for modules in (family.small, family.large)]
        gc.collect()
        small, large = min(small, time_of(problem.pipeline(), copies[0])), min(large, time_of(problem.pipeline(), copies[1]))
        if large / small <= limit:
            break
    return Growth(str(problem), small, large)


def measure(names: Sequence[str], sizes: tuple[int, int], limit: float, report: Callable[[Growth], None]) -> list[Growth]:
    """Measures every family of these passes. Raises KeyError for a pass without families."""
    by_source: dict[Source, list[Problem]] = {}
    for name in names:
        for problem in problems(name):
            by_source.setdefault(problem.source, []).append(problem)
    found: list[Growth] = []
    for source, items in by_source.items():
        family = Family(source, sizes)
        for problem in sorted(items, key=Problem.before):
            family.bring_to(problem.before())
            found.append(growth_of(problem, family, limit))
            report(found[-1])
    return found


def warm_up(names: Sequence[str]) -> None:
    """Runs every pass once, so that no measurement includes imports."""
    for name in names:
        for problem in problems(name):
            module, context = problem.module(10)
            problem.pipeline().run(module, context, verify_each=False)


def main() -> int:
    """Measures and prints, worst first; returns 1 if the ratio of a pass is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("passes", nargs="*", metavar="PASS", help="the passes to measure; default: all")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, help="two sizes; the second is a multiple of the first")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    small, large = arguments.sizes
    if small < 1 or large <= small or large % small:
        parser.error("the larger size has to be a multiple of the smaller")
    names = arguments.passes or own_pass_names()
    limit = LIMIT / (SIZES[1] / SIZES[0]) * (large / small)

    def line(growth: Growth) -> str:
        mark = "  more than linear" if growth.ratio > limit else ""
        return f"{growth.problem:46} {growth.small:8.4f} {growth.large:8.4f} {growth.ratio:7.1f} {1e6 * growth.large / large:7.1f}{mark}"

    warm_up(names)
    gc.disable()  # as in the tool
    found = measure(names, (small, large), limit, lambda growth: print(line(growth), file=sys.stderr, flush=True))
    found.sort(key=lambda growth: -growth.ratio)
    if arguments.json:
        print(json.dumps([asdict(growth) | {"ratio": growth.ratio} for growth in found], indent=2))
    else:
        print(f"{'processor seconds':46} {small:>8} {large:>8} {'ratio':>7} {'us/op':>7}", *map(line, found), sep="\n")
    return int(any(growth.ratio > limit for growth in found))


if __name__ == "__main__":
    sys.exit(main())
