"""`--pass-statistics`: statistics of passes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flambeau.passes.manager import Instrumentation
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup
from flambeau.tools.opt.result_files import report_file, write_json

if TYPE_CHECKING:
    from flambeau.tools.instruments.pass_statistics import PassStatistics


class StatisticsGroup(OptionGroup):
    """The options for statistics over all chunks."""

    title = "statistics"

    def __init__(self) -> None:
        self._statistics: PassStatistics | None = None

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--pass-statistics",
            action="store_true",
            help="print to stderr each pass's counters, rewrites, and the operations that it added and removed",
        )
        group.add_argument(
            "--pass-statistics-display",
            choices=("pipeline", "list"),
            default="pipeline",
            help="for each place in the pipeline, or the runs of a pass together, sorted by name",
        )
        group.add_argument("--pass-statistics-json", metavar="FILE", type=report_file, help="write the same as JSON; - is stderr")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Starts gathering."""
        self._statistics = None
        if arguments.pass_statistics or arguments.pass_statistics_json:
            from flambeau.tools.instruments.pass_statistics import PassStatistics

            self._statistics = PassStatistics()

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the statistics."""
        return () if self._statistics is None else (self._statistics,)

    def finish(self, arguments: argparse.Namespace) -> None:
        """Prints the report."""
        statistics, self._statistics = self._statistics, None
        if statistics is None:
            return
        if arguments.pass_statistics:
            print(statistics.report(arguments.pass_statistics_display), end="", file=sys.stderr)
        if arguments.pass_statistics_json:
            write_json(arguments.pass_statistics_json, statistics.to_json())
