"""Loads the plug-ins named for a tool, with their warnings on stderr."""

from __future__ import annotations

import os
import sys

from flambeau.dialects.ir.diagnostics import listening
from flambeau.plugins.loader import VARIABLE, load_plugin
from flambeau.support.terminal import wants_colour
from flambeau.tools.rendering.diagnostics_rendering import Renderer


def load_for_tool(path: str | os.PathLike[str]) -> None:
    """Loads a plug-in as `load_plugin` does, with its warnings on stderr. Raises PluginError."""
    renderer = Renderer(wants_colour(sys.stderr))
    with listening(lambda diagnostic: print(renderer.render(diagnostic), end="", file=sys.stderr), ("warning",)):
        load_plugin(path)


def load_from_environment() -> None:
    """Loads the plug-ins that FLAMBEAU_PLUGINS names, with their warnings on stderr. Raises PluginError."""
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_for_tool(path)
