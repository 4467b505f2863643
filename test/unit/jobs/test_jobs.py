"""`--jobs`: results are those without it, in order; a process that dies costs one piece of work; an interrupt ends everything."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from work_of_jobs import step

from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import Here, Processes, in_order, open_executor
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


def test_one_future_is_lost_with_its_process_and_no_other():
    with open_executor(2) as executor:
        assert isinstance(executor, Processes)
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


def test_a_backend_is_judged_the_same_in_processes(capsys: pytest.CaptureFixture[str]):
    reports: list[str] = []
    for jobs in ((), ("--jobs", "2")):
        assert main(["test-backend", "elementwise", "--graphs", "4", "--json", *jobs]) == 0
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]


def test_a_graph_whose_process_dies_is_a_failure_and_others_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = tmp_path / "dying.py"
    plugin.write_text(PLUGIN)
    assert main(["test-backend", "dying", "--load-plugin", str(plugin), "--graphs", "4", "--jobs", "1"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if "failed: " in line] == [
        "failed: seed 0: the process that tries the graph: its process ends with SIGKILL, as where memory runs out"
    ]
    assert "encode: 3 of 4 graphs" in shown


def test_an_interrupt_ends_the_command_and_its_processes():
    command = [sys.executable, "-m", "flambeau.tools.main", "test-backend", "elementwise", "--graphs", "5000", "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        assert re.fullmatch(r"testing elementwise: \d+ of 5000 graphs, 0 failures\n", running.stderr.readline())
        os.killpg(running.pid, signal.SIGINT)
        *progress, last = running.stderr.read().splitlines()  # until nobody can write to it
        assert last == "interrupted" and all(line.startswith("testing") for line in progress)
        assert running.wait() == 130
