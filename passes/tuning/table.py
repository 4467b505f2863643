"""Tables of choices: a file of JSON with what was measured of each operator, on each instruction set and number of threads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, cast

from flambeau.passes.tuning.choices import CHOICES
from flambeau.support.files import write_text
from flambeau.support.one_line import OneLineError
from flambeau.support.suggestions import did_you_mean

VERSION = 1
_HEAD = "flambeau tuning"


class TuningError(OneLineError):
    """Reports a file that is no table of choices."""


@dataclass(frozen=True)
class Place:
    """An operator where its choice was measured.

    Attributes:
        isa: the instruction set of the kernels, as the runtime names it.
        threads: how many computed.
        operator: its name, with its shapes and parameters.
    """

    isa: str
    threads: int
    operator: str


@dataclass(frozen=True)
class Entry:
    """A choice, and the seconds of one run with each candidate."""

    choice: str
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass
class TuningTable:
    """The choices of operators."""

    entries: dict[Place, Entry] = field(default_factory=dict[Place, Entry])

    def choices(self, isa: str, threads: int) -> dict[str, str]:
        """Returns the choices of one instruction set and number of threads, by the names of operators."""
        return {place.operator: entry.choice for place, entry in self.entries.items() if (place.isa, place.threads) == (isa, threads)}

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the table, a line for each operator. Raises OSError."""
        lines = [
            json.dumps({**vars(place), "choice": entry.choice, "seconds": dict(entry.seconds)})
            for place, entry in sorted(self.entries.items(), key=lambda item: tuple(vars(item[0]).values()))
        ]
        text = ",\n".join(lines)
        write_text(path, f'{{"{_HEAD}": {VERSION}, "entries": [\n{text}\n]}}\n')


def read_table(path: str | PathLike[str]) -> TuningTable:
    """Returns the table in a file. Raises TuningError, which names the file and the first entry that is wrong."""
    try:
        whole: object = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise TuningError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TuningError(f"{path}: not a table of choices: {error}; flambeau tune writes one") from error
    members = cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}
    version, entries = members.get(_HEAD), members.get("entries")
    if type(version) is int and version != VERSION:
        raise TuningError(f"{path}: a table of choices of version {version}, and this compiler reads version {VERSION}: tune again")
    if type(version) is not int or not isinstance(entries, list) or len(members) > 2:
        raise TuningError(f'{path}: not a table of choices: it is {{"{_HEAD}": {VERSION}, "entries": […]}}; flambeau tune writes one')
    found = TuningTable()
    for number, item in enumerate(cast("list[object]", entries)):
        try:
            place, entry = _entry(item)
            if place in found.entries:
                raise TuningError(f"the second of {place.operator!r} on {place.isa} with threads={place.threads}")
        except TuningError as error:
            raise TuningError(f"{path}: entry {number}: {error}") from error
        found.entries[place] = entry
    return found


_MEMBERS = {"isa": str, "threads": int, "operator": str, "choice": str, "seconds": dict}
"""The types of the members of an entry."""


def _entry(item: object) -> tuple[Place, Entry]:
    members = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    if {name: type(value) for name, value in members.items()} != _MEMBERS or members["threads"] < 1:
        raise TuningError(f"isa, threads, operator, choice and seconds are its members, of the right type; got {json.dumps(item)}")
    choice, seconds = members["choice"], members["seconds"]
    for name in (choice, *seconds):
        if name not in CHOICES:
            raise TuningError(f"there is no choice {name!r}{did_you_mean(name, CHOICES)}; there are {', '.join(CHOICES)}")
    for name, time in seconds.items():
        if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < float("inf"):
            raise TuningError(f"the seconds of {name} must be a number, got {json.dumps(time)}")
    place = Place(members["isa"], members["threads"], members["operator"])
    return place, Entry(choice, {name: float(time) for name, time in seconds.items()})
