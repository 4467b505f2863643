"""One rewrite as people read it: the operation before, what became of it, and where it comes from."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.diagnostics import Position
from flambeau.dialects.printing import PrintingOptions, operation_text
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import ParsedModule

CONTEXT_LINES = 2
"""How many unchanged lines stand around a change."""

_OPTIONS = PrintingOptions(elide_above=16, elide_resources_above=0)


@dataclass(frozen=True)
class Rewrite:
    """The rewrite that is to blame."""

    attempt: int
    """Its number among the attempts to rewrite of its pass, from 1: what a debug counter counts."""
    ordinal: int
    """Its number among those that changed something, from 1."""
    total: int
    """How many of these there are."""
    pattern: str
    """The class of the pattern, or what the pass calls its rewrite."""
    op: str
    """The operation before, in one line."""
    place: str
    """Where in the user's model; may be empty."""
    position: Position | None
    """Where in the file that was read stands what the operation stems from, if that is known."""
    before: ModuleOp
    """The module just before."""
    after: ModuleOp | None
    """The module after, when nothing else was rewritten; None when the rewrite raised."""
    context: FlambeauContext
    """Owns the weights of both."""

    @property
    def diff(self) -> Sequence[str]:
        """The lines of the module that changed, with some around them."""
        if self.after is None:
            return ()
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), n=CONTEXT_LINES, lineterm="")
        return [line for line in lines if not line.startswith(("---", "+++"))]


def describe_op(op: Operation) -> str:
    """An operation in one line: the first one, where it has regions."""
    return operation_text(op, _OPTIONS).strip().partition("\n")[0]


def positions_of(parsed: ParsedModule) -> dict[Attribute, Position]:
    """Where in the text the only operation with each location stands."""
    found: dict[Attribute, Position | None] = {}
    for op in parsed.module.walk():
        found[op.location] = None if op.location in found else parsed.position(op)
    return {location: position for location, position in found.items() if position is not None}


def name_values(module: ModuleOp) -> None:
    """Gives every value a name, so that what a rewrite leaves alone prints the same before and after."""
    taken = {value.name_hint for op in module.walk() for value in _values(op)}
    number = 0
    for op in module.walk():
        for value in _values(op):
            if value.name_hint is None:
                while (name := f"v{number}") in taken:
                    number += 1
                value.name_hint = name
                number += 1


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]


def _lines(module: ModuleOp) -> list[str]:
    return operation_text(module, _OPTIONS).splitlines()
