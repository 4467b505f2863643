"""Silences the logs of libraries."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def logs_silenced() -> Generator[None, None, None]:
    """Silences logging within the block, because libraries log a failure and also raise it; does nothing if FLAMBEAU_DEBUG is set."""
    before = logging.root.manager.disable
    if not os.environ.get("FLAMBEAU_DEBUG"):
        logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
