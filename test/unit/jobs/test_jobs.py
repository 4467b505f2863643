"""`--jobs` and `--cluster`: results as without them, in order; a process that dies costs one piece of work, and a lost worker none."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from work_of_jobs import step, told

from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import Here, in_order, open_executor
from flambeau.tools.main import main

PLUGIN = """
import os, signal
from dataclasses import replace
from pathlib import Path

from flambeau.backends.elementwise import BACKEND
from flambeau.backends.elementwise.program import encode
from flambeau.passes.delegation.interface import one_by_one


def dying(partition, constants, options):
    once = Path(__file__).with_suffix(".once")
    if not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return encode(partition, constants, options)


DYING = replace(BACKEND, name="dying", identifier="DyingBackend", encode=one_by_one(dying))
"""


@pytest.fixture(scope="module")
def scheduler() -> Generator[Any]:
    """A Dask scheduler without workers, in this process."""
    distributed = import_module("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as found:
        yield found


@pytest.fixture(scope="module")
def workers(scheduler: Any) -> Generator[list[subprocess.Popen[bytes]]]:
    """Two workers of it, which nothing starts again."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with ExitStack() as stack:
        found: list[subprocess.Popen[bytes]] = []
        for _ in range(2):
            found.append(stack.enter_context(subprocess.Popen([*command, scheduler.scheduler_address], stderr=subprocess.DEVNULL)))
            stack.callback(found[-1].kill)
        scheduler.wait_for_workers(2)
        yield found


@pytest.fixture(params=["--jobs", "--cluster"])
def options(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The options of two workers."""
    if request.param == "--jobs":
        return "--jobs", "2"
    request.getfixturevalue("workers")
    return "--cluster", request.getfixturevalue("scheduler").scheduler_address


def test_one_future_is_lost_with_its_process_and_no_other(options: tuple[str, str]):
    option, value = options
    with open_executor(2) if option == "--jobs" else open_executor(None, value) as executor:
        assert list(executor.map(step, range(3))) == [0, 1, 4]
        found = dict(in_order(executor, step, range(9)))
        assert list(found) == list(range(9)) and [found[number].result() for number in (0, 1, 2, 4, 7, 8)] == [0, 1, 4, 16, 49, 64]
        with pytest.raises(LostProcessError, match=r"^its process ends with SIGKILL, as where memory runs out$"):
            found[3].result()
        with pytest.raises(FileNotFoundError, match="there is no file: 'five'"):
            found[5].result()
        with pytest.raises(LostProcessError, match=r"^its process ends with status 7: where it was$"):
            found[6].result()


def test_without_jobs_the_work_is_done_here_and_when_its_turn_comes():
    done: list[int] = []
    with open_executor(None) as executor:
        assert isinstance(executor, Here)
        futures = in_order(executor, lambda number: done.append(number) or number // number, [1, 0, 2])
        assert next(futures)[1].result() == 1 and done == [1]
        with pytest.raises(ZeroDivisionError):
            next(futures)[1].result()
        assert next(futures)[1].result() == 1


def test_a_backend_is_judged_the_same_on_a_cluster(workers: object, scheduler: Any, capsys: pytest.CaptureFixture[str]):
    reports: list[str] = []
    for options in ((), ("--cluster", scheduler.scheduler_address)):
        assert main(["test-backend", "elementwise", "--graphs", "3", "--json", *options]) == 0
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]


def test_a_graph_whose_process_dies_is_a_failure_and_others_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "dying.py"
    plugin.write_text(PLUGIN)
    assert main(["test-backend", "dying", "--load-plugin", str(plugin), "--graphs", "3", "--jobs", "1"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if "failed: " in line] == [
        "failed: seed 0: the process that tries the graph: its process ends with SIGKILL, as where memory runs out"
    ]
    assert "encode: 2 of 3 graphs" in shown


def test_an_interrupt_ends_the_command_and_its_processes():
    command = [sys.executable, "-m", "flambeau.tools.main", "test-backend", "elementwise", "--graphs", "5000", "--jobs", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        assert re.fullmatch(r"testing elementwise: \d+ of 5000 graphs, 0 failures\n", running.stderr.readline())
        os.killpg(running.pid, signal.SIGINT)
        *progress, last = running.stderr.read().splitlines()  # until nobody can write to it
        assert last == "interrupted" and all(line.startswith("testing") for line in progress)
        assert running.wait() == 130


def test_the_work_of_a_lost_worker_is_done_again(workers: list[subprocess.Popen[bytes]], scheduler: Any, tmp_path: Path):
    with open_executor(None, scheduler.scheduler_address) as executor:
        futures = in_order(executor, partial(told, str(tmp_path)), range(12))
        results = [next(futures)[1].result()]
        workers[0].kill()
        results += [future.result() for _, future in futures]
    assert results == [number * number for number in range(12)]
    times = Counter(path.name.split()[0] for path in tmp_path.iterdir())
    assert len(times) == 12 and max(times.values()) == 2


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["test-backend", "elementwise", *options]) == 1
    return capsys.readouterr().err


def test_what_is_no_cluster_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("flambeau.tools.jobs.cluster.SECONDS", 0.1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        expected = f"error: no Dask scheduler answers at {address} within 0.1 seconds; `dask scheduler` starts one\n"
        assert refused(capsys, "--cluster", address) == expected
        other.listen()  # and does not greet
        assert refused(capsys, "--cluster", address) == expected
    for wrong in ("somewhere", "tcp://somewhere", "tcp://somewhere:x", "tls://somewhere:1"):
        assert refused(capsys, "--cluster", wrong) == f"error: --cluster is tcp://HOST:PORT, not {wrong!r}\n"
    assert refused(capsys, "--cluster", address, "--jobs", "2").startswith("error: --jobs is for processes of this machine: ")
    monkeypatch.setitem(sys.modules, "distributed", None)
    needs = "error: --cluster needs Dask's distributed: run pip install '.[cluster]' in the folder of Flambeau's sources\n"
    assert refused(capsys, "--cluster", address) == needs


def test_workers_have_the_versions_of_the_command(
    workers: object, scheduler: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("flambeau.tools.jobs.cluster.versions", lambda: {"python": "2.7.1"})
    said = refused(capsys, "--cluster", scheduler.scheduler_address)
    assert re.fullmatch(r"error: the worker tcp://\S+ cannot be used: python is 3\.\S+ there and 2\.7\.1 here\n", said)


def test_a_cluster_without_workers(capsys: pytest.CaptureFixture[str]):
    distributed = import_module("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as empty:
        address = empty.scheduler_address
        expected = f"error: the Dask scheduler at {address} has no workers; `dask worker {address}` starts one\n"
        assert refused(capsys, "--cluster", address) == expected
