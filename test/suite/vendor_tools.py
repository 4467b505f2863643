"""The tools of vendors that `make vendor-tools` installs, each group in a Python of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PLACE = Path(__file__).parents[2] / "build" / "tools"


def installed(group: str, name: str = "python") -> Sequence[str]:
    """The path of a group's program as the parameters of a test; none, so that the test is skipped, where it is not installed."""
    path = PLACE / group / "bin" / name
    return [str(path)] if (PLACE / group / ".installed").exists() and path.exists() else []
