"""Finds arguments of a program that share memory with an argument that the program writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from flambeau.support.lazy import Array, np

_WORK = 10_000
"""How hard to look for a common element of arrays with gaps; from then on, they count as sharing memory."""


def shared_with_written(given: Sequence[object], written: Iterable[int]) -> tuple[int, int] | None:
    """Returns the positions of a written array and of another array that share memory, or None."""
    others = range(len(given))
    return next(((first, other) for first in written for other in others if other != first and _share(given[first], given[other])), None)


def _share(a: object, b: object) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    try:
        return np.shares_memory(cast(Array, a), cast(Array, b), max_work=cast(Any, _WORK))
    except np.exceptions.TooHardError:
        return True
