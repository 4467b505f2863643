"""ExecuTorch's Inspector, without PyTorch or ExecuTorch: the events of an ETDump, with the facts about them in an ETRecord."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike
from pathlib import Path
from statistics import fmean, quantiles
from typing import IO, TYPE_CHECKING, Any, cast

from flambeau.runtime.binding.recorded_runs import DELEGATE_EVENT, KERNEL_EVENT
from flambeau.runtime.etdump import ETDump, ETDumpError, ProfileEvent, RunData, read_etdump, read_etdump_file
from flambeau.runtime.inspector.etrecord_reader import ETRecordError, RecordedProgram, read_etrecord
from flambeau.runtime.inspector.logged_values import tensors_of
from flambeau.support.executorch_names import ExplainsMembers

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


class TimeScale(Enum):
    """A unit of time, by its short name."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_TIMES = ("p10", "p50", "p90", "avg", "min", "max")
_PER_SECOND = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0}


@dataclass(frozen=True)
class PerfData:
    """The times of an event, one for each run."""

    raw: Sequence[float]

    @property
    def p10(self) -> float:
        """The 10th percentile of the times."""
        return self._part(0)

    @property
    def p50(self) -> float:
        """The median of the times."""
        return self._part(4)

    @property
    def p90(self) -> float:
        """The 90th percentile of the times."""
        return self._part(8)

    @property
    def avg(self) -> float:
        """The mean of the times."""
        return fmean(self.raw)

    @property
    def min(self) -> float:
        """The shortest time."""
        return min(self.raw)

    @property
    def max(self) -> float:
        """The longest time."""
        return max(self.raw)

    def _part(self, tenth: int) -> float:
        return quantiles(self.raw, n=10, method="inclusive")[tenth] if len(self.raw) > 1 else self.raw[0]


