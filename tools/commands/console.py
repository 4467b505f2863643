"""Output shared by commands of `flambeau`: JSON on stdout, progress on stderr."""

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
    """Returns a console on stderr that prints text unchanged, except for the styles of tables."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True, width=width_of(sys.stderr))


def width_of(stream: TextIO) -> int | None:
    """Returns the width for printing: that of the terminal; elsewhere as much as tables need, so that nothing is cut."""
    return None if stream.isatty() else 1 << 16


def working(console: Console, work: str) -> Status:
    """Shows a message on a terminal during the block, in a line that disappears."""
    return console.status(Text(work))


class ProgressLine:
    """A line of progress: updated in place on a terminal, elsewhere printed at most once a second."""

    def __init__(self, console: Console, status: Status, work: str):
        self._console = console
        self._status = status
        self._work = work
        self._said = time.monotonic()

    def __call__(self, state: object) -> None:
        """Shows the progress."""
        text = f"{self._work}: {state}"
        self._status.update(Text(text))
        if not self._console.is_terminal and time.monotonic() - self._said >= 1:
            self._said = time.monotonic()
            self._console.print(text)


class PassProgress(Instrumentation):
    """An instrumentation that shows the running pass on a terminal, in place."""

    def __init__(self, status: Status, work: str):
        self._status = status
        self._work = work
        self._total = 0

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Records the number of steps."""
        self._total = len(pipeline.elements)

    def before_pass(self, step: PassStep) -> None:
        """Shows the pass that begins."""
        self._status.update(Text(f"{self._work}: {step.name} ({step.position[0] + 1} of {self._total})"))

    def before_verification(self, step: PassStep) -> None:
        """Shows that verification runs."""
        self._status.update(Text(f"{self._work}: verifying the result of {step.name} ({step.position[0] + 1} of {self._total})"))
