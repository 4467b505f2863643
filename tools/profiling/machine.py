"""Measures the peak performance of this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

from flambeau.support.lazy import np

_SIDE = 384
"""Of the matrices whose product is timed: large enough for threads to be worth their start, small enough for a quiet millisecond."""

_ELEMENTS = 1 << 24
"""Of the arrays that are copied: more than caches hold."""

_ROUNDS = 40


@dataclass(frozen=True)
class Machine:
    """The measured peak of this machine.

    Attributes:
        flops: floating-point operations in a second, of numpy's product of float32 matrices.
        bandwidth: bytes that were read and written in a second, of numpy's copy of an array.
    """

    flops: float
    bandwidth: float


def machine_name() -> str:
    """Returns the processor of this machine, the number of cores that this process may use, and the system, in words."""
    import os
    import platform
    from pathlib import Path

    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processor = next(named, platform.processor() or platform.machine())
    return f"{processor}, {cores} core{'' if cores == 1 else 's'}, {platform.system()}"


def measure_machine() -> Machine:
    """Times a product and a copy, which takes less than a second."""
    random = np.random.default_rng(0)
    a, b = (random.random((_SIDE, _SIDE), dtype=np.float32) for _ in range(2))
    product = np.empty_like(a)
    source, target = (np.zeros(_ELEMENTS, np.float32) for _ in range(2))
    flops = 2 * _SIDE**3 / _least_seconds(lambda: np.matmul(a, b, out=product), _ROUNDS)
    return Machine(flops, 2 * source.nbytes / _least_seconds(lambda: np.copyto(target, source), _ROUNDS // 8))


def _least_seconds(work: Callable[[], object], rounds: int) -> float:
    times: list[int] = []
    for _ in range(rounds):
        start = perf_counter_ns()
        work()
        times.append(perf_counter_ns() - start)
    return min(times) / 1e9
