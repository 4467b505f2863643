"""Tables of choices: what is written is read, and files that are none are refused in a line."""

import json
from pathlib import Path
from typing import Any

import pytest

from flambeau.passes.tuning.choices import CHOICES, candidates
from flambeau.passes.tuning.table import Entry, Place, TuningError, TuningTable, read_table

ENTRY: dict[str, Any] = {"isa": "aarch64", "threads": 1, "operator": "convolution …", "choice": "direct", "seconds": {"direct": 1e-3}}


def table_of(*entries: object, **head: object) -> str:
    return json.dumps({"flambeau tuning": 1, "entries": entries, **head})


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    table = TuningTable(
        {
            Place("x86-64-v4", 2, "b"): Entry("winograd-4", {"default": 3e-6, "winograd-4": 1.5e-6}),
            Place("x86-64-v4", 1, "b"): Entry("row-major"),
            Place("", 1, "a"): Entry("default", {"default": 0.0}),
        }
    )
    table.write(tmp_path / "a.json")
    assert read_table(tmp_path / "a.json") == table
    assert len((tmp_path / "a.json").read_text().splitlines()) == 5
    assert table.choices("x86-64-v4", 1) == {"b": "row-major"} and table.choices("x86-64-v4", 2) == {"b": "winograd-4"}
    assert table.choices("x86-64-v3", 1) == {}
    TuningTable().write(tmp_path / "a.json")
    assert read_table(tmp_path / "a.json") == TuningTable()


REFUSED = {
    "": "not a table of choices: Expecting value",
    "\x00": "not a table of choices",
    "[" * 100_000: "not a table of choices",
    "[]": "not a table of choices: it is {",
    '{"entries": []}': "flambeau tune writes one",
    table_of(more=1): "flambeau tune writes one",
    table_of(entries={}): "flambeau tune writes one",
    json.dumps({"flambeau tuning": 2}): "of version 2, and this compiler reads version 1: tune again",
    table_of(3): "entry 0: isa, threads, operator, choice and seconds are its members, of the right type; got 3",
    table_of(ENTRY, {**ENTRY, "isa": 1}): "entry 1: isa, threads",
    table_of({**ENTRY, "more": 1}): "entry 0: isa, threads",
    table_of({**ENTRY, "threads": 0}): "entry 0: isa, threads",
    table_of({**ENTRY, "threads": True}): "entry 0: isa, threads",
    table_of({**ENTRY, "choice": "winograd-5"}): "entry 0: there is no choice 'winograd-5'; did you mean 'winograd-",
    table_of({**ENTRY, "seconds": {"slowly": 1}}): f"there is no choice 'slowly'; there are {', '.join(CHOICES)}",
    table_of({**ENTRY, "seconds": {"direct": -1}}): "the seconds of direct must be a number, got -1",
    table_of({**ENTRY, "seconds": {"direct": "1"}}): 'the seconds of direct must be a number, got "1"',
    table_of({**ENTRY, "seconds": {"direct": float("nan")}}): "the seconds of direct must be a number, got NaN",
    table_of(ENTRY, {**ENTRY, "choice": "default"}): "entry 1: the second of 'convolution …' on aarch64 with threads=1",
}


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_file_that_is_no_table_is_refused_in_a_line(number: int, tmp_path: Path) -> None:
    text, message = list(REFUSED.items())[number]
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TuningError) as error:
        read_table(path)
    assert str(error.value).startswith(f"{path}: ") and message in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "b.json", tmp_path):
        with pytest.raises(TuningError, match=path.name):
            read_table(path)


def test_only_what_makes_a_difference_is_a_candidate() -> None:
    assert candidates((64, 32, 3, 3), (1, 1), (1, 1), 1) == CHOICES
    others = [
        candidates((64, 32, 3, 1), (1, 1), (1, 1), 1),
        candidates((64, 32, 3, 3), (1, 2), (1, 1), 1),
        candidates((64, 32, 3, 3), (1, 1), (2, 2), 1),
        candidates((64, 3, 3, 3), (1, 1), (1, 1), 1),
        candidates((17, 32, 3, 3), (1, 1), (1, 1), 1),
        candidates((32, 1, 3, 3), (1, 1), (1, 1), 32),
    ]
    assert others == [("default", "row-major")] * 6
