"""The options of campaigns for working in several processes, or on a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager

from flambeau.tools.jobs.executors import JobsError, open_executor
from flambeau.tools.process import INTERRUPTED


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--jobs` and `--cluster`."""
    parser.add_argument("--jobs", type=int, metavar="N", help="processes that work at the same time (1)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="work on the cluster of this Dask scheduler instead")


@contextmanager
def chosen_executor(options: argparse.Namespace) -> Generator[Executor]:
    """Opens the executor of the options: always other processes, so that a crash costs one piece of work. Ends the campaign with a line."""
    try:
        with open_executor(options.jobs or (None if options.cluster else 1), options.cluster) as executor:
            yield executor
    except JobsError as error:
        raise SystemExit(f"error: {error}") from error
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
