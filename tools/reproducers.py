"""What a tool tells reproducers about the run that it does."""

from __future__ import annotations

from flambeau.passes.manager.crash import RunOptions
from flambeau.tools.plugins import loaded_plugins


def run_options(*, verify_each: bool = True, allow_unregistered: bool = False, debug_counters: str = "") -> RunOptions:
    """The options of a run, with the plug-ins that are loaded now."""
    loaded = loaded_plugins()
    return RunOptions(
        verify_each=verify_each,
        allow_unregistered=allow_unregistered,
        debug_counters=debug_counters,
        plugins={str(plugin.path): plugin.digest for plugin in loaded if plugin.path is not None},
        packages={plugin.name: plugin.digest for plugin in loaded if plugin.path is None},
    )
