"""`--remarks`, `--why-not`, `--legality-report`, `--verify-roundtrip`: explanations by passes, and other checks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from flambeau.passes.manager import Instrumentation
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup
from flambeau.tools.opt.result_files import report_file, write_json


class DiagnosticsGroup(OptionGroup):
    """The options for showing diagnostics."""

    title = "diagnostics"

    def __init__(self) -> None:
        self._reports: list[dict[str, Any]] = []

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--verify-roundtrip",
            action="store_true",
            help="check that the input and the result print as text and generic form that parse back to the same IR",
        )
        group.add_argument(
            "--remarks",
            nargs="?",
            const=".",
            metavar="REGEX",
            help="print remarks to stderr: rewrites that passes made or declined, filtered by pass and message",
        )
        group.add_argument(
            "--why-not",
            metavar="PATTERN[@FILE:LINE]",
            help="print to stderr why each attempt to apply this pattern failed: the first part of its graph, or the first attribute, "
            "that did not fit; FILE is the input or the model's source",
        )
        group.add_argument(
            "--print-stacktrace-on-diagnostic",
            action="store_true",
            help="print after each diagnostic the Python stack that raised or emitted it",
        )
        group.add_argument(
            "--legality-report",
            metavar="FILE",
            type=report_file,
            help="write as JSON the operations that conversions left illegal, the patterns tried, and why each declined; - is stderr",
        )

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Refuses an invalid regular expression, an invalid question and an empty marker."""
        self._reports = []
        if arguments.remarks is not None:
            try:
                re.compile(arguments.remarks)
            except (re.error, OverflowError, RecursionError) as error:
                parser.error(f"argument --remarks: {arguments.remarks!r} is not a regular expression: {error}")
        if arguments.why_not is not None:
            from flambeau.tools.instruments.why_not import Question

            try:
                Question.parse(arguments.why_not)
            except ValueError as error:
                parser.error(f"argument --why-not: {error}")
        if arguments.split_input_file == "":
            parser.error("argument --split-input-file: a marker must not be empty")

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the instrumentations for round trips and for reports of failed conversions, if requested."""
        items: list[Instrumentation] = []
        if chunk.arguments.verify_roundtrip:
            from flambeau.tools.instruments.round_trip import RoundTrip

            items.append(RoundTrip())
        if chunk.arguments.why_not:
            from flambeau.tools.instruments.why_not import Question, WhyNot

            items.append(WhyNot(Question.parse(chunk.arguments.why_not), chunk.parsed))
        if chunk.arguments.legality_report:
            from flambeau.tools.rendering.legality_report import LegalityWatcher

            items.append(LegalityWatcher(chunk.parsed, self._reports))
        return items

    def finish(self, arguments: argparse.Namespace) -> None:
        """Writes the reports, which are empty if all conversions succeeded."""
        if arguments.legality_report:
            write_json(arguments.legality_report, self._reports)
