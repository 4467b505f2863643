"""What campaigns share: cases made from seeds, a limit of time for each, failures told apart, made small and kept."""

from __future__ import annotations

import random
import signal
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType


class Failure(Exception):
    """What is wrong with a case; failures of one kind are reported once."""

    def __init__(self, kind: str, details: str = ""):
        super().__init__(f"{kind}\n{details}" if details else kind)
        self.kind = kind


class Hang(BaseException):
    """A case took too long. No handler of errors may swallow it."""


@contextmanager
def limited(seconds: int) -> Generator[None, None, None]:
    """Raises Hang when the block computes for longer, or takes much longer: the machine may be busy."""

    def hang(number: int, frame: FrameType | None) -> None:
        raise Hang("".join(traceback.format_stack(frame)[-6:]))

    signals = signal.SIGALRM, signal.SIGPROF
    before = [signal.signal(number, hang) for number in signals]
    signal.alarm(20 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


@dataclass(frozen=True)
class Campaign:
    """Cases, each a text made from a random generator, and the check that each must pass."""

    make: Callable[[random.Random], str]
    check: Callable[[str], str]
    """Raises Failure; returns a word for what the case was, for the count."""
    limit: int = 60
    """Seconds of computing for one case."""


@dataclass
class Outcome:
    """What a campaign met."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    failures: dict[str, tuple[int, str, str]] = field(default_factory=dict[str, tuple[int, str, str]])
    """For each kind of failure, the first seed, the case, and what is wrong."""


def failure_of(campaign: Campaign, case: str) -> tuple[Failure | None, str]:
    """What is wrong with a case, if anything, and the word for it."""
    try:
        with limited(campaign.limit):
            return None, campaign.check(case)
    except Failure as failure:
        return failure, "failed"
    except Hang as hang:
        return Failure("hang", str(hang)), "failed"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}"
        return Failure(kind, "".join(traceback.format_exception(error)[-8:])), "failed"


def run(
    campaign: Campaign, seeds: Sequence[int] | range, seconds: float | None = None, tell: Callable[[Outcome], None] | None = None
) -> Outcome:
    """Runs the cases of these seeds, as many as the time allows, or until an interrupt from the keyboard.

    Args:
        campaign: the cases and their check.
        seeds: what each case is made from.
        seconds: the time; None for as long as it takes.
        tell: gets what was met so far, after each case.
    """
    outcome = Outcome()
    end = None if seconds is None else time.monotonic() + seconds
    for seed in seeds:
        if end is not None and time.monotonic() > end:
            break
        try:
            case = campaign.make(random.Random(seed))
            failure, word = failure_of(campaign, case)
        except KeyboardInterrupt:
            break
        outcome.counts[word] = outcome.counts.get(word, 0) + 1
        if failure is not None and failure.kind not in outcome.failures:
            outcome.failures[failure.kind] = (seed, case, str(failure))
        if tell is not None:
            tell(outcome)
    return outcome


def smaller(campaign: Campaign, case: str, kind: str, seconds: float = 60) -> str:
    """A case of the same failure from which no line, no word and no character can be left out, as far as the time allows."""
    end = time.monotonic() + seconds
    for whole, joint in ((case.splitlines(keepends=True), ""), ([], " "), ([], "")):
        parts: list[str] = whole or (case.split(joint) if joint else list(case))
        if len(parts) > 2000:
            continue
        size = max(1, len(parts) // 2)
        while time.monotonic() < end:
            place, changed = 0, False
            while place < len(parts) and time.monotonic() < end:
                fewer = parts[:place] + parts[place + size :]
                failure, _ = failure_of(campaign, joint.join(fewer))
                if failure is not None and failure.kind == kind:
                    parts, changed = fewer, True
                else:
                    place += size
            if size == 1 and not changed:
                break
            size = max(1, size // 2)
        case = joint.join(parts)
    return case
