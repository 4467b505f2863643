"""Engines as separate processes, restarted after a crash."""

from __future__ import annotations

from flambeau.tools.conformance.engine_requests import Reply, Request
from flambeau.tools.conformance.engine_worker import answer
from flambeau.tools.jobs.child_process import ChildProcess, LostProcessError, packed
from flambeau.tools.jobs.child_setup import ChildSetup

SECONDS = 60
"""The time for one request."""


class EngineProcess:
    """An engine, given by its function that loads programs. Its process starts with the first request."""

    def __init__(self, name: str, engine: str, memory: int | None = None):
        self.name = name
        self._engine = engine
        self._memory = memory
        self._child: ChildProcess | None = None

    def ask(self, request: Request) -> Reply:
        """Sends a request and returns the reply; after a crash, a reply that says how the process ended."""
        if self._child is None:
            self._child = ChildProcess(ChildSetup.like_here(memory=self._memory))
        try:
            return self._child.ask(packed(answer, self._engine, request), SECONDS).value()
        except LostProcessError as error:
            return Reply(crash=str(error))

    def end(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.end()
