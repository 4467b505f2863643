"""The value of what could not be imported, so that its uses say nothing more."""

from __future__ import annotations

from typing import Any, cast


class _Poison:
    """The value of a node that could not be imported: its uses say nothing more."""


POISON = _Poison()


def is_poisoned(value: Any) -> bool:
    """Whether a value could not be imported, or one in a list of values."""
    if isinstance(value, list):
        return any(is_poisoned(item) for item in cast("list[Any]", value))
    return value is POISON
