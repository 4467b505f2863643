"""`--emit-irdl`, `--print-for-irdl`, `--irdl-runs`: output for MLIR's own tools to check Flambeau's IR."""

from __future__ import annotations

import argparse
import sys

from flambeau.tools.opt.option_group import Arguments, OptionGroup


class InteropGroup(OptionGroup):
    """The options for exchange with MLIR."""

    title = "exchange with MLIR"

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument("--emit-irdl", metavar="DIALECT,…", help="write these dialects as IRDL, for mlir-opt --irdl-file=, and exit")
        group.add_argument(
            "--print-for-irdl",
            action="store_true",
            help="print the generic form that mlir-opt reads with such a file: its dialects have attributes and no properties",
        )
        group.add_argument(
            "--irdl-runs",
            type=_positive,
            metavar="N",
            help="let the lists of operands and results in such a file and form have up to N runs of one type",
        )

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Writes the IRDL if requested, and exits. Raises IrdlError, OSError."""
        if arguments.emit_irdl is None:
            return
        from flambeau.dialects.irdl.export import irdl_text
        from flambeau.support.files import naming, write_text

        text = irdl_text([name for item in arguments.emit_irdl.split(",") if (name := item.strip())], arguments.irdl_runs)
        if arguments.output != "-":
            write_text(arguments.output, text)
        else:
            with naming("<stdout>"):
                sys.stdout.write(text)
        parser.exit()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, got {text!r}")
    return int(text)
