"""Latencies of programs that run in turns, so that what else the machine does meets all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any, TypeAlias

TimedProgram: TypeAlias = tuple[Callable[[], Sequence[Any]], Callable[[Sequence[Any]], object]]
"""A function that makes the inputs of a run, which the run may write to, and one that runs the program on them."""


def latencies(programs: Sequence[TimedProgram], count: int) -> list[float]:
    """Returns the median milliseconds of each program, of `count` alternating runs after a warm-up run."""
    times: list[list[int]] = [[] for _ in programs]
    for _ in range(count + 1):
        for (give, run), found in zip(programs, times, strict=True):
            inputs = give()
            start = perf_counter_ns()
            run(inputs)
            found.append(perf_counter_ns() - start)
    return [median(found[1:]) / 1e6 for found in times]
