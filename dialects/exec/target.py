"""Targets: which operators a program may use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Target:
    """A runtime as the compiler sees it."""

    name: str
    operators: frozenset[str]
    """Qualified names of the kernels it registers: `aten::add.out`."""


class UnknownTargetError(ValueError):
    """A target's name that nobody knows."""


@cache
def target_names() -> tuple[str, ...]:
    """The targets that exist: a list of operators in `targets/`, and `flambeau` itself."""
    listed = (path.name.removesuffix(".txt") for path in resources.files("flambeau.dialects.exec").joinpath("targets").iterdir())
    return tuple(sorted({"flambeau", *listed}))


@cache
def find_target(name: str) -> Target:
    """The target with this name. Raises UnknownTargetError that lists those that exist."""
    if name == "flambeau":
        from flambeau.runtime.manifest import kernel_names

        return Target(name, frozenset(kernel_names()))
    if name not in target_names():
        raise UnknownTargetError(f"there is no target {name!r}; there are {', '.join(target_names())}")
    lines = resources.files("flambeau.dialects.exec").joinpath("targets", f"{name}.txt").read_text().splitlines()
    return Target(name, frozenset(line for line in lines if line and not line.startswith("#")))
