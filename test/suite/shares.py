"""Shares of the widest products and of random campaigns: a run of the suite makes one of ten, and ten commits in a row make all.

    @pytest.mark.parametrize("name", drawn(NAMES))      # a tenth of them; all of them in `make test-all`
    run(CAMPAIGN, drawn(range(100)))                    # of the seeds of a campaign

`FLAMBEAU_SHARE` says which share: its number, `all`, or a commit. Without it, the share is that of the commit that is checked out: the
last digit of its number, which `git rev-list --count` tells. Directed tests are never drawn from.

    python test/suite/shares.py 40000                 # prints the first and the number of a share of so many trials: 8000 4000
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar
from zlib import crc32

SHARES = 10
_ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
W = TypeVar("W")


@dataclass(frozen=True)
class Share:
    """A share of what is drawn."""

    number: int | None
    """From 0 to `SHARES` - 1, or None: all of them."""
    commit: str
    """Its hash; empty outside of a git checkout."""

    def __str__(self) -> str:
        if self.number is None:
            return "all shares"
        return f"share {self.number} of {SHARES}, of {self.commit[:12] or 'no commit'}: FLAMBEAU_SHARE={self.number} repeats it"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, encoding="utf-8", check=False).stdout.strip()


@cache
def share_of(text: str) -> Share:
    """Returns the share that `FLAMBEAU_SHARE` names."""
    if text == "all" or (text.isdecimal() and len(text) == 1):
        return Share(None if text == "all" else int(text), _git("rev-parse", "HEAD"))
    commit = text or "HEAD"
    return Share(int(_git("rev-list", "--count", commit) or 0) % SHARES, _git("rev-parse", commit))


def share() -> Share:
    """Returns the share of this run."""
    return share_of(os.environ.get("FLAMBEAU_SHARE", ""))


def drawn(items: Iterable[T], key: Callable[[T], str] = str, parts: int = SHARES, of: Share | None = None) -> list[T]:
    """Returns the items of a share: one of `parts`, or a single item where there are fewer items than parts.

    Items are dealt in the order of a checksum of their keys, so that neighbours, which are alike, go to different shares at random.

    Args:
        items: all items; ten shares in a row hold each of them.
        key: a text that tells an item from the others, the same in each process.
        parts: how many shares the items are dealt to, at most `SHARES`.
        of: the share; None for that of the run.
    """
    number = (of or share()).number
    all_items = list(items)
    if number is None:
        return all_items
    dealt = sorted(range(len(all_items)), key=lambda place: crc32(key(all_items[place]).encode()))
    parts = min(parts, len(dealt))
    return [all_items[place] for place in sorted(dealt[number % parts :: parts])] if parts else []


def dealt(items: Iterable[T], ways: Sequence[W], of: Share | None = None) -> list[tuple[T, W]]:
    """Returns each item with one of its ways, such as a program with one of the targets; with all of them where all shares are made.

    Args:
        items: all items, in each share.
        ways: at most `SHARES`; an item takes the next one in the next share.
        of: the share; None for that of the run.
    """
    number = (of or share()).number
    if number is None:
        return [(item, way) for item in items for way in ways]
    return [(item, ways[(place + number) % len(ways)]) for place, item in enumerate(items)]


def block(count: int, of: Share | None = None) -> range:
    """Returns the numbers of a share of so many trials, next to each other."""
    number = (of or share()).number
    return range(count) if number is None else range(number * count // SHARES, (number + 1) * count // SHARES)


if __name__ == "__main__":
    numbers = block(int(sys.argv[1]))
    print(numbers.start, len(numbers))
