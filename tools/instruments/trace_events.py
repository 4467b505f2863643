"""Every span of a run as an event: a trace that Perfetto and `chrome://tracing` open, and a log as text."""

from __future__ import annotations

import json
import os
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self, TextIO

from xdsl.ir import Attribute, Operation

from flambeau.dialects.ir.locations import describe_location
from flambeau.passes.rewriting.actions import Action
from flambeau.support.files import open_text
from flambeau.tools.instruments.spans import Outcome, Span, SpanInstrumentation
from flambeau.tools.instruments.timing import peak_memory


class _Places:
    """A table of locations as text, each written once, because many operations share one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Attribute, str]] = {}

    def of(self, op: Operation) -> str:
        location = op.location
        found = self._known.get(id(location))
        if found is None:
            # The attribute is kept alive, so that no other attribute gets the same `id`.
            found = self._known[id(location)] = (location, describe_location(location))
        return found[1]


class TraceWriter(SpanInstrumentation):
    """A writer of the trace-event format that writes each event at once, so that long runs need no more memory.

    Spans are complete events (`X`) that nest; a rewrite of a pass's own sweep is an instant (`i`), and the peak of the resident memory is
    a counter (`C`) after each pass. Times are in microseconds. The file is valid JSON once `close` was called, whatever failed before.
    """

    def __init__(self, file: str | os.PathLike[str] | TextIO):
        """Opens a new file for a path; a stream is used as it is and stays open. Raises OSError."""
        super().__init__()
        self._file = open_text(file) if isinstance(file, str | os.PathLike) else file
        self._closes = self._file is not file
        self._ended = False
        self._start = perf_counter_ns()
        self._process = os.getpid()
        self._places = _Places()
        self._file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        names = (("process_name", "flambeau"), ("thread_name", "passes"))
        self._file.write(",\n".join(json.dumps(self._event("M", name, "__metadata", 0, {"name": value})) for name, value in names))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def ended(self, span: Span, end: int, outcome: Outcome) -> None:
        """Writes the span as an event, except for an attempt that changed nothing."""
        if outcome == "skipped":
            return
        arguments: dict[str, Any] = {} if span.op is None else self._about(span.op)
        if span.kind == "pattern":
            arguments["matched"] = outcome == "matched"
        if outcome == "failed":
            arguments["failed"] = True
        event = self._event("X", span.name, span.kind, span.start - self._start, arguments)
        event["dur"] = (end - span.start) / 1000
        self._write(event)
        if span.kind == "pass":
            memory = {"MiB": round(peak_memory() / 2**20, 1)}
            self._write(self._event("C", "peak memory", "memory", end - self._start, memory))

    def rewrote(self, action: Action) -> None:
        """Writes the rewrite as an instant event."""
        event = self._event("i", action.name, "rewrite", perf_counter_ns() - self._start, self._about(action.op))
        event["s"] = "t"
        self._write(event)

    def close(self) -> None:
        """Ends the open events and the file. Calling it again does nothing."""
        if self._ended:
            return
        self._ended = True
        super().close()
        self._file.write("\n]}\n")
        if self._closes:
            self._file.close()

    def _about(self, op: Operation) -> dict[str, Any]:
        about = {"op": op.name}
        if place := self._places.of(op):
            about["location"] = place
        return about

    def _event(self, phase: str, name: str, category: str, time: int, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"ph": phase, "name": name, "cat": category, "ts": time / 1000, "pid": self._process, "tid": 1, "args": arguments}

    def _write(self, event: dict[str, Any]) -> None:
        self._file.write(",\n" + json.dumps(event))


class ActionLog(SpanInstrumentation):
    """A log with a line for each span and rewrite, indented by depth; patterns are logged when they end, others when they begin."""

    def __init__(self, file: TextIO):
        super().__init__()
        self._file = file
        self._places = _Places()

    def began(self, span: Span) -> None:
        """Writes `pass fold-constants on builtin.module`."""
        if span.kind != "pattern":
            name = span.name if span.kind == "verification" else f"{span.kind} {span.name}"
            self._line(len(self._open) - 1, f"{name}{self._about(span.op)}")

    def ended(self, span: Span, end: int, outcome: Outcome) -> None:
        """Writes `pattern FoldPattern on core.add.Tensor at model.py:3: matched`, and failures."""
        if span.kind == "pattern":
            text = {"unmatched": "no match", "skipped": "forbidden"}.get(outcome, outcome)
            self._line(len(self._open), f"pattern {span.name}{self._about(span.op)}: {text}")
        elif outcome == "failed":
            self._line(len(self._open), f"{span.kind} {span.name}: failed")

    def rewrote(self, action: Action) -> None:
        """Writes `rewrite cse on core.add.Tensor`."""
        self._line(len(self._open), f"rewrite {action.name}{self._about(action.op)}")

    def close(self) -> None:
        """Ends the open spans. The file stays open."""
        super().close()
        self._file.flush()

    def _about(self, op: Operation | None) -> str:
        if op is None:
            return ""
        place = self._places.of(op)
        return f" on {op.name} at {place}" if place else f" on {op.name}"

    def _line(self, depth: int, text: str) -> None:
        self._file.write(f"{'  ' * depth}{text}\n")
