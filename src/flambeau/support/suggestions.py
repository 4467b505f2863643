"""Suggests the most similar known name, for messages about unknown names."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Returns the known name most similar to `name`; None if no similarity reaches `cutoff`, from 0 (anything) to 1 (equal)."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Returns the most similar known name as `; did you mean 'relu'?`, or an empty text."""
    near = nearest(name, known, cutoff)
    return "" if near is None else f"; did you mean {near!r}?"
