"""Engines as separate processes, restarted after a crash."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from threading import Timer
from types import TracebackType
from typing import IO, Self

from flambeau.runtime.binding.libraries import added_libraries
from flambeau.tools.conformance.engine_requests import Reply, Request, Start

SECONDS = 60
"""The time for one request."""


class EngineProcess:
    """An engine, given by its function that loads programs. Its process starts with the first request."""

    def __init__(self, name: str, engine: str, memory: int | None = None):
        self.name = name
        self._engine = engine
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def ask(self, request: Request) -> Reply:
        """Sends a request and returns the reply; after a crash, a reply that says how the process ended."""
        process = self._process or self._start()
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            self._send(process, request)
            assert process.stdout is not None
            return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            late = not timer.is_alive()
            return Reply(crash=f"it does not end within {SECONDS} seconds" if late else self._how_it_ended(process))
        finally:
            timer.cancel()
            if process.poll() is not None:
                self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        backends, kernels = added_libraries()
        self._said = tempfile.TemporaryFile()
        command = [sys.executable, "-m", "flambeau.tools.conformance.engine_worker"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        self._send(self._process, Start(self._engine, sys.path, backends, kernels, self._memory))
        return self._process

    def _send(self, process: subprocess.Popen[bytes], item: Start | Request) -> None:
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(item))
        process.stdin.flush()

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        status = process.wait()
        lines: Sequence[str] = ()
        if self._said is not None:
            self._said.seek(0)
            lines = self._said.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"its process ends with {signal.Signals(-status).name}" if status < 0 else f"its process ends with status {status}"
        return f"{how}: {last}" if last else how

    def _end(self) -> None:
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
