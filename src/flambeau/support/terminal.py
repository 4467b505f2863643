"""Decides whether to write colours to a stream."""

from __future__ import annotations

import os
from typing import IO


def wants_colour(stream: IO[str], *, always: bool = False) -> bool:
    """Returns whether to colour text on `stream`: on a terminal with colours, if `always`, or if FORCE_COLOR or CLICOLOR_FORCE is set.

    NO_COLOR takes priority over all of them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    forced = any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    return always or forced or (stream.isatty() and os.environ.get("TERM") != "dumb")
