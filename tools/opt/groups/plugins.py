"""`--load-plugin` and `--list-plugins`: they take effect where they stand, so that `--help` after them knows what was loaded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from flambeau.dialects.diagnostics import listening
from flambeau.tools.opt.option_group import OptionGroup


def load(path: str) -> None:
    """Loads a plug-in and shows its warnings. Raises PluginError."""
    from flambeau.dialects.terminal import wants_colour
    from flambeau.tools.plugins import load_plugin
    from flambeau.tools.rendering import Renderer

    renderer = Renderer(wants_colour(sys.stderr))
    with listening(lambda diagnostic: print(renderer.render(diagnostic), end="", file=sys.stderr), ("warning",)):
        load_plugin(path)


class _LoadPlugin(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        load(str(values))
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), str(values)))


class _ListPlugins(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        from flambeau.dialects.registration import discover
        from flambeau.tools.plugins import loaded_plugins

        discover()
        for plugin in loaded_plugins():
            print(f"{plugin.name}:")
            for what in plugin.declares:
                print(f"  {what}")
        parser.exit()


class PluginsGroup(OptionGroup):
    """What is loaded before anything is parsed."""

    title = "plug-ins"

    def add_arguments(self, group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]  argparse names it so
        """Adds the options."""
        group.add_argument(
            "--load-plugin",
            action=_LoadPlugin,
            default=(),
            metavar="FILE",
            help="load passes, dialects and more from a Python file, or dialects from IRDL; may be given again, and before --help",
        )
        group.add_argument(
            "--list-plugins", action=_ListPlugins, nargs=0, help="list the plug-ins loaded so far and those installed, and exit"
        )
