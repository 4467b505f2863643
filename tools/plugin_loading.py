"""Loads the plug-ins named for a tool."""

from __future__ import annotations

import os

from flambeau.plugins.loader import VARIABLE, load_plugin
from flambeau.tools.rendering.diagnostics_rendering import warnings_on_stderr


def load_for_tool(path: str | os.PathLike[str]) -> None:
    """Loads a plug-in as `load_plugin` does, with its warnings on stderr. Raises PluginError."""
    with warnings_on_stderr():
        load_plugin(path)


def load_from_environment() -> None:
    """Loads the plug-ins that FLAMBEAU_PLUGINS names, with their warnings on stderr. Raises PluginError."""
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_for_tool(path)
