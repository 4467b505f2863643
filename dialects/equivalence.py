"""Whether two modules are the same but for the names of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, SSAValue


@dataclass(frozen=True)
class Difference:
    """Where two operations that stand in the same place begin to differ."""

    one: Operation
    other: Operation
    what: str
    """In words: `the property 'dim'`, `operand 1`."""


def difference(one: Operation, other: Operation) -> Difference | None:
    """The first difference between two operations with all that is in them; None when there is none.

    Operations, their order, attributes, properties, types, blocks and uses count; names of values and locations do not. Unlike
    `Operation.is_structurally_equivalent`, types of results count, and values may be used before they are defined, as blocks that branch
    backwards do.
    """
    pairs = [(one, other)]
    known: dict[SSAValue | Block, SSAValue | Block] = {}
    for left, right in pairs:  # which grows while it is read
        what = _outer_difference(left, right) or _difference_of_blocks(left, right, known)
        if what is not None:
            return Difference(left, right, what)
        known.update(zip(left.results, right.results, strict=True))
        pairs.extend(_inner(left, right))
    for left, right in pairs:
        for index, (operand, its) in enumerate(zip(left.operands, right.operands, strict=True)):
            if known.get(operand, operand) is not its:
                return Difference(left, right, f"operand {index}")
        for index, (block, its) in enumerate(zip(left.successors, right.successors, strict=True)):
            if known.get(block, block) is not its:
                return Difference(left, right, f"successor {index}")
    return None


def equivalent(one: Operation, other: Operation) -> bool:
    """Whether there is no `difference`."""
    return difference(one, other) is None


def _outer_difference(left: Operation, right: Operation) -> str | None:
    if left.name != right.name:
        return "the name"
    for what, mine, its in (
        ("operands", left.operands, right.operands),
        ("successors", left.successors, right.successors),
        ("regions", left.regions, right.regions),
    ):
        if len(mine) != len(its):
            return f"the number of {what}"
    if list(left.result_types) != list(right.result_types):
        return "the types of the results"
    for what, mine, its in (("property", left.properties, right.properties), ("attribute", left.attributes, right.attributes)):
        if (name := _differing_key(mine, its)) is not None:
            return f"the {what} {name!r}"
    return None


def _differing_key(mine: Mapping[str, Attribute], its: Mapping[str, Attribute]) -> str | None:
    return next((key for key in (*mine, *its) if mine.get(key) != its.get(key)), None)


def _difference_of_blocks(left: Operation, right: Operation, known: dict[SSAValue | Block, SSAValue | Block]) -> str | None:
    for index, (mine, its) in enumerate(zip(left.regions, right.regions, strict=True)):
        blocks, others = list(mine.blocks), list(its.blocks)
        if len(blocks) != len(others):
            return f"the number of blocks of region {index}"
        for block, other in zip(blocks, others, strict=True):
            if [argument.type for argument in block.args] != [argument.type for argument in other.args]:
                return f"the arguments of a block of region {index}"
            if len(block.ops) != len(other.ops):
                return f"the number of operations of a block of region {index}"
            known[block] = other
            known.update(zip(block.args, other.args, strict=True))
    return None


def _inner(left: Operation, right: Operation) -> Iterator[tuple[Operation, Operation]]:
    for mine, its in zip(left.regions, right.regions, strict=True):
        for block, other in zip(mine.blocks, its.blocks, strict=True):
            yield from zip(block.ops, other.ops, strict=True)
