"""The smallest plan that an exhaustive search finds: in C, since it takes millions of steps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from math import gcd

from flambeau.passes.planning.buffers import Buffer
from flambeau.runtime.binding.library import installed_library

MOST_BUFFERS = 1000
"""More are not searched, since the search recurs for each."""
_GREATEST = 2**62
"""Sizes and areas below this do not overflow."""
_NONE, _FOUND = 0, 1


class _Buffer(ctypes.Structure):
    """`fl_plan_buffer` of `native/exact_search.h`."""

    _fields_ = (("size", ctypes.c_int64), ("duration", ctypes.c_int64), ("first", ctypes.c_int32), ("end", ctypes.c_int32))


class _Problem(ctypes.Structure):
    """`fl_plan_problem`."""

    _fields_ = (
        ("buffers", ctypes.POINTER(_Buffer)),
        ("capacity", ctypes.c_int64),
        ("count", ctypes.c_int32),
        ("section_count", ctypes.c_int32),
    )


@cache
def _plan_within() -> ctypes._NamedFuncPointer:  # pyright: ignore[reportPrivateUsage]  the type has no public name
    function = ctypes.CDLL(str(installed_library("flambeau_planner"))).fl_plan_within
    function.argtypes = [ctypes.POINTER(_Problem), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)]
    function.restype = ctypes.c_int
    return function


class ExactSearch:
    """Buffers, between the size of the best plan that is known and the least size that a plan may have.

    Attributes:
        offsets: those of the best plan, in bytes.
        size: the bytes of its arena.
        bound: no plan is smaller.
    """

    def __init__(self, buffers: Sequence[Buffer], offsets: Sequence[int], size: int, bound: int):
        """`buffers` are at most `MOST_BUFFERS`, none of 0 bytes; `offsets` are a plan of `size` bytes, and none takes less than `bound`."""
        self.offsets, self.size, self.bound = offsets, size, bound
        times = sorted({time for buffer in buffers for time in (buffer.start, buffer.end)})
        sections = {time: index for index, time in enumerate(times)}
        spans = [_Buffer(size, end - start, sections[start], sections[end]) for start, end, size in buffers]
        self._step = gcd(*(buffer.size for buffer in buffers))
        self._fits = all(buffer.size * (buffer.end - buffer.start) < _GREATEST for buffer in buffers) and size < _GREATEST
        self._problem = _Problem((_Buffer * len(spans))(*spans), 0, len(spans), len(times) - 1)

    def run(self, work: int) -> None:
        """Improves the plan, with three quarters of the looks at a buffer or section for the bound, and the others for sizes between."""
        capacity, lowest, part = self.bound, self.bound, work * 3 // 4
        while self._fits and part > 0 and lowest < self.size:
            result, work = self._search(capacity, part, work)
            if result == _NONE:
                self.bound = capacity + self._step
            if result != _FOUND:
                lowest = capacity + self._step
            capacity = lowest + (self.size - lowest) // (2 * self._step) * self._step
            part = work // 3

    def _search(self, capacity: int, part: int, work: int) -> tuple[int, int]:
        """Returns whether there is a plan within a capacity, and the work that is left; a plan becomes the best one."""
        left = ctypes.c_int64(part)
        offsets = (ctypes.c_int64 * self._problem.count)()
        self._problem.capacity = capacity
        result: int = _plan_within()(self._problem, left, offsets)
        if result == _FOUND:
            self.offsets = list(offsets)
            spans = self._problem.buffers[: self._problem.count]
            self.size = max(offset + span.size for offset, span in zip(self.offsets, spans, strict=True))
        return result, work - part + left.value
