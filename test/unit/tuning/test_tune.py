"""`flambeau tune`: what it chooses for given times, the table that it writes, and the programs that are compiled with one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from flambeau.passes.tuning.choices import CHOICES
from flambeau.passes.tuning.table import Entry, Place, TuningTable, read_table
from flambeau.runtime import Method, Runtime
from flambeau.runtime.binding.libraries import instruction_set
from flambeau.tools.main import main
from flambeau.tools.tuning.candidate_programs import Candidate, Convolution
from flambeau.tools.tuning.search import MARGIN, Result, fastest, search

MODEL = """
import torch
from torch import nn

def make():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 5, 1))
    return layers.eval(), (torch.randn(1, 16, 11, 9),)

def dense():
    return nn.Linear(3, 3), (torch.ones(2, 3),)
"""
OPERATORS = [
    "convolution 1x16x11x9, 32x16x3x3, stride 1x1, padding 1x1, dilation 1x1, groups 1",
    "convolution 1x32x11x9, 32x1x3x3, stride 1x1, padding 1x1, dilation 1x1, groups 32",
    "convolution 1x32x11x9, 5x32x1x1, stride 1x1, padding 0x0, dilation 1x1, groups 1",
]
TILED, PLAIN = ("default", "direct", "winograd-2", "winograd-4", "row-major"), ("default", "row-major")

# --- with given times

Times = Callable[[Mapping[str, str]], dict[str, float]]


def searched(choices: Mapping[str, tuple[str, ...]], times: Times, around: Times | None = None) -> Result:
    """The result for microseconds of operators, and of those around them, that depend on their choices."""
    convolutions = {(0, number): Convolution(operator, possible) for number, (operator, possible) in enumerate(choices.items())}

    def build(chosen: Mapping[str, str]) -> Candidate:
        found = times(chosen)
        least = {step: round(1000 * found[item.operator]) for step, item in convolutions.items()}
        least[0, 99] = round(1000 * sum(around(chosen).values())) if around else 0
        return Candidate(convolutions, cast(Method, None), list, least, sum(least.values()))

    return search(build, lambda _: None, lambda _: None)


def by_choice(**microseconds: Mapping[str, float]) -> Times:
    return lambda chosen: {operator: found[chosen.get(operator, "default")] for operator, found in microseconds.items()}


def test_a_choice_has_to_save_more_than_runs_differ_by() -> None:
    assert fastest({"default": 1.0, "direct": 1.01 - MARGIN, "winograd-2": 3.0}) == "default"
    assert fastest({"default": 1.0, "direct": 0.99 - MARGIN, "winograd-2": 3.0}) == "direct"


def test_each_operator_has_its_fastest_choice() -> None:
    a = dict(zip(TILED, (10, 20, 9, 5, 30), strict=True))
    b = dict(zip(TILED, (10, 8, 9, 10, 30), strict=True))
    found = searched({"a": TILED, "b": TILED, "c": PLAIN}, by_choice(a=a, b=b, c={"default": 3, "row-major": 4}))
    assert {name: item.choice for name, item in found.operators.items()} == {"a": "winograd-4", "b": "direct", "c": "default"}
    assert found.operators["a"].seconds == {name: pytest.approx(time / 1e6) for name, time in a.items()}
    assert found.kept and (found.before, found.after) == (pytest.approx(23e-6), pytest.approx(16e-6))


def test_what_a_layout_costs_around_an_operator_counts() -> None:
    times = by_choice(a=dict(zip(TILED, (10, 11, 7, 12, 6), strict=True)), b={"default": 10, "row-major": 4})
    copies = {"a": 3.0, "b": 2.0}
    found = searched(
        {"a": TILED, "b": PLAIN}, times, lambda chosen: {name: copies[name] for name, way in chosen.items() if way == "row-major"}
    )
    assert [item.choice for item in found.operators.values()] == ["winograd-2", "row-major"]
    assert [item.seconds["row-major"] for item in found.operators.values()] == [pytest.approx(9e-6), pytest.approx(6e-6)]


def test_a_region_may_be_faster_only_as_a_whole() -> None:
    times = by_choice(a={"default": 10, "row-major": 8}, b={"default": 10, "row-major": 8})

    def border(chosen: Mapping[str, str]) -> dict[str, float]:
        return {"border": 3.0 if len(set(chosen.get(name, "default") for name in "ab")) == 2 else 0.0}

    assert [item.choice for item in searched({"a": PLAIN, "b": PLAIN}, times, border).operators.values()] == ["row-major", "row-major"]


def test_choices_that_are_slower_together_are_not_kept() -> None:
    times = by_choice(a=dict(zip(TILED, (10, 11, 7, 12, 16), strict=True)))
    found = searched({"a": TILED}, times, lambda chosen: {"caches": 9.0 if chosen.get("a") == "winograd-2" else 0.0})
    assert not found.kept and found.operators["a"].choice == "default" and found.after == pytest.approx(16e-6)


# --- with programs


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The model and its inputs, whose file is `model.py` in the current folder."""
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(MODEL, names)
    return names["make"]()


