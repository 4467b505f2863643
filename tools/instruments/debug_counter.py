"""Debug counters: numbered attempts to rewrite, and the range of those that may happen (MLIR's `-mlir-debug-counter`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.rewriting.actions import Action

EVERY = "*"
"""The name of the counter that counts every attempt, whoever makes it."""

_SETTING = re.compile(r"(?P<name>.+)-(?P<what>skip|count)=(?P<number>[0-9]{1,18})")


class DebugCounterError(ValueError):
    """An error in the settings of debug counters."""


@dataclass(frozen=True)
class CounterRange:
    """The attempts that may happen: the first `skip` are forbidden, the next `count` are allowed, the rest is forbidden."""

    skip: int = 0
    count: int | None = None
    """None allows all attempts after the first `skip`."""

    def __contains__(self, number: int) -> bool:
        return number >= self.skip and (self.count is None or number < self.skip + self.count)


def parse_debug_counters(text: str) -> dict[str, CounterRange]:
    """Parses `NAME-skip=N,NAME-count=M,…` into counters. Raises DebugCounterError."""
    found: dict[str, dict[str, int]] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _SETTING.fullmatch(item)
        if match is None:
            raise DebugCounterError(f"debug counter {item!r} is neither NAME-skip=N nor NAME-count=N")
        settings = found.setdefault(match["name"], {})
        if match["what"] in settings:
            raise DebugCounterError(f"debug counter {match['name']!r} is given {match['what']} twice")
        settings[match["what"]] = int(match["number"])
    return {name: CounterRange(settings.get("skip", 0), settings.get("count")) for name, settings in found.items()}


class DebugCounter(Instrumentation):
    """An instrumentation that allows attempts to rewrite by their number, and counts them.

    A counter's name is that of a pattern's class, or of a pass, which counts every attempt within that pass, or `*`. An attempt that has
    several counters happens when all of them allow it. Analyses rewrite nothing: they always happen and are not counted.
    """

    def __init__(self, ranges: Mapping[str, CounterRange] | None = None):
        self.ranges = dict(ranges or {})
        self.seen: Counter[str] = Counter()
        """The number of attempts by pattern, by pass, and in all (`*`)."""
        self.allowed: Counter[str] = Counter()
        """The number of attempts that were allowed."""
        self._pass = ""

    def before_pass(self, step: PassStep) -> None:
        """Records the pass that makes the next attempts."""
        self._pass = step.name

    def before_action(self, action: Action) -> bool:
        """Returns whether the attempt's numbers lie in the ranges of its counters."""
        if action.kind == "analysis":
            return True
        names = {EVERY, self._pass, action.name} - {""}
        allowed = all(self.seen[name] in self.ranges[name] for name in names if name in self.ranges)
        self.seen.update(names)
        if allowed:
            self.allowed.update(names)
        return allowed
