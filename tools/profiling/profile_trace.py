"""A profile as a trace that Perfetto and `chrome://tracing` open."""

from __future__ import annotations

import os
from typing import Any

from flambeau.compiler.program_profile import Profile, line_of, module_of, place_of
from flambeau.runtime import Event, EventKind


def trace_of(profile: Profile) -> dict[str, Any]:
    """Returns each execution and each instruction as a complete event; times are in microseconds since the start of the first one."""
    start = profile.runs[0][0].start
    process = {"pid": os.getpid(), "tid": 1}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": name, **process, "args": {"name": value}}
        for name, value in (("process_name", "flambeau"), ("thread_name", profile.method))
    ]
    for run in profile.runs:
        for event in run:
            span = {"ts": (event.start - start) / 1e3, "dur": event.nanoseconds / 1e3}
            kind = event.kind.name.lower()
            events.append({"ph": "X", "name": event.name, "cat": kind, **span, **process, "args": _about(event, profile)})
    return {"displayTimeUnit": "ns", "traceEvents": events}


def _about(event: Event, profile: Profile) -> dict[str, Any]:
    if event.kind is EventKind.EXECUTE:
        return {}
    frames = profile.frames.get(place_of(event), ())
    about: dict[str, Any] = {
        "instruction": event.instruction,
        "flops": profile.flops_of(event),
        "bytes": profile.bytes_of(event),
    }
    return about | ({"module": module_of(frames), "line": line_of(frames)} if frames else {})
