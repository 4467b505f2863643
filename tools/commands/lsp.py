"""`flambeau lsp`."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from flambeau.plugins.loader import loaded_plugins


class LanguageServerError(ValueError):
    """A server that cannot start."""


def lsp_command(plugins: Sequence[Path] = (), *, allow_unregistered: bool = False) -> None:
    """Serves an editor on stdin and stdout until it says goodbye.

    Args:
        plugins: loaded by the server, beside those that are loaded already.
        allow_unregistered: accept operations of unknown dialects.

    Raises:
        LanguageServerError: the packages of the group `lsp` are not installed.
    """
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("lsprotocol") is None:
        raise LanguageServerError("the language server needs pygls: pip install 'flambeau[lsp]'")
    from flambeau.tools.language_server.analysis import Settings
    from flambeau.tools.language_server.server import make_server

    loaded = [plugin.path for plugin in loaded_plugins() if plugin.path is not None]
    given = [path.expanduser().absolute() for path in plugins]
    make_server(Settings(allow_unregistered), [*loaded, *given]).start_io()
