"""`flambeau lsp`."""

from __future__ import annotations

import importlib.util

from flambeau.tools.plugins import loaded_plugins


class LanguageServerError(ValueError):
    """A server that cannot start."""


def lsp_command(*, allow_unregistered: bool = False) -> None:
    """Serves an editor on stdin and stdout until it says goodbye. Raises LanguageServerError without the packages of the group `lsp`."""
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("lsprotocol") is None:
        raise LanguageServerError("the language server needs pygls: pip install 'flambeau[lsp]'")
    from flambeau.tools.language_server.analysis import Settings
    from flambeau.tools.language_server.server import make_server

    plugins = [plugin.path for plugin in loaded_plugins() if plugin.path is not None]
    make_server(Settings(allow_unregistered), plugins).start_io()
