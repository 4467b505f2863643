"""Reads the events that the C runtime records while it executes a method."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from flambeau.runtime.binding.library import library, whole_number

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


_UNKNOWN = 2**32 - 1


class EventKind(IntEnum):
    """The kind of an event: an execution, the kind of its instruction, or an operator inside of a delegate."""

    EXECUTE = 0
    KERNEL = 1
    DELEGATE = 2
    MOVE = 3
    JUMP = 4
    FREE = 5
    OPERATOR = 6


@dataclass(frozen=True, slots=True)
class Event:
    """An execution of a method, of one of its instructions, or of an operator inside of a delegate.

    Attributes:
        name: the operator of a kernel, the backend of a delegate, what a backend calls an operator inside, the method of an execution, or
            the kind of any other instruction.
        chain: the number of the instruction's chain; None for an execution.
        instruction: the number of the instruction in its chain; None for an execution.
        start: the time of the beginning, in nanoseconds of a monotonic clock.
        end: the time of the end, on the same clock.
        bytes: bytes of the tensors that a kernel or a delegate reads and writes, for their actual sizes.
        number: for an operator inside of a delegate, the number of the payload's operator that it computes; None if that is unknown.
        values: the tensors that a kernel wrote, or all tensor arguments of a delegate, the outputs last; empty unless values are kept.
    """

    kind: EventKind
    name: str
    chain: int | None
    instruction: int | None
    start: int
    end: int
    bytes: int
    number: int | None = None
    values: "tuple[Array, ...]" = field(default=(), compare=False, repr=False)

    @property
    def nanoseconds(self) -> int:
        """The duration in nanoseconds."""
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
        ("number", ctypes.c_uint32),
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
        ("instruction", ctypes.c_size_t),
        ("operator_end", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("aside", ctypes.c_uint64),
    )


class Recording:
    """The events of a method's executions. Their memory is allocated at the start, so that recording never waits for memory."""

    def __init__(self, capacity: int, method: object):
        """Allocates memory for `capacity` events of a method. Raises ValueError if `capacity` is not a number of events."""
        capacity = whole_number(capacity, 1, 2**32 - 1, "a number of events")
        self._records = (CRecord * capacity)()
        ctypes.memset(self._records, 0, ctypes.sizeof(self._records))  # makes the system allocate the pages now
        clock = ctypes.cast(library().fl_monotonic_clock, ctypes.c_void_p)
        self.recorder = CRecorder(records=self._records, capacity=capacity, clock=clock)
        self._method = method  # kept, because events refer to names in its memory

    @property
    def events(self) -> Sequence[Event]:
        """The events that have ended, in the order in which they began: an execution, then its instructions.

        A delegate's call is followed by the operators inside, as far as its backend knows their times.
        """
        stored = min(self.recorder.count, self.recorder.capacity)
        return tuple(_event(record) for record in self._records[:stored] if record.end)

    @property
    def total(self) -> int:
        """The number of events that began."""
        return self.recorder.count

    @property
    def lost(self) -> int:
        """The number of events, the last ones, that were not kept for lack of memory."""
        return max(0, self.recorder.count - self.recorder.capacity)


def _event(record: CRecord) -> Event:
    kind = EventKind(record.kind)
    is_whole = kind is EventKind.EXECUTE
    name = kind.name.lower() if record.name is None else record.name.decode(errors="replace")
    chain, instruction = (None, None) if is_whole else (record.chain, record.instruction)
    return Event(
        kind, name, chain, instruction, record.start, record.end, record.bytes, None if record.number == _UNKNOWN else record.number
    )
