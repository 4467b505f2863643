"""`--emit-irdl`, `--print-for-irdl`: what MLIR's own tools need to check our IR."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from flambeau.tools.opt.option_group import OptionGroup


class _EmitIrdl(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        from flambeau.dialects.irdl_export import irdl_text

        sys.stdout.write(irdl_text([name for item in str(values).split(",") if (name := item.strip())]))
        parser.exit()


class InteropGroup(OptionGroup):
    """Exchange with MLIR."""

    title = "exchange with MLIR"

    def add_arguments(self, group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]  argparse names it so
        """Adds the options."""
        group.add_argument(
            "--emit-irdl", action=_EmitIrdl, metavar="DIALECT,…", help="print these dialects as IRDL, for mlir-opt --irdl-file=, and exit"
        )
        group.add_argument(
            "--print-for-irdl",
            action="store_true",
            help="print the generic form that mlir-opt reads with such a file: its dialects have attributes and no properties",
        )
