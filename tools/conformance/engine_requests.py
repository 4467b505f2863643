"""Requests to engines, and their replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flambeau.support.lazy import Array


@dataclass(frozen=True)
class Request:
    """A program, and the inputs of calls."""

    program: bytes
    calls: Sequence[Sequence[Array]]
    instances: int = 1
    """How often the program is loaded."""
    threads: bool = False
    """Whether each instance runs in a thread of its own; otherwise the instances take turns."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """The options of the delegates' backends, for Flambeau's runtime."""

    def __getstate__(self) -> dict[str, Any]:
        """Returns the fields for pickling, with the layout of arrays, which pickle would make row-major."""
        calls = [[(array.transpose(order), order) for array in call for order in [_order(array)]] for call in self.calls]
        return {**vars(self), "calls": calls}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores the fields."""
        calls = [[array.transpose(np.argsort(order)) for array, order in call] for call in state["calls"]]
        vars(self).update({**state, "calls": calls})


def _order(array: Array) -> list[int]:
    """Returns the dimensions of an array in memory order, outermost first."""
    return sorted(range(array.ndim), key=lambda dim: -array.strides[dim])


@dataclass(frozen=True)
class Reply:
    """The results of each call of each instance, or the reason that there are none."""

    results: Sequence[Sequence[Sequence[Array]]] = ()
    error: str | None = None
    absent: str | None = None
    """What the engine lacks to run such programs; None if it can run them."""
    crash: str | None = None
    """How the process ended, if it ended without an answer; else None."""
