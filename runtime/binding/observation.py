"""Copies the values that the instructions of a method compute, while the method is executed."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from flambeau.runtime.binding.arrays import from_tensor
from flambeau.runtime.binding.library import CValue
from flambeau.runtime.binding.metadata import ValueTag
from flambeau.runtime.binding.recording import Event, EventKind
from flambeau.runtime.manifest import kernel_rows

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


class CEvent(ctypes.Structure):
    """`fl_event`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("nanoseconds", ctypes.c_uint64),
        ("args", ctypes.POINTER(ctypes.POINTER(CValue))),
        ("count", ctypes.c_uint32),
        ("chain", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("position", ctypes.c_uint32),
        ("number", ctypes.c_uint32),
        ("status", ctypes.c_int),
        ("kind", ctypes.c_uint8),
        ("is_done", ctypes.c_uint8),
    )


_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(CEvent))


@dataclass(frozen=True, slots=True)
class CallValues:
    """The arguments of a kernel or a delegate after its call: copies of tensors, lists of copies, and None for other values.

    Attributes:
        position: the number of the instruction, over all chains.
        event: the event of the call, with the computed values.
    """

    position: int
    arguments: "tuple[Array | list[Array | None] | None, ...]"
    event: Event


class Observation:
    """The arguments of a method's calls after each call. Copying them takes time and memory."""

    def __init__(self) -> None:
        self.calls: list[CallValues] = []
        self.executions: list[Event] = []
        """The executions as wholes."""
        self._began: list[int] = []
        self.error: Exception | None = None
        """The first error while values were copied, after which nothing is copied; None without an error."""
        self.hook = _HOOK(self._see)

    def _see(self, _user: object, _method: object, pointer: Any) -> None:
        event: CEvent = pointer.contents
        if event.kind == EventKind.OPERATOR:
            return
        if not event.is_done:
            self._began.append(perf_counter_ns())
            return
        start, end = self._began.pop(), perf_counter_ns()
        if event.status or self.error is not None:
            return
        try:
            kind, name = EventKind(event.kind), (event.name or b"").decode(errors="replace")
            if kind is EventKind.EXECUTE:
                self.executions.append(Event(kind, name, None, None, start, end, 0))
            elif event.args:
                arguments = tuple(_argument(event.args[index].contents) for index in range(event.count))
                values = _computed(kind, name, arguments, [ctypes.addressof(event.args[index].contents) for index in range(event.count)])
                call = Event(kind, name, event.chain, event.instruction, start, end, 0, values=values)
                self.calls.append(CallValues(event.position, arguments, call))
        except Exception as error:  # C code cannot pass an exception on
            self.error = error

    @property
    def events(self) -> Sequence[Event]:
        """The calls and the executions, in the order in which they ended."""
        return sorted((*(call.event for call in self.calls), *self.executions), key=lambda event: event.end)


def _argument(value: CValue) -> "Array | list[Array | None] | None":
    if value.tag == ValueTag.TENSOR:
        return _tensor(value)
    if value.tag in (ValueTag.TENSOR_LIST, ValueTag.OPTIONAL_TENSOR_LIST):
        items = ctypes.cast(value.payload.list.items, ctypes.POINTER(ctypes.POINTER(CValue)))
        return [_tensor(items[index].contents) if items[index] else None for index in range(value.payload.list.count)]
    return None


def _computed(
    kind: EventKind, name: str, arguments: "tuple[Array | list[Array | None] | None, ...]", addresses: Sequence[int]
) -> "tuple[Array, ...]":
    """Returns the tensors that a call computed: those that a kernel of the library writes.

    For another kernel, or a delegate, returns all tensors of the arguments; the outputs come last.
    """
    row = kernel_rows().get(name) if kind is EventKind.KERNEL else None
    access = row.access if row else "w" * len(arguments)
    # The calling convention repeats an out as the returned value.
    written = {address: argument for address, argument, mode in zip(addresses, arguments, access, strict=False) if mode == "w"}
    return tuple(argument for argument in written.values() if argument is not None and not isinstance(argument, list))


def _tensor(value: CValue) -> "Array | None":
    return from_tensor(value.payload.tensor.contents, None).copy() if value.tag == ValueTag.TENSOR else None
