"""Text on a terminal."""

from __future__ import annotations

import os
from typing import IO


def wants_colour(stream: IO[str], *, always: bool = False) -> bool:
    """Whether to colour what goes to `stream`: on a terminal that can, or `always`, or if FORCE_COLOR or CLICOLOR_FORCE says so.

    NO_COLOR says otherwise to all of them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    forced = any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    return always or forced or (stream.isatty() and os.environ.get("TERM") != "dumb")
