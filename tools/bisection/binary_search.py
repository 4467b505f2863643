"""Binary search for the point where a sequence of states turns from good to bad."""

from __future__ import annotations

from collections.abc import Callable


def first_bad(good: int, bad: int, is_bad: Callable[[int], bool | None]) -> tuple[int, int]:
    """Returns a good state and a later bad one, with only undecided states between them: mostly neighbours.

    If the states turn bad once, the second number is the first bad state. If they alternate, it is the bad state of one such change.

    Args:
        good: a state known to be good.
        bad: a later state known to be bad.
        is_bad: judges a state between them; None if undecided. Called about log2(bad - good) times if all answers are decided.
    """
    untold: set[int] = set()
    while open_states := [state for state in range(good + 1, bad) if state not in untold]:
        middle = min(open_states, key=lambda state: abs(2 * state - good - bad))
        match is_bad(middle):
            case None:
                untold.add(middle)
            case True:
                bad = middle
            case False:
                good = middle
    return good, bad
