"""`--load-plugin` and `--list-plugins`: they take effect in order, so that a later `--help` knows the loaded plug-ins."""

from __future__ import annotations

import argparse

from flambeau.tools.opt.option_group import Arguments, OptionAction, OptionGroup


class _LoadPlugin(OptionAction):
    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        from flambeau.tools.plugin_loading import load_for_tool

        load_for_tool(str(value))
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), str(value)))


class _ListPlugins(OptionAction):
    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        from flambeau.plugins.loader import loaded_plugins
        from flambeau.support.tables import discover, discovery_failures

        discover()
        for plugin in loaded_plugins():
            print(f"{plugin.name}:")
            for what in plugin.declares:
                print(f"  {what}")
        if failed := discovery_failures().removeprefix("; "):
            parser.exit(1, f"error: {failed}\n")
        parser.exit()


class PluginsGroup(OptionGroup):
    """The options for plug-ins, which are loaded before anything is parsed."""

    title = "plug-ins"

    def add_arguments(self, group: Arguments) -> None:
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
