"""Dialect conversion: rewrite until every operation is legal, or say all that is not, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.passes.rewriting.driver import apply_patterns
from flambeau.passes.rewriting.locations import describe_location
from flambeau.passes.rewriting.pattern import Pattern


@dataclass(frozen=True)
class IllegalOperation:
    """An operation that a conversion could not make legal."""

    name: str
    location: str
    reason: str


class ConversionError(ValueError):
    """Operations that stayed illegal, all of them."""

    def __init__(self, target: str, illegal: Sequence[IllegalOperation]):
        self.illegal = tuple(illegal)
        groups: dict[tuple[str, str], list[str]] = {}
        for item in illegal:
            groups.setdefault((item.name, item.reason), []).append(item.location)
        lines: list[str] = []
        for (name, reason), places in groups.items():
            known = list(dict.fromkeys(place for place in places if place))
            at = f" at {'; '.join(known[:3])}" if known else ""
            more = f" and {len(known) - 3} more places" if len(known) > 3 else ""
            count = f" ({len(places)} times)" if len(places) > 1 else ""
            lines.append(f"{name}{count}{at}{more}: {reason}")
        head = f"{len(illegal)} operation{'s' if len(illegal) != 1 else ''} cannot be converted to {target}: "
        super().__init__(head + ("\n  ".join(["", *lines]) if len(lines) > 1 else lines[0]))


def convert(
    module: ModuleOp,
    target: str,
    patterns: Sequence[Pattern],
    illegal_reason: Callable[[Operation], str | None],
) -> None:
    """Applies `patterns`, then requires that `illegal_reason` finds nothing.

    Args:
        module: rewritten in place.
        target: what the message calls the goal ("core", "edge", …).
        patterns: applied until none matches.
        illegal_reason: why an operation may not stay; None when it may.

    Raises:
        ConversionError: names every illegal operation with its place in the user's model and the reason.
    """
    apply_patterns(module, patterns)
    illegal: list[IllegalOperation] = []
    for op in module.walk():
        reason = illegal_reason(op)
        if reason is not None:
            illegal.append(IllegalOperation(op.name, describe_location(op.location), reason))
    if illegal:
        raise ConversionError(target, illegal)
