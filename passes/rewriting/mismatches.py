"""Words for what a declared graph lacks, for those who trace an attempt to match it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.explanation import current_trace
from flambeau.passes.rewriting.legality import name_of


def note_miss(depth: int, op: Operation, place: str, why: str) -> None:
    """Notes in the trace of the attempt, if there is one, what a graph lacks once `depth` parts of it have matched."""
    if (trace := current_trace()) is not None:
        at = "" if op is trace.root else describe_location(op.location)
        trace.miss(depth, f"{place} of {name_of(op)}{f' at {at}' if at else ''} {why}")


def operand_place(op: Operation, candidate: Any) -> str:
    """Returns an operand in words. The name is the schema's."""
    if isinstance(op, SchemaOp):
        for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
            if argument.type.is_tensor and value is candidate:
                return f"operand {argument.name!r}"
    for index, operand in enumerate(op.operands):
        if operand is candidate:
            return f"operand {index}"
    return "an operand"


def described(thing: Any) -> str:
    """Returns what matched, or did not, in words."""
    if thing is None:
        return "absent"
    if isinstance(thing, OpResult):
        return f"a result of {name_of(thing.op)}"
    if isinstance(thing, SSAValue):
        return "an argument of a function or block"
    if isinstance(thing, Operation):
        return name_of(thing)
    if (
        isinstance(thing, Sequence)
        and not isinstance(thing, str)
        and any(isinstance(item, SSAValue) for item in cast("Sequence[Any]", thing))
    ):
        return f"a list of {len(cast('Sequence[Any]', thing))} tensors"
    return f"{thing!r:.60}"
