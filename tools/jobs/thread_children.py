"""Child processes for the threads of a pool: one for each."""

from __future__ import annotations

from threading import get_ident

from flambeau.tools.jobs.child_process import Answer, ChildProcess
from flambeau.tools.jobs.child_setup import ChildSetup


class ThreadChildren:
    """A child process for each thread that asks."""

    def __init__(self, setup: ChildSetup):
        self._setup = setup
        self._children: dict[int, ChildProcess] = {}
        self._is_over = False

    def ask(self, call: bytes) -> Answer:
        """Makes a packed call in the process of this thread."""
        child = self._children.setdefault(get_ident(), ChildProcess(self._setup))
        return Answer("lost", "it was given up") if self._is_over else child.ask(call)

    def kill(self) -> None:
        """Ends the processes at once, for ever; calls are answered as lost."""
        self._is_over = True
        for child in list(self._children.values()):
            child.kill()

    def end(self) -> None:
        """Ends the processes, which have no calls."""
        for child in self._children.values():
            child.end()
