"""Faults that are planted in the source one at a time: which part of `make test` catches each.

    PYTHONPATH=test python test/campaigns/faults.py list --seed 1
    PYTHONPATH=test python test/campaigns/faults.py run --seed 1 [--only 3 17] [--directed] [--json build/faults.json]

The seed draws 15 faults for each of four rooms from the files of the commit HEAD: rows, C kernels, passes, and the checks of what programs
hold. `run` plants each in a working tree of its own, `build/faults`, runs what is nearest first, and stops where something fails. It
returns 1 if a fault survives, or if what caught one fails without it too. FLAMBEAU_SHARE says what is made of the widest products, as for
`make test`. A fault that changes nothing that can be observed belongs in `equivalent_faults.json`, with the reason; the next draw takes
its place.

No tool for mutation testing changes both C and Python and runs the parts of a suite in an order: those for Python run one command for all,
and those for C need a compiler of their own.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from campaigns.c_mutations import c_mutations
from campaigns.fault_trials import Outcome, Trials
from campaigns.mutations import Mutation, Operator
from campaigns.python_mutations import is_python, python_mutations
from suite.shares import share

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "rows": ("dialects/aten", "dialects/quantized_decomposed", "dialects/fused", "dialects/torchvision"),
    "kernels": ("runtime/c/kernels",),
    "passes": ("passes/conversion", "passes/transforms", "passes/memory", "passes/delegation", "passes/rewriting"),
    "checks": ("runtime/c/core", "runtime/pte", "runtime/flatbuffer"),
}
IN_A_ROOM = 15
EQUIVALENT = Path(__file__).with_name("equivalent_faults.json")


class Key(NamedTuple):
    """What names a fault while the lines around it move."""

    file: str
    scope: str
    operator: Operator
    before: str
    after: str


@dataclass(frozen=True)
class Fault:
    """One change of one place of the source.

    Attributes:
        room: the part of the project.
        line: number of the first line that it changes.
        key: its file, its function, and the lines before and after.
        text: the whole file with the fault.
    """

    room: str
    line: int
    key: Key
    text: str

    def __str__(self) -> str:
        """The place, the operator, and the lines before and after."""
        lines = [f"- {line}" for line in self.key.before.splitlines()] + [f"+ {line}" for line in self.key.after.splitlines()]
        place = f"{self.room}: {self.key.file}:{self.line} in {self.key.scope or 'the module'}: {self.key.operator}"
        return "\n".join([place, *(f"    {line}" for line in lines)])


def sources(commit: str, folders: tuple[str, ...]) -> dict[str, str]:
    """The text of each file of Python and C in the folders at a commit, by its path."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, *folders], capture_output=True, check=True).stdout
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.name.endswith((".py", ".c", ".h")) and (file := files.extractfile(member)):
                found[member.name] = file.read().decode()
    return found


def mutations_of(path: str, source: str) -> list[Mutation]:
    """All mutations of a file."""
    return python_mutations(source) if path.endswith(".py") else c_mutations(source)


def draws(room: str, files: dict[str, str], seed: int) -> Iterator[Fault]:
    """The faults of a room in the order of a seed, which takes each operator as often as the others."""
    pools: dict[Operator, list[tuple[str, Mutation]]] = {}
    for path, source in sorted(files.items()):
        for mutation in mutations_of(path, source):
            pools.setdefault(mutation.operator, []).append((path, mutation))
    chance = random.Random(f"{seed} {room}")
    while pools:
        operator = chance.choice(sorted(pools))
        path, mutation = pools[operator].pop(chance.randrange(len(pools[operator])))
        if not pools[operator]:
            del pools[operator]
        text = mutation.applied(files[path])
        if not path.endswith(".py") or is_python(text):
            line, before, after = mutation.lines(files[path])
            yield Fault(room, line, Key(path, mutation.scope, operator, before.strip(), after.strip()), text)


def equivalent() -> dict[Key, str]:
    """The faults that were judged to change nothing, with the reasons."""
    entries: list[dict[str, Any]] = json.loads(EQUIVALENT.read_text())
    return {Key(*(entry[name] for name in Key._fields)): entry["reason"] for entry in entries}


def drawn(commit: str, seed: int) -> list[Fault]:
    """The faults of a seed, room by room."""
    faults: list[Fault] = []
    left_out = equivalent()
    for room, folders in ROOMS.items():
        found = (fault for fault in draws(room, sources(commit, folders), seed) if fault.key not in left_out)
        faults += [fault for fault, _ in zip(found, range(IN_A_ROOM), strict=False)]
    return faults


def main() -> int:
    """Runs the campaign; returns the exit status."""
    parser = argparse.ArgumentParser(description="Plants faults in the source, and says which part of the tests catches each.")
    parser.add_argument("action", choices=["list", "run"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="these faults, by their numbers in the list")
    parser.add_argument(
        "--directed", action="store_true", help="do not run the whole of pytest for what the tests near the place let through"
    )
    parser.add_argument(
        "--limit", type=float, default=1200, help="seconds of silence after which a test counts as a hang, more on a busy machine"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that work at the same time")
    parser.add_argument("--json", type=Path, help="file to write the report to")
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"seed {options.seed}, commit {commit}; of what the suite draws, {share()}", flush=True)
    faults = {number: fault for number, fault in enumerate(drawn(commit, options.seed), 1) if number in (options.only or [number])}
    if options.action == "list":
        for number, fault in faults.items():
            print(f"{number:2} {fault}")
        return 0
    signal.signal(signal.SIGTERM, stop)
    trials = Trials(ROOT, ROOT / "build" / "faults", commit, options.limit, options.jobs)
    outcomes: dict[int, Outcome] = {}
    for number, fault in faults.items():
        print(f"{number:2} {fault}", flush=True)
        outcomes[number] = trials.outcome(fault.key.file, fault.text, options.directed)
        print(f"    {outcomes[number]}", flush=True)
        write(options.json, options.seed, commit, faults, outcomes)
    wrong = trials.failing_without_faults()
    for found in wrong:
        print(f"fails without a fault too: {found}")
    caught = sum(outcome.part is not None for outcome in outcomes.values())
    print(f"{caught} of {len(outcomes)} faults were caught")
    return int(caught < len(outcomes) or bool(wrong))


def stop(number: int, frame: FrameType | None) -> None:
    """Ends the campaign as an exception does, so that the fault is taken back and what runs ends."""
    raise SystemExit(128 + number)


def write(path: Path | None, seed: int, commit: str, faults: dict[int, Fault], outcomes: dict[int, Outcome]) -> None:
    """Writes what is known so far."""
    if path:
        entries = [
            {"number": number, "room": faults[number].room, "line": faults[number].line, **faults[number].key._asdict(), **asdict(outcome)}
            for number, outcome in outcomes.items()
        ]
        path.write_text(json.dumps({"seed": seed, "commit": commit, "faults": entries}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
