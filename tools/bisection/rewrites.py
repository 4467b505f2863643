"""Descriptions of one rewrite: the operation before, the change, and the location."""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.dialects.text.operation_text import PrintingOptions, TextWithNames, operation_text
from flambeau.support.position import Position

CONTEXT_LINES = 2
"""The number of unchanged lines around a change."""

_OPTIONS = PrintingOptions(elide_above=16, elide_resources_above=0)


@dataclass(frozen=True)
class Rewrite:
    """The guilty rewrite."""

    attempt: int
    """The number of this attempt among all rewrite attempts of its pass, from 1, as debug counters count."""
    ordinal: int
    """The number of this attempt among the attempts that changed something, from 1."""
    total: int
    """The number of attempts of the pass that changed something."""
    pattern: str
    """The class name of the pattern, or the pass's name for its rewrite."""
    op: str
    """The operation before the rewrite, in one line."""
    place: str
    """The location of the operation in the user's model, as text; may be empty."""
    position: Position | None
    """The position of the operation's text in the input file; None if unknown."""
    diff: tuple[str, ...]
    """The changed lines of the module's text, as a diff with context lines; empty if the rewrite raised."""
    before: ModuleOp
    """The module directly before the rewrite."""
    after: ModuleOp | None
    """The module directly after the rewrite; None if the rewrite raised."""
    context: FlambeauContext
    """Owns the weights of both modules."""


def describe_op(op: Operation) -> str:
    """Returns an operation as one line of its module's text; for an operation with regions, its first line."""
    around = op
    while (parent := around.parent_op()) is not None and not isinstance(parent, ModuleOp):
        around = parent
    alone = operation_text(op, _OPTIONS).strip().partition("\n")[0]
    if around is op or not op.results:
        return alone
    # Printed without its module, an operation gets other numbers for values that share a name hint.
    text = TextWithNames(around, _OPTIONS)
    start = re.compile(rf"\s*%{re.escape(text.names[op.results[0]])}(:\d+)?[ ,=]")
    return next((line.strip() for line in text.text.splitlines() if start.match(line)), alone)


def diff_of(before: ModuleOp, after: ModuleOp) -> tuple[str, ...]:
    """Returns the lines of a diff between the texts of two modules, with some context lines."""
    old, new = (operation_text(module, _OPTIONS).splitlines() for module in (before, after))
    lines = difflib.unified_diff(old, new, n=CONTEXT_LINES, lineterm="")
    return tuple(line for line in lines if not line.startswith(("---", "+++")))


def name_values(module: ModuleOp) -> None:
    """Gives every value a name hint, so that unchanged parts of the IR print the same before and after a rewrite."""
    taken = {value.name_hint for op in module.walk() for value in _values(op)}
    numbers = (name for number in itertools.count() if (name := f"v{number}") not in taken)
    for op in module.walk():
        for value in _values(op):
            if value.name_hint is None:
                value.name_hint = next(numbers)


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]


def positions_of(parsed: ParsedModule) -> dict[Attribute, Position]:
    """Returns the position in the text of each location that belongs to exactly one operation."""
    found: dict[Attribute, Position | None] = {}
    for op in parsed.module.walk():
        found[op.location] = None if op.location in found else parsed.position(op)
    return {location: position for location, position in found.items() if position is not None}
