"""A Python process that calls functions one after the other. It is started again after a crash, which ends only one call."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from threading import Lock, Timer
from typing import IO, Any, Literal, NamedTuple

from flambeau.tools.jobs.child_setup import ChildSetup


class LostProcessError(RuntimeError):
    """The process of a call ended without an answer. The message is one line for the user."""


class Answer(NamedTuple):
    """How a call ended."""

    kind: Literal["returned", "raised", "lost"]
    data: Any
    """The pickled result or exception; of a lost process, in words how it ended."""

    def value(self) -> Any:
        """Returns the result of the call. Raises what the call raised, and LostProcessError."""
        if self.kind == "lost":
            raise LostProcessError(self.data)
        found = pickle.loads(self.data)
        if self.kind == "raised":
            raise found
        return found


def packed(function: Callable[..., object], *arguments: object, **named: object) -> bytes:
    """Returns a call as bytes. Only the process that makes the call can import what the function needs."""
    return pickle.dumps((function, arguments, named))


class ChildProcess:
    """A process, which starts with the first call. What it prints is kept from the terminal."""

    def __init__(self, setup: ChildSetup):
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._has_call = Lock()
        self._is_killed = False

    def ask(self, call: bytes, seconds: float | None = None) -> Answer:
        """Makes a packed call and returns how it ended. The process is killed if the call takes more than `seconds`."""
        with self._has_call:
            process = self._process or self._start()
            if self._is_killed:
                process.kill()
            timer = Timer(seconds or 0, process.kill)
            if seconds is not None:
                timer.start()
            try:
                _send(process, call)
                assert process.stdout is not None
                return Answer(*pickle.load(process.stdout))
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                late = seconds is not None and not timer.is_alive()
                return Answer("lost", f"it does not end within {seconds} seconds" if late else self._how_it_ended(process))
            finally:
                timer.cancel()
                if process.poll() is not None:
                    self._forget()

    def kill(self) -> None:
        """Ends the process at once, for ever. A call that another thread makes is answered as lost."""
        self._is_killed = True
        if (process := self._process) is not None:
            process.kill()
        self.end()

    def end(self) -> None:
        """Ends the process, which has no call."""
        with self._has_call:
            self._forget()

    def _forget(self) -> None:
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except BrokenPipeError:
                        pass  # unsent data has no reader
            self._process.wait()
        if self._said is not None:
            self._said.close()
        self._process = self._said = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()
        command = [sys.executable, "-P", "-m", "flambeau.tools.jobs.child"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        _send(self._process, self._setup)
        return self._process

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        status = process.wait()
        lines: Sequence[str] = ()
        if self._said is not None:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"its process ends with {signal.Signals(-status).name}" if status < 0 else f"its process ends with status {status}"
        if -status == signal.SIGKILL:
            how += ", as where memory runs out"
        return f"{how}: {last}" if last else how


def _send(process: subprocess.Popen[bytes], item: object) -> None:
    assert process.stdin is not None
    process.stdin.write(pickle.dumps(item))
    process.stdin.flush()
