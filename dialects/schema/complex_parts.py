"""Rules that say what an operator on complex tensors is in terms of their real and imaginary parts."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import SSAValue

from flambeau.dialects.schema.schema import Schema


@dataclass(frozen=True)
class Parts:
    """A complex tensor as two real ones of one type."""

    real: SSAValue
    imaginary: SSAValue | None
    """None: all are 0."""

    @property
    def both(self) -> tuple[SSAValue, SSAValue]:
        """Two tensors. Raises ValueError where the imaginary one is not there."""
        if self.imaginary is None:
            raise ValueError("the tensor has no imaginary part")
        return self.real, self.imaginary


Rule: TypeAlias = "Callable[..., Any] | None"
"""From the arguments of an operator, of which complex tensors are `Parts`, to its results, which may be `Parts` too.

It takes the arguments that its parameters name, as the functions of a row do. None: the operator stays.
"""
RULES: dict[str, Rule] = {}
"""The rules that have been imported, by the operator's name without its dialect."""
RuleT = TypeVar("RuleT", bound=Callable[..., Any])


def on_parts(*names: str) -> Callable[[RuleT], RuleT]:
    """Makes the function below the rule of the operators with these names."""

    def declare(function: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(names, function))
        return function

    return declare


def has_rule(schema: Schema) -> bool:
    """Whether an operator takes complex tensors: a rule says so."""
    return schema.name in complex_rules()


@cache
def complex_rules() -> dict[str, Rule]:
    """The rules of every operator that takes complex tensors or gives them."""
    for name in ("complex_arithmetic", "complex_functions", "complex_rules"):
        importlib.import_module(f"flambeau.dialects.aten.complex_numbers.{name}")
    return RULES
