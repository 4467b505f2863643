"""The arena of a planned method over time: a rectangle for each buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import PlacedOp
from flambeau.passes.memory.plan_memory import LOWER_BOUND
from flambeau.passes.storage.classes import MethodStorage


@dataclass(frozen=True)
class Rectangle:
    """The place of a buffer.

    Attributes:
        name: the slot that owns the bytes.
        kind: `input`, `output`, `state` or `value`.
        arena: the number of the arena that holds the buffer, from 1.
        offset, size: the position in the arena and the size, in bytes.
        start, end: the half-open span of moments in which the buffer is in use; 0 is the call, the first instruction or label is 1.
        node: the node that writes it first; None if the caller writes it.
    """

    name: str
    kind: str
    arena: int
    offset: int
    size: int
    start: int
    end: int
    node: int | None


@dataclass(frozen=True)
class MemoryChart:
    """The arenas of a method.

    Attributes:
        arenas: the size of each arena in bytes.
        lower_bound: the most bytes that are live at once, which no plan can go below; None if the plan does not say it.
        moments: the node that runs at each moment; None at the call, at labels, and at the return.
        live: the live bytes of arena 1 at each moment.
        rectangles: the buffers.
    """

    arenas: tuple[int, ...]
    lower_bound: int | None
    moments: tuple[int | None, ...]
    live: tuple[int, ...]
    rectangles: tuple[Rectangle, ...]


def memory_chart(method: MethodOp, nodes: Mapping[Operation, int], names: Mapping[SSAValue, str]) -> MemoryChart:
    """Returns the chart of a planned method, from the node of each instruction and the names of slots."""
    storage = MethodStorage(method)
    at = {index: op for op, index in storage.time.items()}
    inputs, outputs = set(method.terminator.inputs), set(method.terminator.outputs)
    rectangles: list[Rectangle] = []
    for item in storage.classes():
        owner, span = item.root.owner, item.span
        if span is None or not isinstance(owner, PlacedOp) or owner.place is None:
            continue
        arena, offset = owner.place
        writer = next((at[time] for time in item.writes if time in at), None)
        kind = (
            "state"
            if item.is_state
            else "input"
            if inputs & item.members.keys()
            else "output"
            if outputs & item.members.keys()
            else "value"
        )
        node = None if writer is None else nodes.get(writer)
        rectangles.append(Rectangle(names.get(item.root, ""), kind, arena, offset, item.size, *span, node))
    bound = method.attributes.get(LOWER_BOUND)
    live = [0] * (storage.end + 1)
    for rectangle in rectangles:
        for time in range(rectangle.start, rectangle.end) if rectangle.arena == 1 else ():
            live[time] += rectangle.size
    return MemoryChart(
        method.arena_sizes or (),
        bound.value.data if isinstance(bound, IntegerAttr) else None,
        tuple(nodes.get(at[time]) if time in at else None for time in range(storage.end + 1)),
        tuple(live),
        tuple(rectangles),
    )
