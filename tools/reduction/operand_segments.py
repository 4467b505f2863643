"""Finds and removes operands that an operation's definition puts in a list or makes optional."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, UnregisteredOp, i1, i32
from xdsl.ir import Operation
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OptOperandDef, VarOperandDef

from flambeau.dialects.schema.row import SchemaOp

_SIZES = AttrSizedOperandSegments.attribute_name
_ABSENT = "absentElements"


def _sizes_of(op: Operation) -> str:
    """Returns the name of the attribute with the sizes of groups; operations from IRDL use another name."""
    options = type(op).get_irdl_definition().options if isinstance(op, IRDLOperation) else ()
    return next((option.attribute_name for option in options if isinstance(option, AttrSizedOperandSegments)), _SIZES)


def _segments(op: Operation) -> list[tuple[bool, range]] | None:
    """Returns for each operand group whether operands can be removed, and their indices; None if the groups are unknown."""
    if isinstance(op, UnregisteredOp):
        return [(_SIZES not in op.attributes, range(len(op.operands)))]
    if not isinstance(op, IRDLOperation):
        return None
    spare = [isinstance(kind, VarOperandDef | OptOperandDef) for _, kind in type(op).get_irdl_definition().operands]
    name = _sizes_of(op)
    stored = op.properties.get(name, op.attributes.get(name))
    if isinstance(stored, DenseArrayBase):
        sizes = [int(size) for size in cast("DenseArrayBase[Any]", stored).get_values()]
    elif sum(spare) <= 1:
        rest = len(op.operands) - (len(spare) - sum(spare))
        sizes = [rest if is_spare else 1 for is_spare in spare]
    else:
        return None
    if len(sizes) != len(spare) or sum(sizes) != len(op.operands):
        return None
    groups: list[tuple[bool, range]] = []
    start = 0
    for is_spare, size in zip(spare, sizes, strict=True):
        groups.append((is_spare, range(start, start + size)))
        start += size
    return groups


def spare_operands(op: Operation) -> Iterator[int]:
    """Yields the indices of operands that can be removed from a list, or are optional."""
    for is_spare, indices in _segments(op) or ():
        if is_spare:
            yield from indices


def drop_operands(op: Operation, indices: Collection[int]) -> None:
    """Removes operands, and updates the group sizes."""
    groups = _segments(op) or []
    if isinstance(op, SchemaOp) and isinstance(mask := op.properties.get(_ABSENT), DenseArrayBase):
        present = iter([index in indices for argument, (_, group) in zip(op.schema.operands, groups, strict=True)
                        if argument.type.element_optional for index in group])  # fmt: skip
        values = cast("DenseArrayBase[Any]", mask).get_values()
        op.properties[_ABSENT] = DenseArrayBase.from_list(i1, [int(bool(absent) or next(present)) for absent in values])
    op.operands = [operand for index, operand in enumerate(op.operands) if index not in indices]
    sizes = DenseArrayBase.from_list(i32, [sum(index not in indices for index in group) for _, group in groups])
    name = _sizes_of(op)
    for stored in (op.properties, op.attributes):
        if name in stored:
            stored[name] = sizes
