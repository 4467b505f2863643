"""The report of all constructs in a program that cannot be imported, and the placeholder value for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

LISTED_PLACES = 3
"""Places in the model that are printed for one construct; further ones are counted."""


@dataclass(frozen=True)
class Unsupported:
    """A construct that the front end cannot express."""

    construct: str
    """The name of the operator, or a description of another part of the program (`input 'x'`)."""
    reason: str
    place: str
    """Module path and source line: `layers.0.attention, model.py:12`."""


class UnsupportedProgramError(ValueError):
    """A program with constructs that cannot be imported; the message lists all of them."""

    def __init__(self, problems: Sequence[Unsupported]):
        self.problems = tuple(problems)
        grouped: dict[tuple[str, str], list[str]] = {}
        for problem in self.problems:
            grouped.setdefault((problem.construct, problem.reason), []).append(problem.place)
        lines = [f"the program has {len(grouped)} unsupported construct{'s' if len(grouped) != 1 else ''}:"]
        for (construct, reason), places in grouped.items():
            distinct = list(dict.fromkeys(place for place in places if place))
            shown = "; ".join(distinct[:LISTED_PLACES])
            if len(distinct) > LISTED_PLACES:
                shown += f"; and {len(distinct) - LISTED_PLACES} more places"
            times = f" (×{len(places)})" if len(places) > 1 else ""
            lines.append(f"  {construct}{times}{f' at {shown}' if shown else ''}: {reason}")
        super().__init__("\n".join(lines))


class _Poison:
    """The value of a node that could not be imported; uses of this value report no further problems."""


POISON = _Poison()


def is_poisoned(value: Any) -> bool:
    """Returns whether a value, or one in a list of values, could not be imported."""
    if isinstance(value, list):
        return any(is_poisoned(item) for item in cast("list[Any]", value))
    return value is POISON
