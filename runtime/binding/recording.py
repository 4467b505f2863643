"""What a method did while it was executed, and when: the events that the C runtime records."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from flambeau.runtime.binding.library import library, whole_number

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


class EventKind(IntEnum):
    """What an event is of."""

    EXECUTE = 0
    KERNEL = 1
    DELEGATE = 2
    MOVE = 3
    JUMP = 4
    FREE = 5


@dataclass(frozen=True, slots=True)
class Event:
    """An execution of a method, or of one of its instructions.

    Attributes:
        name: of the operator; of the backend that runs a delegate; of the method that is executed; of other instructions, their kind.
        chain: of the instructions that this one is among; None for an execution.
        instruction: the number of the instruction in its chain; None for an execution.
        start: when it began, in nanoseconds of a clock that only goes forward.
        end: when it ended.
        bytes: of the tensors that a kernel or a delegate reads and writes, at the sizes that they had.
        values: the tensors that a kernel wrote, or all that a delegate was given and wrote, the outputs last; where values are kept.
    """

    kind: EventKind
    name: str
    chain: int | None
    instruction: int | None
    start: int
    end: int
    bytes: int
    values: "tuple[Array, ...]" = field(default=(), compare=False, repr=False)

    @property
    def nanoseconds(self) -> int:
        """How long it took."""
        return self.end - self.start


class CRecord(ctypes.Structure):
    """`fl_record`."""

    _fields_ = (
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("chain", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("position", ctypes.c_uint32),
        ("status", ctypes.c_int),
        ("kind", ctypes.c_uint8),
    )


class CRecorder(ctypes.Structure):
    """`fl_recorder`."""

    _fields_ = (
        ("records", ctypes.POINTER(CRecord)),
        ("capacity", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
        ("clock", ctypes.c_void_p),
        ("execute", ctypes.c_size_t),
        ("last", ctypes.c_uint64),
    )


class Recording:
    """The events of the executions of one method. Their memory is given at the start, so that recording does not wait for any."""

    def __init__(self, capacity: int, method: object):
        """Room for `capacity` events of a method. Raises ValueError."""
        capacity = whole_number(capacity, 1, 2**32 - 1, "a number of events")
        self._records = (CRecord * capacity)()
        ctypes.memset(self._records, 0, ctypes.sizeof(self._records))  # so that the system has given the pages
        clock = ctypes.cast(library().fl_monotonic_clock, ctypes.c_void_p)
        self.recorder = CRecorder(records=self._records, capacity=capacity, clock=clock)
        self._method = method  # the names of its operators lie in its memory

    @property
    def events(self) -> Sequence[Event]:
        """What has ended, in the order in which it began: an execution, then its instructions."""
        stored = min(self.recorder.count, self.recorder.capacity)
        return tuple(_event(record) for record in self._records[:stored] if record.end)

    @property
    def total(self) -> int:
        """How many events there were."""
        return self.recorder.count

    @property
    def lost(self) -> int:
        """How many of the last events had no room."""
        return max(0, self.recorder.count - self.recorder.capacity)


def _event(record: CRecord) -> Event:
    kind = EventKind(record.kind)
    is_whole = kind is EventKind.EXECUTE
    name = kind.name.lower() if record.name is None else record.name.decode(errors="replace")
    chain, instruction = (None, None) if is_whole else (record.chain, record.instruction)
    return Event(kind, name, chain, instruction, record.start, record.end, record.bytes)
