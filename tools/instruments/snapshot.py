"""Detects changes by a pass: the structure of IR as a value that can be compared.

Two snapshots of one operation are equal exactly when its text, names included, is the same. Attributes are shared with the IR and not
copied, and unchanged parts compare by identity, so a snapshot costs a few microseconds for each operation.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue


class Snapshot:
    """The structure of an operation and all that is inside it, at the time of the call."""

    def __init__(self, op: Operation, *, locations: bool = False):
        self._locations = locations
        self._numbers: dict[SSAValue | Block, int] = {}
        self._items: list[object] = []
        self._add(op)
        self._numbers = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._items == other._items

    def __hash__(self) -> int:
        return hash(len(self._items))

    def _number(self, item: SSAValue | Block) -> int:
        # Values are numbered by first mention, so that they are compared by position and not by identity.
        return self._numbers.setdefault(item, len(self._numbers))

    def _value(self, value: SSAValue) -> object:
        return self._number(value), value.name_hint, value.type

    def _add(self, op: Operation) -> None:
        number = self._number
        self._items.append(
            (
                type(op),
                [number(operand) for operand in op.operands],
                [(number(result), result.name_hint, result.type) for result in op.results],
                tuple(op.properties.items()),
                tuple(op.attributes.items()),
                [number(successor) for successor in op.successors],
                op.location if self._locations else None,
                len(op.regions),
            )
        )
        for region in op.regions:
            blocks = list(region.blocks)
            self._items.append(len(blocks))
            for block in blocks:
                self._items.append((number(block), block.name_hint, [self._value(argument) for argument in block.args]))
                if self._locations:
                    self._items.append([argument.location for argument in block.args])
                for inner in block.ops:
                    self._add(inner)
                self._items.append("end")
