"""Native constraints: functions that `pdl.apply_native_constraint` names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from flambeau.passes.rewriting.pdl.state import Matched

Constraint: TypeAlias = Callable[..., bool]
"""Whether operations, values, attributes and types that were matched may be rewritten."""

_CONSTRAINTS: dict[str, Constraint] = {}


def pdl_constraint(name: str) -> Callable[[Constraint], Constraint]:
    """Makes the function below known to patterns under `name`: `pdl.apply_native_constraint "name"(%op : !pdl.operation)`."""

    def declare(function: Constraint) -> Constraint:
        _CONSTRAINTS[name] = function
        return function

    return declare


def find_constraint(name: str) -> Constraint | None:
    """Returns the constraint of this name."""
    return _CONSTRAINTS.get(name)


def constraint_names() -> tuple[str, ...]:
    """Returns the names of all constraints."""
    return tuple(sorted(_CONSTRAINTS))


@pdl_constraint("has_one_use")
def has_one_use(item: Matched) -> bool:
    """Returns whether a value, or the results of an operation together, are read at one place only."""
    values = item.results if isinstance(item, Operation) else [value for value in [item] if isinstance(value, SSAValue)]
    return sum(1 for value in values for _ in value.uses) == 1


@pdl_constraint("same")
def same(first: Matched, second: Matched) -> bool:
    """Returns whether two things are the same value or operation, or equal attributes or types."""
    return first is second or (not isinstance(first, Operation | SSAValue) and first == second)
