"""The slots and instructions of a method while it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.literals import IntOp


@dataclass
class SlotBuilder:
    """Slots first, instructions after them."""

    location: LocationAttr
    """Where the operation comes from that is converted."""
    slots: list[Operation] = field(default_factory=list[Operation])
    instructions: list[Operation] = field(default_factory=list[Operation])
    _shared: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])

    def slot(self, op: Operation) -> SSAValue:
        """Adds a slot."""
        self.slots.append(op)
        return op.results[0]

    def share(self, key: object, make: Callable[[], Operation]) -> SSAValue:
        """Returns a slot that never changes, the same one for the same key."""
        if key not in self._shared:
            self._shared[key] = self.slot(make())
        return self._shared[key]

    def integer(self, value: int) -> SSAValue:
        """Returns the slot of an int that never changes."""
        return self.share(("int", value), lambda: IntOp(value))

    def emit(self, op: Operation) -> None:
        """Adds an instruction of the operation that is converted."""
        op.location = self.location
        self.instructions.append(op)
