"""Checks how the part of a backend in the C runtime handles options."""

from __future__ import annotations

from dataclasses import replace

from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.engine_requests import Request

UNKNOWN = "no_such_option"
LIBRARY = "no_such_library.so"
"""The value of the option `library` for backends that take the path of a library."""


def check_unknown_option(engine: EngineProcess, request: Request) -> None:
    """Runs a request with an option unknown to the backend. Raises Disagreement if the runtime does not refuse it in one line."""
    said = _refusal(engine, request, UNKNOWN, "1")
    if not said or "\n" in said:
        raise Disagreement(f"an option that it does not have is not refused in one line: {said!r}")


def check_absent_library(engine: EngineProcess, request: Request) -> bool:
    """Runs a request with a missing `library`; returns whether the refusal names it. Raises Disagreement if not in one line."""
    said = _refusal(engine, request, "library", LIBRARY)
    if said is None or LIBRARY not in said:
        return False
    if "\n" in said:
        raise Disagreement(f"a library that is not there is not refused in one line that names it: {said!r}")
    return True


def _refusal(engine: EngineProcess, request: Request, option: str, value: str) -> str | None:
    reply = engine.ask(replace(request, options={option: value}))
    if reply.crash is not None:
        raise Disagreement(reply.crash)
    return reply.error or reply.absent
