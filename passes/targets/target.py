"""Targets: which operators a program may use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, TypeAlias

from flambeau.support.tables import RegistrationError, Table, hint


@dataclass(frozen=True)
class Target:
    """A runtime as the compiler sees it."""

    name: str
    operators: frozenset[str]
    """Qualified names of the kernels it registers: `aten::add.out`."""


class UnknownTargetError(ValueError):
    """A target's name that nobody knows."""


@cache
def _own_names() -> tuple[str, ...]:
    """The built-in targets: a list of operators in this folder, and `flambeau` itself."""
    listed = (path.name.removesuffix(".txt") for path in resources.files("flambeau.passes.targets").iterdir() if path.name.endswith(".txt"))
    return tuple(sorted({"flambeau", *listed}))


@cache
def _own(name: str) -> Target:
    if name == "flambeau":
        from flambeau.runtime.manifest import kernel_names

        return Target(name, frozenset(kernel_names()))
    lines = resources.files("flambeau.passes.targets").joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return Target(name, frozenset(line for line in lines if line and not line.startswith("#")))


_TARGETS: Table[Target] = Table("target", lambda name: ("Flambeau", _own(name)) if name in _own_names() else None)


def register_target(target: Target) -> None:
    """Makes a target known by its name. Raises RegistrationError for a name that is taken, or operators without a namespace."""
    odd = sorted(operator for operator in target.operators if "::" not in operator)
    if odd:
        raise RegistrationError(f"target {target.name!r}: {odd[0]!r} is not the name of a kernel; write names such as 'aten::add.out'")
    _TARGETS.add(target.name, target)


def target_names() -> tuple[str, ...]:
    """The targets that exist: built in, or registered."""
    return tuple(sorted((*_own_names(), *_TARGETS.items())))


def find_target(name: str) -> Target:
    """The target with this name. Raises UnknownTargetError that lists those that exist."""
    if name in _own_names():
        return _own(name)
    found = _TARGETS.find(name)
    if found is None:
        raise UnknownTargetError(f"there is no target {name!r}{hint(name, list(target_names()), listing=True)}")
    return found


TargetName: TypeAlias = Annotated[str, find_target]
"""An option that names a target."""
