"""Converts recorded executions to an ETDump."""

from collections.abc import Iterable, Iterator
from math import prod

from flambeau.runtime.binding.arrays import DTYPE_CODES
from flambeau.runtime.binding.recording import Event, EventKind
from flambeau.runtime.etdump import DebugEvent, ETDump, ProfileEvent, RunData, Tensor, Value, ValueType
from flambeau.runtime.etdump import Event as ETDumpEvent

KERNEL_EVENT = "native_call_"
DELEGATE_EVENT = "DELEGATE_CALL"
"""ExecuTorch's name of the event of a delegate."""

_NAMES = {
    EventKind.EXECUTE: "Method::execute",
    EventKind.DELEGATE: DELEGATE_EVENT,
    EventKind.MOVE: "MOVE_CALL",
    EventKind.JUMP: "JF_CALL",
    EventKind.FREE: "FREE_CALL",
}
"""ExecuTorch's names of events."""


def event_name(event: Event) -> str:
    """Returns the name of an event in ExecuTorch's runtime, such as `native_call_add.out` for the kernel `aten::add.out`.

    An operator inside of a delegate has that of its backend, which an ETDump holds as an identifier.
    """
    if event.kind is EventKind.OPERATOR:
        return event.name
    return _NAMES.get(event.kind) or kernel_event(event.name)


def kernel_event(operator: str) -> str:
    """Returns the name in ExecuTorch's runtime of the events of a kernel, such as `aten::add.out`."""
    return f"{KERNEL_EVENT}{operator.rpartition('::')[2]}"


def to_etdump(runs: Iterable[Iterable[Event]], values: bytearray | None = None) -> ETDump:
    """Returns an ETDump with a run for each of `runs`. As in ExecuTorch's, events are in the order of their ends, each before its values.

    Args:
        runs: the events of each execution.
        values: receives the bytes of the values of events, to which the ETDump refers; None leaves the values out.
    """
    kept = bytearray() if values is None else values
    return ETDump(run_data=tuple(RunData("Execute", events=tuple(_events(run, kept))) for run in runs))


def _events(run: Iterable[Event], values: bytearray) -> Iterator[ETDumpEvent]:
    for event in sorted(run, key=lambda event: event.end):
        chain, instruction = (-1, 0) if event.chain is None or event.instruction is None else (event.chain, event.instruction)
        name, inside = (None, event.name) if event.kind is EventKind.OPERATOR else (event_name(event), None)
        profiled = ProfileEvent(name, chain, instruction, delegate_debug_id_str=inside, start_time=event.start, end_time=event.end)
        yield ETDumpEvent(profiled)
        for array in event.values:
            strides = tuple(prod(array.shape[axis + 1 :]) for axis in range(array.ndim))
            tensor = Tensor(DTYPE_CODES[array.dtype.name], array.shape, strides, len(values))
            yield ETDumpEvent(debug_event=DebugEvent(chain, instruction, Value(ValueType.TENSOR, tensor=tensor)))
            values += array.tobytes()
