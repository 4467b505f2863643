"""Functions of int16 that a backend computes on lines between some of their values: how far these may be away."""

from __future__ import annotations

from dataclasses import replace

from flambeau.passes.analysis.quantized_types import IntegerOperator
from flambeau.passes.delegation.interface import RefusedError
from flambeau.support.lazy import Array, np

MOST_AWAY = 2**7
"""The most steps by which results of int16 may be away from their function: half of a step of int8."""


def exact_results(found: IntegerOperator, places: Array) -> Array:
    """Returns the results, before clamps, of a function of each element for integers."""
    return replace(found, low=found.to.low, high=found.to.high).results(places).astype(np.int64)


def check_lines(found: IntegerOperator, lines: Array, exact: Array) -> None:
    """Raises RefusedError where lines are too far away from the exact results."""
    away = int(np.abs(lines - exact).max())
    if away > MOST_AWAY:
        assert found.operator is not None
        raise RefusedError({found.operator: f"lines between 513 of its values are up to {away} steps away, and {MOST_AWAY} are taken"})
