"""Keeps quiet what libraries log."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def logs_silenced() -> Generator[None, None, None]:
    """Silences a library's log of a failure, which fills the screen and says no more than the error; not with FLAMBEAU_DEBUG."""
    before = logging.root.manager.disable
    if not os.environ.get("FLAMBEAU_DEBUG"):
        logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
