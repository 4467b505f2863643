"""Options that several commands of `flambeau` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flambeau.tools.plugins import load_plugin


def _load(paths: list[Path] | None) -> None:
    for path in paths or ():
        load_plugin(path)


LoadPlugins = Annotated[
    list[Path] | None,
    # Eager: what other options name may be in a plug-in.
    typer.Option(
        "--load-plugin",
        metavar="FILE.py",
        callback=_load,
        is_eager=True,
        help="load front ends, passes and more from a Python file; may be given again",
    ),
]
"""`load_plugin: LoadPlugins = None`: the plug-ins are loaded before the command begins, which need not look at it."""
