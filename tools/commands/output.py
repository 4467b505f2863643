"""What several commands of `flambeau` print: reports for programs, and how far they are."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from rich.console import Console
from rich.status import Status


def print_json(report: dict[str, Any], indent: int | None = 2) -> None:
    """Prints a report on stdout."""
    json.dump(report, sys.stdout, indent=indent, ensure_ascii=False)
    sys.stdout.write("\n")


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
        self._status.update(text)
        if not self._console.is_terminal and time.monotonic() - self._said >= 1:
            self._said = time.monotonic()
            self._console.print(text, soft_wrap=True, markup=False)
