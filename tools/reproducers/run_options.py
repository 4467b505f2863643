"""What a tool tells reproducers about the run that it does."""

from __future__ import annotations

from dataclasses import replace

from flambeau.plugins.loader import loaded_plugins
from flambeau.tools.reproducers.crash_reproducer import RunOptions


def with_plugins(options: RunOptions | None = None) -> RunOptions:
    """The options of a run, with the plug-ins that are loaded now."""
    loaded = loaded_plugins()
    return replace(
        options or RunOptions(),
        plugins={str(plugin.path): plugin.digest for plugin in loaded if plugin.path is not None},
        packages={plugin.name: plugin.digest for plugin in loaded if plugin.path is None},
    )
