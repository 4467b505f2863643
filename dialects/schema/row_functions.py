"""Which arguments of its schema each function of a row takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.schema.schema import Schema

if TYPE_CHECKING:
    from flambeau.dialects.schema.row import SchemaOp


def flat_results(computed: Any) -> list[Any]:
    """Returns the results that a row's function computed as one flat list, without None for absent results."""
    if isinstance(computed, tuple | list):
        return [found for item in cast("Sequence[Any]", computed) for found in flat_results(item)]
    return [] if computed is None else [computed]


def argument_places(function: Callable[..., Any], schema: Schema) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Returns the places of the arguments that `function`'s parameters take, among the schema's and the defaults that follow them.

    Parameters before `/` take the schema's first arguments, whatever they are called, and `*arguments` takes all that follow. Each other
    parameter takes the argument of its name, where a trailing underscore does not count; a parameter whose name the schema lacks takes its
    own default. Raises ValueError for a parameter that takes none.
    """
    names = [argument.name.rstrip("_") for argument in schema.arguments]
    places: list[int] = []
    defaults: list[Any] = []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        by_position = parameter.kind is Parameter.POSITIONAL_ONLY
        if parameter.kind is Parameter.VAR_POSITIONAL:
            places += range(place, len(names))
        elif by_position and place < len(names):
            places.append(place)
        elif parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and parameter.name.rstrip("_") in names:
            places.append(names.index(parameter.name.rstrip("_")))
        elif parameter.default is not Parameter.empty:
            places.append(len(names) + len(defaults))
            defaults.append(parameter.default)
        else:
            listed = ", ".join(argument.name for argument in schema.arguments) or "none"
            what = f"is parameter {place + 1} before /, which takes" if by_position else "takes"
            hint = "" if by_position else "; name it as the schema does, or write / behind the parameters that take the first arguments"
            raise ValueError(f"{str(parameter).partition(':')[0]} {what} no argument of the schema ({listed}){hint}")
    return tuple(places), tuple(defaults)


def by_row(op: SchemaOp) -> Any:
    """Returns the decomposition of an operator's row; None without one."""
    return op.call("decompose", op.arguments()) if op.has("decompose") else None
