"""Text on a terminal."""

from __future__ import annotations

import os
from typing import IO


def wants_colour(stream: IO[str], *, always: bool = False) -> bool:
    """Whether to colour what goes to `stream`: on a terminal or `always`, but never if NO_COLOR is set."""
    return (always or stream.isatty()) and not os.environ.get("NO_COLOR")
