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

AllowUnregistered = Annotated[bool, typer.Option("--allow-unregistered-dialect", help="accept operations of unknown dialects")]
AsJson = Annotated[bool, typer.Option("--json", help="print the report as JSON on stdout")]

# What a predicate is made of, in the order of `PredicateOptions`.

WrongResult = Annotated[bool, typer.Option("--wrong-result", help="predicate: the pipeline changes the result")]
Tolerance = Annotated[
    float | None, typer.Option(help="how far float32 results may lie apart, relative to the largest number; other dtypes alike")
]
Inputs = Annotated[Path | None, typer.Option(help="an .npz file of inputs by name; made up by default")]
Seed = Annotated[int, typer.Option(help="of the made-up inputs")]
Crash = Annotated[bool, typer.Option("--crash", help="predicate: the pipeline fails")]
Error = Annotated[str | None, typer.Option(help="predicate: the pipeline fails with a message that this expression matches")]
FileCheck = Annotated[Path | None, typer.Option(help="predicate: what the pipeline makes passes the checks of this file")]
Script = Annotated[str | None, typer.Option(help="predicate: this command, given the path of what the pipeline makes, ends with 0")]
Negated = Annotated[bool, typer.Option("--not", help="predicate: --filecheck or --script fails instead")]
ScriptTimeout = Annotated[float, typer.Option(help="seconds after which a script is stopped, and the predicate does not hold")]
