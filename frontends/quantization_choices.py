"""The names that users choose a quantization by, known without PyTorch: recipes, and the backends that take quantized numbers."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from flambeau.passes.delegation.interface import BackendError, backend_names
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.targets.interface import Target, find_target, target_names
from flambeau.support.suggestions import did_you_mean

Scheme: TypeAlias = Literal["int8", "int8-dynamic", "w8", "float"]

SCHEMES: Final = ("int8", "int8-dynamic", "w8")
"""Integers for weights and results, with ranges from samples or from each run; or for weights only."""
FLOAT: Final = "float"

_FEWER_BITS = re.compile(r"(?<!\d)[1-7](?!\d)")
"""A name that asks for weights of fewer than 8 bits, as in int4, w4, 4bit and 8da4w."""


class RecipeError(ValueError):
    """An error of a recipe that does not exist, or does not fit the program. The message is one line for the user."""


def check_scheme(name: str) -> None:
    """Raises RecipeError for a name that is no recipe, with what exists instead."""
    if name in (*SCHEMES, FLOAT):
        return
    fewer = _FEWER_BITS.search(name)
    bits = "" if fewer is None else f"; no recipe has weights of {fewer[0]} bits, and w8 makes the smallest programs"
    near = bits or did_you_mean(name, SCHEMES)
    raise RecipeError(f"there is no recipe {name!r}; there are {', '.join(SCHEMES)}{near}")


def quantizing_target(backend: str | Partitioner | None) -> Target | None:
    """Returns the target of this name whose programs get quantized numbers of its own; None if there is none."""
    found = find_target(backend) if isinstance(backend, str) and backend in target_names() else None
    return None if found is None or found.numbers is None else found


def quantizing_backend(backend: str | Partitioner) -> Partitioner:
    """Returns the backend of a name, perhaps with options. Raises RecipeError if it does not exist or takes no quantized numbers."""
    try:
        found = Partitioner(backend) if isinstance(backend, str) else backend
    except BackendError as error:
        raise RecipeError(f"{error} ({_those_with_integers()})") from None
    if not found.table.has_integers:
        raise RecipeError(f"the backend {str(backend)!r} takes no quantized numbers ({_those_with_integers()})")
    return found


def _those_with_integers() -> str:
    names = [name for name in backend_names() if Partitioner(name).table.has_integers]
    names += [name for name in target_names() if quantizing_target(name) is not None]
    return f"with quantized numbers: {', '.join(names) or 'none'}"
