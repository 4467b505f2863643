"""`--irdl-file`: loads dialects from IRDL, under mlir-opt's name. It takes effect in order, as `--load-plugin` does."""

from __future__ import annotations

import argparse
from pathlib import Path

from flambeau.tools.opt.option_group import Arguments, OptionAction, OptionGroup


class _LoadIrdl(OptionAction):
    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        from flambeau.plugins.loader import IRDL, PluginError
        from flambeau.tools.plugin_loading import load_for_tool

        path = str(value)
        if Path(path).suffix not in IRDL:
            raise PluginError(f"{path}: a file with dialects in IRDL is called something{' or something'.join(IRDL)}")
        load_for_tool(path)


class IrdlGroup(OptionGroup):
    """The option for dialects without Python."""

    title = "dialects from IRDL"

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--irdl-file",
            action=_LoadIrdl,
            default=argparse.SUPPRESS,
            metavar="FILE",
            help="load the dialects that this file declares; their operations have the generic form; may be given again",
        )
