"""Binary search for where a sequence of states turns from good to bad."""

from __future__ import annotations

from collections.abc import Callable


def first_bad(good: int, bad: int, is_bad: Callable[[int], bool]) -> int:
    """A state that is bad while the one before it is good.

    It is the first bad one where the states turn bad once; where they go back and forth, it is one of the turns.

    Args:
        good: a state known to be good.
        bad: a later one known to be bad.
        is_bad: asked of states in between, about log2(bad - good) times.
    """
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(middle):
            bad = middle
        else:
            good = middle
    return bad
