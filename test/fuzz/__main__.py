"""Runs one campaign: see the package."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from itertools import count
from pathlib import Path

from fuzz.campaign import Campaign, Outcome, run, smaller


class _Progress:
    """Writes what a campaign has met: every half minute, and when a case fails in a way that is new. What is killed has its figures so."""

    def __init__(self, name: str):
        self.name = name
        self.last = time.monotonic()
        self.failures = 0

    def __call__(self, outcome: Outcome) -> None:
        failures = len(outcome.failures)
        if failures > self.failures or time.monotonic() > self.last + 30:
            self.last, self.failures = time.monotonic(), failures
            seeds = ", ".join(f"{kind} (seed {seed})" for kind, (seed, _, _) in outcome.failures.items())
            print(f"so far, {figures(self.name, outcome)}{f'; {seeds}' if seeds else ''}", file=sys.stderr, flush=True)


def figures(name: str, outcome: Outcome) -> str:
    """How many cases there were, and of each sort how many."""
    return f"{name}: {sum(outcome.counts.values())} cases: {', '.join(f'{n} {word}' for word, n in outcome.counts.items())}"


def main() -> int:
    """Returns whether anything failed."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "CAMPAIGN = " in path.read_text() and path.stem[0] != "_")
    parser = argparse.ArgumentParser(prog="fuzz", description="Random inputs against what reads them.")
    parser.add_argument("campaign", choices=names)
    parser.add_argument("--seconds", type=float, help="how long (60, or until --cases are done)")
    parser.add_argument("--cases", type=int, help="how many cases (as many as the time allows)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; campaigns of different seeds have no case in common (1)")
    parser.add_argument("--keep", type=Path, help="a folder for the cases that failed, made small")
    arguments = parser.parse_args()
    campaign: Campaign = importlib.import_module(f"fuzz.{arguments.campaign}").CAMPAIGN
    seeds = range(arguments.seed * 10**9, (arguments.seed + 1) * 10**9)
    seconds = arguments.seconds if arguments.seconds is not None or arguments.cases is not None else 60
    outcome = run(campaign, seeds[: arguments.cases], seconds, _Progress(arguments.campaign))
    print(figures(arguments.campaign, outcome))
    numbers = count(1)
    for kind, (seed, case, details) in outcome.failures.items():
        number = next(numbers)
        print(f"\n== failure {number}, seed {seed}: {details}")
        if arguments.keep is not None:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            small = smaller(campaign, case, kind)
            (arguments.keep / f"{arguments.campaign}-{seed}.txt").write_text(small, encoding="utf-8", errors="surrogatepass")
            print(f"-- small:\n{small[:3000]}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