def failure(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 1
    return capsys.readouterr().err


def test_it_adds_what_it_measured_to_a_table(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    others = {Place("other", 1, OPERATORS[0]): Entry("direct", {"direct": 1.0})}
    TuningTable({**others, Place(instruction_set(), 1, OPERATORS[0]): Entry("row-major")}).write("table.json")
    assert main(["tune", "model.py:make", "-o", "table.json", "--rounds", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    table = read_table("table.json")
    places = [Place(instruction_set(), 1, operator) for operator in OPERATORS]
    assert set(table.entries) == {*others, *places} and table.entries.items() >= others.items()
    assert [sorted(table.entries[place].seconds) for place in places] == [sorted(TILED), sorted(PLAIN), sorted(PLAIN)]
    assert {name: item["choice"] for name, item in report["operators"].items()} == table.choices(instruction_set(), 1)
    assert main(["tune", "model.py:make", "-o", "table.json", "--rounds", "1", "--threads", "2"]) == 0
    told = capsys.readouterr().err
    assert all(operator in told for operator in OPERATORS) and "the whole program: " in told and "threads=2" in told
    assert set(read_table("table.json").choices(instruction_set(), 2)) == set(OPERATORS)


def test_a_program_computes_the_same_with_each_choice(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    module, (x,) = model
    for choice in CHOICES:
        TuningTable({Place("isa", 3, operator): Entry(choice) for operator in OPERATORS}).write("table.json")
        command = ["compile", "model.py:make", "--target", "flambeau", "-o", "model.pte", "--tuning", "table.json", "--json"]
        assert main([*command, "--isa", "isa", "--threads", "3"]) == 0
        assert json.loads(capsys.readouterr().out)["notes"] == []
        found = Runtime.get().load_program("model.pte").load_method().execute([x.numpy()])[0]
        torch.testing.assert_close(torch.as_tensor(found), module(x).detach(), rtol=1e-5, atol=1e-5)
        assert (b"aten::convolution" in Path("model.pte").read_bytes()) == (choice == "row-major")
        assert main([*command, "--isa", "isa"]) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert notes == [
            "table.json has no choice for isa with threads=1, but for isa with threads=3; --isa and --threads say what to compile for"
        ]


def test_a_model_without_choices_is_only_timed(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "model.py:dense", "--rounds", "1"]) == 0
    assert "no choice saves" in capsys.readouterr().err and read_table("model.tuning.json") == TuningTable()


def test_what_cannot_be_tuned_is_refused_in_a_line(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--target executorch: it has one way" in failure(capsys, "tune", "model.py:make", "--target", "executorch")
    assert "there is no method 'forwrd'; did you mean 'forward'?" in failure(capsys, "tune", "model.py:make", "--method", "forwrd")
    Path("bad.json").write_text("{}")
    for command in (
        ("tune", "model.py:make", "-o", "bad.json"),
        ("compile", "model.py:make", "--target", "flambeau", "--tuning", "bad.json"),
    ):
        assert "bad.json: not a table of choices" in failure(capsys, *command)
    assert "--isa is for --tuning" in failure(capsys, "compile", "model.py:make", "--isa", "aarch64")
    assert "--threads is for --tuning" in failure(capsys, "compile", "model.py:make", "--threads", 2)
    TuningTable().write("table.json")
    assert "the target 'executorch' has one way" in failure(capsys, "compile", "model.py:make", "--tuning", "table.json")
    assert main(["compile", "model.py:make", "--to", "planned", "-o", "model.mlir"]) == 0
    capsys.readouterr()
    assert "model.mlir is at stage planned already" in failure(capsys, "tune", "model.mlir")
    failed = failure(capsys, "compile", "model.py:make", "--target", "flambeau", "--to", "edge", "-o", "a.mlir", "--tuning", "table.json")
    assert "--tuning: it is read on the way from edge to exec, and a .mlir ends at edge" in failed
