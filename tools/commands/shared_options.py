"""Options that several commands of `flambeau` have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from flambeau.tools.plugin_loading import load_for_tool
from flambeau.tools.predicates.predicate_options import PredicateOptions


def _load(paths: list[Path] | None) -> None:
    for path in paths or ():
        load_for_tool(path)


PredicateFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="a .mlir file of any stage, with its weights beside it; a reproducer, whose pipeline it is; or - for stdin"
    ),
]
"""`file: PredicateFile`: what a predicate is asked about."""

LoadPlugins = Annotated[
    list[Path] | None,
    # Eager: what other options name may be in a plug-in.
    typer.Option(
        "--load-plugin",
        metavar="FILE",
        callback=_load,
        is_eager=True,
        help="load front ends, passes and more from a Python file, or dialects from IRDL; may be given again",
    ),
]
"""`load_plugin: LoadPlugins = None`: the plug-ins are loaded before the command begins, which need not look at it."""

AllowUnregistered = Annotated[bool, typer.Option("--allow-unregistered-dialect", help="accept operations of unknown dialects")]
AsJson = Annotated[bool, typer.Option("--json", help="print the report as JSON on stdout")]

_PREDICATE: dict[str, Any] = {
    "pipeline": typer.Option("-p", "--passes", "--pass-pipeline", metavar="PIPELINE", help="the passes that the predicate is about"),
    "wrong_result": typer.Option("--wrong-result", help="predicate: the pipeline changes the result"),
    "tolerance": typer.Option(
        "--tolerance", metavar="NUMBER", help="how far float32 results may lie apart, relative to the largest number; other dtypes alike"
    ),
    "inputs": typer.Option("--inputs", metavar="FILE.npz", help="an .npz file of inputs by name; made up by default"),
    "seed": typer.Option("--seed", metavar="N", help="of the made-up inputs"),
    "crash": typer.Option("--crash", help="predicate: the pipeline fails"),
    "error": typer.Option("--error", metavar="REGEX", help="predicate: the pipeline fails with a message that this expression matches"),
    "filecheck": typer.Option("--filecheck", metavar="FILE", help="predicate: what the pipeline makes passes the checks of this file"),
    "script": typer.Option(
        "--script", metavar="COMMAND", help="predicate: this command, given the path of what the pipeline makes, ends with 0"
    ),
    "negated": typer.Option("--not", help="predicate: --filecheck or --script fails instead"),
    "timeout": typer.Option(
        "--script-timeout", metavar="SECONDS", help="seconds after which a script is stopped, and the predicate does not hold"
    ),
}
"""The options that say a predicate, by the fields of `PredicateOptions`."""


def takes_predicate(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter `predicate` stands for all the options that say one."""
    signature = inspect.signature(command, eval_str=True)
    types = get_type_hints(PredicateOptions)
    options = [
        inspect.Parameter(
            f"predicate_{field.name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[types[field.name], _PREDICATE[field.name]],
        )
        for field in fields(PredicateOptions)
    ]

    @wraps(command)
    def call(**given: Any) -> None:
        predicate = PredicateOptions(**{field.name: given.pop(f"predicate_{field.name}") for field in fields(PredicateOptions)})
        command(**given, predicate=predicate)

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += options if parameter.name == "predicate" else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    vars(call)["__signature__"] = signature.replace(parameters=parameters)
    return call
