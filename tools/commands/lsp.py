"""`flambeau lsp`: starts the language server."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from flambeau.plugins.loader import loaded_plugins
from flambeau.tools.commands.shared_options import AllowUnregistered


class LanguageServerError(ValueError):
    """An error of a language server that cannot start."""


def lsp_command(
    allow_unregistered_dialect: AllowUnregistered = False,
    stdio: Annotated[bool, typer.Option("--stdio", help="use stdin and stdout, as by default; some editors pass it")] = True,
    load_plugin: Annotated[
        list[Path] | None, typer.Option("--load-plugin", metavar="FILE", help="load a plug-in; the editor shows failures")
    ] = None,
) -> None:
    """Serve an editor: diagnostics, hover, definitions, references, completion for .mlir files."""
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("lsprotocol") is None:
        raise LanguageServerError("the language server needs pygls: run pip install '.[lsp]' in the folder of Flambeau's sources")
    from flambeau.tools.language_server.analysis import Settings
    from flambeau.tools.language_server.server import make_server

    loaded = [plugin.path for plugin in loaded_plugins() if plugin.path is not None]
    given = [path.expanduser().absolute() for path in load_plugin or ()]
    make_server(Settings(allow_unregistered_dialect), [*loaded, *given]).start_io()
