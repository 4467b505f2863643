"""The report of operations that a conversion could not make legal: as data, and as an error with one line per kind of operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.dialects.ir.locations import describe_location
from flambeau.passes.rewriting.legality import name_of

_PLACES = 3
"""More places than this are only counted."""


@dataclass(frozen=True)
class Attempt:
    """A pattern that was tried on an operation and left it as it is."""

    pattern: str
    """The name of its class."""
    reason: str | None
    """Why it did not apply; None when it does not say."""

    def __str__(self) -> str:
        return f"{self.pattern} declined: {self.reason}" if self.reason else f"{self.pattern} does not match"


@dataclass(frozen=True, eq=False)
class IllegalOperation:
    """An operation that stayed illegal."""

    op: Operation
    reason: str
    """Why it may not stay."""
    attempts: tuple[Attempt, ...] = ()
    """The patterns for operations of its class, in the order in which they were tried."""


@dataclass(frozen=True, eq=False)
class LegalizationRow:
    """The illegal operations of one name that failed for the same reasons."""

    name: str
    reason: str
    attempts: tuple[Attempt, ...]
    ops: tuple[Operation, ...]

    @property
    def count(self) -> int:
        """The number of such operations."""
        return len(self.ops)

    def places(self, without: str | None = None) -> tuple[str, ...]:
        """Returns their places in the user's model but for the file `without`, each once, in the order of the program."""
        return tuple(dict.fromkeys(place for op in self.ops if (place := describe_location(op.location, without))))

    def explanation(self, without: str | None = None) -> list[str]:
        """Returns a line each: why, where in the model but for the file `without`, and what came of the patterns."""
        places = self.places(without)
        more = [f"and in {len(places) - _PLACES} more places"] if len(places) > _PLACES else []
        return [self.reason, *(f"in {place}" for place in places[:_PLACES]), *more, *map(str, self.attempts)]

    def __str__(self) -> str:
        """Returns the operation's name, the number of times, its further places, and the reason."""
        others = self.places()[1:]
        also = f", also at {'; '.join(others[:_PLACES])}" if others else ""
        more = f" and {len(others) - _PLACES} more places" if len(others) > _PLACES else ""
        times = f" ({self.count} times{also}{more})" if self.count > 1 else ""
        tried = "".join(f"; {attempt.reason}" for attempt in self.attempts if attempt.reason)
        return f"{self.name}{times}: {self.reason}{tried}"


@dataclass(frozen=True, eq=False)
class LegalizationReport:
    """Everything that kept a conversion from its target."""

    target: str
    rows: tuple[LegalizationRow, ...]

    @staticmethod
    def of(target: str, illegal: Iterable[IllegalOperation]) -> LegalizationReport:
        """Groups operations by name and reasons, in the order in which they first occur."""
        groups: dict[tuple[str, str, tuple[Attempt, ...]], list[Operation]] = {}
        for item in illegal:
            groups.setdefault((name_of(item.op), item.reason, item.attempts), []).append(item.op)
        return LegalizationReport(target, tuple(LegalizationRow(*key, tuple(ops)) for key, ops in groups.items()))

    @property
    def count(self) -> int:
        """The number of operations that stayed illegal."""
        return sum(row.count for row in self.rows)

    @property
    def head(self) -> str:
        """The report in a few words."""
        return f"{self.count} operation{'s' if self.count != 1 else ''} cannot be converted to {self.target}"


class ConversionError(OperationError):
    """Operations that stayed illegal, all of them; `report` has them as data."""

    def __init__(self, report: LegalizationReport):
        first, *others = report.rows
        notes = tuple(Diagnostic("note", str(row), op=row.ops[0]) for row in report.rows) if others else ()
        super().__init__(first.ops[0], report.head if others else f"{report.head}: {first}", notes)
        self.report = report
