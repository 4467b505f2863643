"""`--timing`: the time of each phase, pass and pattern."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from flambeau.passes.manager import Instrumentation
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup
from flambeau.tools.opt.result_files import report_file, write_json

if TYPE_CHECKING:
    from flambeau.tools.instruments.timing import Timer


class TimingGroup(OptionGroup):
    """The options for a timer over the whole run."""

    title = "timing"

    def __init__(self) -> None:
        self._timer: Timer | None = None

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--timing",
            action="store_true",
            help="print to stderr where the time went: phases, passes, verification, analyses and patterns",
        )
        group.add_argument(
            "--timing-display",
            choices=("tree", "list"),
            default="tree",
            help="as a tree, or by name with the longest own time first",
        )
        group.add_argument("--timing-json", metavar="FILE", type=report_file, help="write the tree as JSON; - is stderr")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Starts the timer."""
        self._timer = None
        if arguments.timing or arguments.timing_json:
            from flambeau.tools.instruments.timing import Timer

            self._timer = Timer()

    def phase(self, name: str, arguments: argparse.Namespace) -> AbstractContextManager[None]:
        """Measures the phase as a branch of the tree. The pipeline is a branch of its own."""
        return nullcontext() if self._timer is None or name == "passes" else self._timer.phase(name)

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the timer."""
        return () if self._timer is None else (self._timer,)

    def finish(self, arguments: argparse.Namespace) -> None:
        """Prints the report."""
        timer, self._timer = self._timer, None
        if timer is None:
            return
        timer.stop()
        if arguments.timing:
            print(timer.report(arguments.timing_display), end="", file=sys.stderr)
        if arguments.timing_json:
            write_json(arguments.timing_json, timer.to_json())
