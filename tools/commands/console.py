"""The output that several commands of `flambeau` share: JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.passes.manager import Instrumentation, PassStep, Pipeline


def print_json(report: dict[str, Any], indent: int | None = 2) -> None:
    """Prints a report on stdout."""
    json.dump(report, sys.stdout, indent=indent, ensure_ascii=False)
    sys.stdout.write("\n")


def stderr_console() -> Console:
    """Prints on stderr what it is given as it is, but for the styles of tables."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True, width=width_of(sys.stderr))


def width_of(stream: TextIO) -> int | None:
    """Returns the width of what is printed: that of a terminal; elsewhere tables take as much as they need, and nothing is cut."""
    return None if stream.isatty() else 1 << 16


def working(console: Console, work: str) -> Status:
    """Says on a terminal, in a line that goes away, what is being done."""
    return console.status(Text(work))


class ProgressLine:
    """Says how far the work is: on a terminal in place, elsewhere as a line at most once a second."""

    def __init__(self, console: Console, status: Status, work: str):
        self._console = console
        self._status = status
        self._work = work
        self._said = time.monotonic()

    def __call__(self, state: object) -> None:
        """Says where it is now."""
        text = f"{self._work}: {state}"
        self._status.update(Text(text))
        if not self._console.is_terminal and time.monotonic() - self._said >= 1:
            self._said = time.monotonic()
            self._console.print(text)


class PassProgress(Instrumentation):
    """Says on a terminal, in place, which pass runs."""

    def __init__(self, status: Status, work: str):
        self._status = status
        self._work = work
        self._total = 0

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Notes how many steps there are."""
        self._total = len(pipeline.elements)

    def before_pass(self, step: PassStep) -> None:
        """Says which one begins."""
        self._status.update(Text(f"{self._work}: {step.name} ({step.position[0] + 1} of {self._total})"))

    def before_verification(self, step: PassStep) -> None:
        """Says that it is looked at."""
        self._status.update(Text(f"{self._work}: verifying what {step.name} left ({step.position[0] + 1} of {self._total})"))
