"""How the tools end: the exit statuses of what is no plain success or error, and reports that nobody reads any more."""

from __future__ import annotations

import os
import sys

CRASHED = 70
"""The exit status of a bug in a pass or in the tool, as in sysexits.h."""
INTERRUPTED, BROKEN_PIPE = 130, 141
"""The exit statuses of tools that SIGINT and SIGPIPE end."""


def forget_stdout() -> None:
    """Lets the interpreter's last flush go nowhere: whoever read our output has left."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
