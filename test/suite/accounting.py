"""Accounts for the processor time of a run of tests: by file, by fixture, by test, and what lies outside of all tests.

    python -m pytest -p accounting --accounts build/accounts.json

A plugin of pytest, whose tables stand at the end of the log. Processor seconds (user and system) are those of the process that runs a
test and of the processes that it started and waited for, so that they hardly depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
from shares import share

LARGEST_SHARE = 0.08
"""Of the tests' seconds, for one file: what a machine with a dozen cores would wait for."""
WHOLE_RUN = 100
"""Files from which a run is taken for one of the whole suite, whose shares say something."""
LINES = 20


def seconds() -> float:
    """Returns the processor seconds of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


Spent = dict[str, float]
"""Processor seconds by name."""
KINDS = ("files", "fixtures", "tests", "counts")
"""The counts are how many tests a file has."""


class Accounts:
    """Processor seconds of a run, or of one of its workers."""

    def __init__(self) -> None:
        self.tables: dict[str, Spent] = {kind: {} for kind in KINDS}
        self.collection = 0.0
        self.whole = 0.0
        """Of the process, its start and its end included."""

    def enter(self, kind: str, name: str, spent: float) -> None:
        """Adds to what a name has in a table."""
        self.tables[kind][name] = self.tables[kind].get(name, 0.0) + spent

    def largest(self, kind: str) -> list[tuple[str, float]]:
        """Returns the names of a table and what they have, the largest first."""
        return sorted(self.tables[kind].items(), key=lambda entry: -entry[1])

    def to_json(self) -> dict[str, Any]:
        """Returns what `add_json` reads."""
        return {"tables": self.tables, "collection": self.collection, "whole": self.whole}

    def add_json(self, values: dict[str, Any]) -> None:
        """Adds those of another worker, as `to_json` wrote them."""
        for kind in KINDS:
            for name, spent in values["tables"][kind].items():
                self.enter(kind, name, spent)
        self.collection += values["collection"]
        self.whole += values["whole"]

    def too_large(self) -> list[str]:
        """Returns the files of a whole run that take more than their share."""
        files = self.tables["files"]
        return [name for name, spent in self.largest("files") if len(files) >= WHOLE_RUN and spent > LARGEST_SHARE * sum(files.values())]


_ACCOUNTS = pytest.StashKey[Accounts]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that keeps the accounts."""
    parser.addoption("--accounts", metavar="FILE", help="write the processor seconds of each file, fixture and test to a file of JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Opens the accounts."""
    config.stash[_ACCOUNTS] = Accounts()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Accounts for finding the tests."""
    start = seconds()
    try:
        return (yield)
    finally:
        session.config.stash[_ACCOUNTS].collection += seconds() - start


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Accounts for a test with its fixtures and its report."""
    start = seconds()
    try:
        return (yield)
    finally:
        accounts, spent, file = item.config.stash[_ACCOUNTS], seconds() - start, item.nodeid.partition("::")[0]
        accounts.enter("files", file, spent)
        accounts.enter("counts", file, 1)
        accounts.enter("tests", item.nodeid, spent)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Accounts for a fixture; those that it asks for come before it and have their own."""
    start = seconds()
    try:
        return (yield)
    finally:
        name = f"{fixturedef.argname} ({fixturedef.baseid or 'plugin'})"
        request.config.stash[_ACCOUNTS].enter("fixtures", name, seconds() - start)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends a worker's accounts, or closes those of the run: a file beyond its share fails it."""
    config, accounts = session.config, session.config.stash[_ACCOUNTS]
    if hasattr(config, "workeroutput"):
        accounts.whole = seconds()
        cast(Any, config).workeroutput["accounts"] = accounts.to_json()
        return
    accounts.whole += sum(os.times()[:2]) if accounts.whole else seconds()  # the workers are children, and were counted
    if accounts.too_large() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if path := config.getoption("--accounts"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(accounts.to_json(), indent=1), "utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds the accounts of a worker of xdist that ended."""
    if (given := getattr(node, "workeroutput", {}).get("accounts")) is not None:
        node.config.stash[_ACCOUNTS].add_json(given)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tables, and the files beyond their share."""
    accounts, write = terminalreporter.config.stash[_ACCOUNTS], terminalreporter.write_line
    files = accounts.tables["files"]
    total, fixtures = sum(files.values()), sum(accounts.tables["fixtures"].values())
    if not total:
        return
    terminalreporter.section("processor seconds")
    parts = f"{accounts.collection:.1f} to find the tests, {total:.1f} in tests, {fixtures:.1f} of these in fixtures"
    write(f"{accounts.whole:8.1f} in all: {parts}; {share()}")
    for name, spent in accounts.largest("files"):
        write(f"{spent:8.1f} {100 * spent / total:5.1f} % {accounts.tables['counts'][name]:6.0f} tests  {name}")
    for kind in ("fixtures", "tests"):
        terminalreporter.section(f"processor seconds of the slowest {kind}")
        for name, spent in accounts.largest(kind)[:LINES]:
            write(f"{spent:8.1f}  {name}")
    for name in accounts.too_large():
        write(
            f"FAILED {name} - it takes {100 * files[name] / total:.1f} % of the tests' processor seconds, "
            f"and a file may take {100 * LARGEST_SHARE:.0f} %: split it, or do less",
            red=True,
        )