@dataclass
class Event:
    """An instruction, an operator in a delegate, or an execution of a method, in all runs of a block.

    Attributes:
        name: the name, such as `native_call_add.out`, or the identifier that a delegate gives to its operator.
        perf_data: the times of the event.
        op_types: the operators of the calls that the event computes, such as `add.Tensor`.
        delegate_debug_identifier: the identifier that a delegate gives to its operator; None for an event outside of delegates.
        debug_handles: the handles of the calls that the event computes; None without an ETRecord.
        num_outputs: the number of tensors that the event computes, for calls of delegates.
        stack_traces: the lines of the model, by the names of calls.
        module_hierarchy: the modules around each call, by its name.
        is_delegated_op: whether a delegate runs the event.
        delegate_backend_name: the backend of a delegate; None for kernels, and without an ETRecord.
        debug_data: the tensors that were logged, in the first run that has them.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list[str])
    delegate_debug_identifier: int | str | None = None
    debug_handles: Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    module_hierarchy: dict[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict[str, Mapping[str, tuple[str, str]]])
    is_delegated_op: bool | None = None
    delegate_backend_name: str | None = None
    debug_data: list[Array] = field(default_factory=list[Any])

    def asdict(self, _units: str = "") -> dict[str, Any]:
        """Returns the event as a row of a table, by the names of its columns."""
        times = {key: None if self.perf_data is None else getattr(self.perf_data, key) for key in _TIMES}
        return {
            "event_name": self.name,
            "raw": None if self.perf_data is None else list(self.perf_data.raw),
            **{key + _units: value for key, value in times.items()},
            "op_types": self.op_types,
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": self.stack_traces,
            "module_hierarchy": self.module_hierarchy,
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": self.debug_data,
        }


@dataclass
class EventBlock:
    """The events, in order, of runs with the same sequence of events."""

    name: str
    events: list[Event] = field(default_factory=list[Event])


@dataclass(frozen=True)
class _Key:
    """The properties that identify an event within a run."""

    name: str
    chain: int
    instruction: int
    delegate: int | str | None


class Inspector(ExplainsMembers):
    """Shows the events of an ETDump.

    Attributes:
        event_blocks: a block for each group of runs with the same sequence of events.
    """

    def __init__(
        self,
        etdump_path: str | PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        etrecord: str | PathLike[str] | IO[bytes] | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | PathLike[str] | None = None,
    ):
        """Reads an ETDump, and an ETRecord if given.

        Args:
            etdump_path: the file of the ETDump.
            etdump_data: the bytes of the ETDump, instead of a path.
            etrecord: the ETRecord, which has the places in the model from which events come.
            source_time_scale: the unit of the times in the ETDump.
            target_time_scale: the unit of the times of events.
            debug_buffer_path: the file of the values that the ETDump logs.

        Raises:
            ValueError: neither or both of `etdump_path` and `etdump_data` are given, or only one unit of time is cycles.
            ETDumpError, ETRecordError, OSError: a file cannot be read, or has another format, or belongs to another program.
        """
        if (etdump_path is None) == (etdump_data is None):
            raise ValueError("Inspector takes one of etdump_path and etdump_data")
        if (source_time_scale is TimeScale.CYCLES) != (target_time_scale is TimeScale.CYCLES):
            raise ValueError(f"times in cycles stay so: {source_time_scale.value} cannot become {target_time_scale.value}")
        dump = read_etdump(etdump_data or b"") if etdump_path is None else read_etdump_file(etdump_path)
        record = None if etrecord is None else read_etrecord(etrecord)
        if record is not None and record.event_names:
            _check_names(dump, record.event_names, etrecord)
        buffer = None if debug_buffer_path is None else Path(debug_buffer_path).read_bytes()
        scale = 1.0 if source_time_scale is TimeScale.CYCLES else _PER_SECOND[source_time_scale] / _PER_SECOND[target_time_scale]
        self._units = f" ({target_time_scale.value})"
        try:
            self.event_blocks = [EventBlock(runs[0].name or "", _events(runs, scale, record, buffer)) for runs in _alike(dump.run_data)]
        except ETDumpError as error:
            raise ETDumpError(f"{debug_buffer_path}: {error}") from error

    def rows(self, include_units: bool = True) -> list[dict[str, Any]]:
        """Returns a row for each event, by the names of the columns, one of which is the name of the block."""
        units = self._units if include_units else ""
        return [{"event_block_name": block.name, **event.asdict(units)} for block in self.event_blocks for event in block.events]

    def print_data_tabular(self, file: IO[str] | None = None, include_units: bool = True) -> None:
        """Prints a table with a row for each event, on stdout by default."""
        out = file or sys.stdout
        from rich.console import Console
        from rich.table import Table

        units = self._units if include_units else ""
        times = [f"{key}{units}" for key in _TIMES]
        names = ("event_block_name", "event_name", *times, "op_types", "is_delegated_op", "delegate_backend_name")
        table = Table(*names, box=None, header_style="bold")
        for row in self.rows(include_units):
            table.add_row(*(_cell(row[name]) for name in names))
        Console(file=out, highlight=False, markup=False, width=None if out.isatty() else 1 << 16).print(table)

    def save_data_to_tsv(self, file: IO[str], include_units: bool = True) -> None:
        """Writes the rows to `file`, with tabs between their fields."""
        rows = self.rows(include_units)
        for line in ([list(rows[0])] if rows else []) + [list(row.values()) for row in rows]:
            file.write("\t".join(" ".join(str(field).split()) for field in line) + "\n")

    def find_total_for_module(self, module_name: str) -> float:
        """Returns the sum of the mean times of the events in modules whose key in `module_hierarchy` contains `module_name`."""
        events = (event for block in self.event_blocks for event in block.events if event.perf_data is not None)
        inside = (event for event in events if any(module_name in key for found in event.module_hierarchy.values() for key in found))
        return sum(event.perf_data.avg for event in inside if event.perf_data is not None)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else "" if value is None else str(value)


def _check_names(dump: ETDump, names: Mapping[int, str], etrecord: object) -> None:
    """Raises ETRecordError where a kernel or delegate ran that is another instruction of the recorded program."""
    for event in (item.profile_event for run in dump.run_data for item in run.events):
        if event is None or event.chain_index or _key(event).delegate is not None:
            continue
        ran, recorded = event.name or "", names.get(event.instruction_id, "no call")
        if ran.startswith((KERNEL_EVENT, DELEGATE_EVENT)) and ran != recorded:
            what = f"instruction {event.instruction_id} is {recorded} there and {ran} in the ETDump"
            raise ETRecordError(f"{etrecord}: the ETRecord is of another program: {what}; give that of the program that ran")


def _alike(runs: Iterable[RunData]) -> list[list[RunData]]:
    """Returns the runs in groups with the same sequence of events."""
    found: dict[object, list[RunData]] = {}
    for run in runs:
        happened = tuple(dict.fromkeys(_key(event.profile_event) for event in run.events if event.profile_event is not None))
        found.setdefault((run.name, run.bundled_input_index, happened), []).append(run)
    return list(found.values())


def _key(event: ProfileEvent) -> _Key:
    delegate = event.delegate_debug_id_int if event.delegate_debug_id_int != -1 else event.delegate_debug_id_str or None
    return _Key(event.name or "", event.chain_index, event.instruction_id, delegate)


def _events(runs: Sequence[RunData], scale: float, record: RecordedProgram | None, buffer: bytes | None) -> list[Event]:
    found: dict[_Key, Event] = {}
    times: dict[_Key, list[float]] = {}
    for run in runs:
        # For an instruction that a loop repeats, only the last event counts, as in ExecuTorch's Inspector.
        last = {_key(event): event for item in run.events if (event := item.profile_event) is not None}
        for key, event in last.items():
            times.setdefault(key, []).append((event.end_time - event.start_time) / scale)
    for key, raw in times.items():
        name = key.name if key.delegate is None else str(key.delegate)
        found[key] = Event(name, PerfData(raw), delegate_debug_identifier=key.delegate, is_delegated_op=key.delegate is not None)
        if record is not None:
            _place(found[key], key, record)
    by_place = {(key.chain, key.instruction): event for key, event in found.items() if key.chain >= 0}
    if buffer is None:
        return list(found.values())
    for logged in filter(None, (item.debug_event for item in runs[0].events)):
        if (event := by_place.get((logged.chain_index, logged.instruction_id))) is not None:
            try:
                event.debug_data += tensors_of(logged, buffer)
            except ETDumpError as error:
                raise ETDumpError(f"{event.name}: {error}") from error
    return list(found.values())


def _place(event: Event, key: _Key, record: RecordedProgram) -> None:
    """Adds the facts in the record about `key` to an event."""
    if key.instruction not in record.handles:
        return
    delegate = record.delegates.get(key.instruction)
    event.debug_handles, event.num_outputs = record.handles[key.instruction], record.outputs.get(key.instruction, 1)
    if delegate is not None and (key.delegate is not None or event.name == DELEGATE_EVENT):
        event.delegate_backend_name = delegate["name"]
    if key.delegate is not None and delegate is not None:
        event.debug_handles = delegate["delegate_map"].get(str(key.delegate), ())
    if key.chain < 0:
        return
    for node in (node for handle in event.debug_handles or () for node in record.nodes.get(handle, ())):
        event.op_types.append(node.operator)
        event.stack_traces.setdefault(node.name, node.stack_trace)
        event.module_hierarchy.setdefault(node.name, node.modules)
