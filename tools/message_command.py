"""`flambeau message`: prints the sentences of errors that a C runtime wrote as numbers."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated

import typer

from flambeau.runtime.messages import sentence


def message_command(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="the error, such as '#41 3', or - for lines on stdin, such as a device's log")
    ],
) -> None:
    """Print the sentence of an error of a runtime that was built with FLAMBEAU_MESSAGES=numbers."""
    for line in sys.stdin.buffer if text == "-" else [os.fsencode(text)]:
        line = line.rstrip(b"\r\n")
        begin = found.start() if (found := re.search(rb"#\d", line)) else len(line)
        sys.stdout.write((line[:begin] + sentence(line[begin:])).decode(errors="replace") + "\n")
    sys.stdout.flush()
