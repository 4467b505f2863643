"""Accounts for the processor time of a run of tests: by file, by fixture, by test, and what lies outside of all tests.

    python -m pytest -p accounting --accounts build/accounts.json

A plugin of pytest, whose tables stand at the end of the log. Processor seconds (user and system) are those of the process that runs a
test and of the processes that it started and waited for, so that they hardly depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

LARGEST_SHARE = 0.05
"""Of the tests' seconds, for one file: what a machine with twenty cores would wait for."""
WHOLE_RUN = 100
"""Files from which a run is taken for one of the whole suite, whose shares say something."""
LINES = 20


def seconds() -> float:
    """Returns the processor seconds of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class Accounts:
    """Processor seconds of a run, or of one of its workers."""

    files: Counter[str] = field(default_factory=Counter[str])
    fixtures: Counter[str] = field(default_factory=Counter[str])
    tests: Counter[str] = field(default_factory=Counter[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    """Tests of each file."""
    collection: float = 0.0
    whole: float = 0.0
    """Of the process, its start and its end included."""

    def add(self, other: Accounts) -> None:
        """Adds those of another worker."""
        for mine, theirs in zip(self._counters(), other._counters(), strict=True):
            mine.update(theirs)
        self.collection += other.collection
        self.whole += other.whole

    def _counters(self) -> tuple[Counter[str], ...]:
        return self.files, self.fixtures, self.tests, self.counts

    def to_json(self) -> dict[str, Any]:
        """Returns what `of_json` reads."""
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Accounts:
        """Returns what `to_json` wrote."""
        return cls(**{name: Counter(cast("dict[str, Any]", value)) if isinstance(value, dict) else value for name, value in values.items()})

    def too_large(self) -> list[str]:
        """Returns the files of a whole run that take more than their share."""
        total = self.files.total()
        return [name for name, spent in self.files.most_common() if len(self.files) >= WHOLE_RUN and spent > LARGEST_SHARE * total]


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
        accounts.files[file] += spent
        accounts.counts[file] += 1
        accounts.tests[item.nodeid] += spent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Accounts for a fixture; those that it asks for come before it and have their own."""
    start = seconds()
    try:
        return (yield)
    finally:
        request.config.stash[_ACCOUNTS].fixtures[f"{fixturedef.argname} ({fixturedef.baseid or 'plugin'})"] += seconds() - start


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
        node.config.stash[_ACCOUNTS].add(Accounts.of_json(given))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tables, and the files beyond their share."""
    accounts, write = terminalreporter.config.stash[_ACCOUNTS], terminalreporter.write_line
    total = accounts.files.total()
    if not total:
        return
    terminalreporter.section("processor seconds")
    parts = f"{accounts.collection:.1f} to find the tests, {total:.1f} in tests, {accounts.fixtures.total():.1f} of these in fixtures"
    write(f"{accounts.whole:8.1f} in all: {parts}")
    for name, spent in accounts.files.most_common():
        write(f"{spent:8.1f} {100 * spent / total:5.1f} % {accounts.counts[name]:6} tests  {name}")
    for title, counter in (("fixtures", accounts.fixtures), ("tests", accounts.tests)):
        terminalreporter.section(f"processor seconds of the slowest {title}")
        for name, spent in counter.most_common(LINES):
            write(f"{spent:8.1f}  {name}")
    for name in accounts.too_large():
        terminalreporter.write_line(
            f"FAILED {name} - it takes {100 * accounts.files[name] / total:.1f} % of the tests' processor seconds, "
            f"and a file may take {100 * LARGEST_SHARE:.0f} %: split it, or do less",
            red=True,
        )
