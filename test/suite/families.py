"""Tests of many names with an item for each family of them: a report and the fixtures of an item cost more than most names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each(names: Iterable[str], family_of: Callable[[str], str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test, whose first argument is a name, for each name of a family in one item, which fails with the errors of all names."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(family_of(name), []).append(name)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(family: str, **others: Any) -> None:
            errors: list[Exception] = []
            for name in families[family]:
                try:
                    test(name, **others)
                except Exception as error:
                    error.add_note(f"of {name}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(families[family])}", errors)

        first, *rest = inspect.signature(test).parameters.values()
        vars(run)["__signature__"] = inspect.Signature([first.replace(name="family", annotation=str), *rest])
        return pytest.mark.parametrize("family", sorted(families))(run)

    return decorate
