"""An executor on the workers of a Dask scheduler, which does the work of lost workers again."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import platform
import socket
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import flambeau
from flambeau.tools.jobs.child_process import Answer, LostProcessError, packed
from flambeau.tools.jobs.child_setup import ChildSetup
from flambeau.tools.jobs.thread_children import ThreadChildren
from flambeau.tools.reproducers.reproducer_file import versions

Given = ParamSpec("Given")
Result = TypeVar("Result")

SECONDS = 5
"""The time for the scheduler to answer."""


class JobsError(ValueError):
    """An error of options for executors, or of a cluster. The message is one line for the user."""


@dataclass(frozen=True)
class _Session:
    """What each piece of work of one executor has in common."""

    name: str
    setup: ChildSetup
    versions: dict[str, str]


_CHILDREN: dict[str, ThreadChildren] = {}
"""In a worker: the processes of each session. Those of a later session know nothing of what an earlier one imported."""


def _versions() -> dict[str, str]:
    """Returns what must be the same on the workers: versions, and a digest of the sources, whose version changes with releases only."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(flambeau.__file__).parent, followlinks=True):
        folders[:] = sorted({*folders} - {"test", "__pycache__", "lib"})
        for file in sorted(files):
            if file.endswith((".py", ".c", ".h", ".def")) and file != "conftest.py" and not file.endswith(".cfg.py"):
                digest.update(Path(folder, file).read_bytes())
    return {**versions(), "sources of flambeau": digest.hexdigest()[:16]}


def _difference(expected: dict[str, str]) -> str:
    """Returns in words in what this machine differs; nothing if it does not."""
    found = _versions()
    return ", ".join(f"{name} is {found.get(name)} there and {here} here" for name, here in expected.items() if found.get(name) != here)


def _answer(session: _Session, call: bytes) -> Answer:
    """Makes a call in a process of this worker."""
    if session.name not in _CHILDREN:
        if found := _difference(session.versions):
            return Answer("raised", pickle.dumps(JobsError(f"a worker on {platform.node()} cannot be used: {found}")))
        _CHILDREN.setdefault(session.name, ThreadChildren(session.setup))
    return _CHILDREN[session.name].ask(call)


def _end(name: str) -> None:
    """Ends the processes of a session on this worker."""
    if (children := _CHILDREN.get(name)) is not None:
        children.kill()


def _no_scheduler(address: str) -> JobsError:
    return JobsError(f"no Dask scheduler answers at {address} within {SECONDS} seconds; `dask scheduler` starts one")


def _check_that_it_answers(address: str) -> None:
    """Raises JobsError if no scheduler does: the client would try again and again, or wait for the answer of something else."""
    place = urlsplit(address)
    try:
        host, port = place.hostname, place.port
    except ValueError:
        host = port = None
    if place.scheme != "tcp" or host is None or port is None:
        raise JobsError(f"--cluster is tcp://HOST:PORT, not {address!r}")
    try:
        with socket.create_connection((host, port), SECONDS) as connection:
            is_scheduler = bool(connection.recv(1))  # which greets
    except OSError:
        is_scheduler = False
    if not is_scheduler:
        raise _no_scheduler(address)


class Cluster(Executor):
    """Does work on a cluster, in processes that the threads of its workers start. Raises JobsError."""

    def __init__(self, address: str):
        try:
            self._dask: Any = import_module("distributed")
        except ImportError as error:
            raise JobsError(
                "--cluster needs Dask's distributed: run pip install '.[cluster]' in the folder of Flambeau's sources"
            ) from error
        _check_that_it_answers(address)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is raised
        self._address = address
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, which are compared below
                self._client = self._dask.Client(address, timeout=SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise _no_scheduler(address) from error
        self._session = _Session(uuid4().hex, ChildSetup.like_here(with_plugins=True), _versions())
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    def _check_workers(self) -> None:
        """Raises JobsError if there are none, or if one of them has other versions."""
        found: dict[str, object] = self._client.run(_difference, self._session.versions, on_error="return")
        if not found:
            raise JobsError(f"the Dask scheduler at {self._address} has no workers; `dask worker {self._address}` starts one")
        for worker, difference in found.items():
            if difference:
                raise JobsError(f"the worker {worker} cannot be used: {difference}")

    def submit(self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Future[Result]:
        """Returns the future of a call on a worker."""
        found: Future[Result] = Future()

        def finish(answered: Future[Answer]) -> None:
            if not found.set_running_or_notify_cancel():
                return
            try:
                found.set_result(answered.result().value())
            except CancelledError:
                found.set_exception(JobsError(f"the Dask scheduler at {self._address} is gone"))
            except self._dask.KilledWorker as error:
                found.set_exception(LostProcessError(f"{error.allowed_failures + 1} workers died while they did it"))
            except Exception as error:
                found.set_exception(error)

        self._executor.submit(_answer, self._session, packed(fn, *args, **kwargs)).add_done_callback(finish)
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes on the workers, with `cancel_futures` also those that work, and leaves the cluster."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        if self._client.status == "running":
            self._client.run(_end, self._session.name, on_error="ignore")
        self._client.close()
