"""Recorded executions as an ETDump."""

from collections.abc import Iterable

from flambeau.runtime.binding.recording import Event, EventKind
from flambeau.runtime.etdump import ETDump, ProfileEvent, RunData
from flambeau.runtime.etdump import Event as ETDumpEvent

_NAMES = {
    EventKind.EXECUTE: "Method::execute",
    EventKind.DELEGATE: "DELEGATE_CALL",
    EventKind.MOVE: "MOVE_CALL",
    EventKind.JUMP: "JF_CALL",
    EventKind.FREE: "FREE_CALL",
}
"""ExecuTorch's names of events."""


def event_name(event: Event) -> str:
    """The name that ExecuTorch's runtime gives such an event: `native_call_add.out` for the kernel `aten::add.out`."""
    return _NAMES.get(event.kind) or f"native_call_{event.name.rpartition('::')[2]}"


def to_etdump(runs: Iterable[Iterable[Event]]) -> ETDump:
    """A run for each of `runs`. As in ExecuTorch's, events stand in the order in which they ended."""
    return ETDump(run_data=tuple(RunData("Execute", events=tuple(map(_event, sorted(run, key=lambda event: event.end)))) for run in runs))


def _event(event: Event) -> ETDumpEvent:
    chain, instruction = (-1, 0) if event.chain is None or event.instruction is None else (event.chain, event.instruction)
    return ETDumpEvent(ProfileEvent(event_name(event), chain, instruction, start_time=event.start, end_time=event.end))
