"""Shares of the widest products and of random campaigns: a run of the suite makes one of ten, and ten commits in a row make all.

    @pytest.mark.parametrize("name", drawn(NAMES))      # a tenth of them; all of them in `make test-all`
    random.Random(f"layouts {share().seed}")            # another campaign for each commit

`FLAMBEAU_SHARE` says which share: its number, `all`, or a commit. Without it, the share is that of the commit that is checked out: the
last digit of its number, which `git rev-list --count` tells. Directed tests are never drawn from.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar
from zlib import crc32

SHARES = 10
_ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """A share of what is drawn."""

    number: int | None
    """From 0 to `SHARES` - 1, or None: all of them."""
    commit: str
    """Its hash; empty outside of a git checkout."""

    @property
    def seed(self) -> str:
        """The seed of random campaigns: the commit's hash."""
        return self.commit or "no commit"

    def __str__(self) -> str:
        which = "all shares" if self.number is None else f"share {self.number} of {SHARES}"
        return f"{which}, seed {self.seed[:12]}"


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


def drawn(items: Iterable[T], key: Callable[[T], str] = str, of: Share | None = None) -> list[T]:
    """Returns the items of a share (that of the run): each item is in one share, and shares differ by one item at most.

    Items are dealt in the order of a checksum of their keys, so that neighbours, which are alike, go to different shares at random.
    """
    number = (of or share()).number
    all_items = list(items)
    if number is None:
        return all_items
    dealt = sorted(range(len(all_items)), key=lambda place: crc32(key(all_items[place]).encode()))
    return [all_items[place] for place in sorted(dealt[number::SHARES])]
