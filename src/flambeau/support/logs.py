"""Silences the logs of libraries."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def logs_silenced() -> Generator[None, None, None]:
    """Silences a library's log of a failure, which repeats the error; not with FLAMBEAU_DEBUG."""
    before = logging.root.manager.disable
    if not os.environ.get("FLAMBEAU_DEBUG"):
        logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
