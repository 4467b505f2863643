"""What `flambeau profile` says of programs: times, work and places of instructions, and the files that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from runtime_programs import stock
from torch import nn

from flambeau import to_edge, to_edge_transform_and_lower
from flambeau.compiler.instruction_costs import InstructionCost
from flambeau.compiler.program_profile import Profile, profile_program
from flambeau.runtime import Event, EventKind, Runtime
from flambeau.runtime.binding.recorded_runs import event_name, to_etdump
from flambeau.runtime.etdump import read_etdump, write_etdump
from flambeau.runtime.pte import Frame
from flambeau.tools.main import main
from flambeau.tools.profiling.machine import Machine
from flambeau.tools.profiling.profile_report import headline, profile_data, profile_table


class Layers(nn.Module):
    """Two lines in two modules."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 8)
        self.linear = nn.Linear(8, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        found = self.embedding(ids)  # first
        return self.linear(found).relu()  # second


TEXT = Path(__file__).read_text().splitlines()
LINES = [next(number for number, line in enumerate(TEXT, 1) if line.endswith(f"# {place}")) for place in ("first", "second")]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "layers.pte"
    to_edge(torch.export.export(Layers().eval(), (torch.zeros(1, 4, dtype=torch.int64),))).to_executorch().save(path)
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["profile", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_each_instruction_has_its_time_work_and_place(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, program, "--iterations", 3)
    lookup, product, activation = found["rows"]
    assert [row["name"] for row in found["rows"]] == ["aten::embedding.out", "aten::linear.out", "aten::relu.out"]
    assert [row["instruction"] for row in found["rows"]] == [0, 1, 2]
    assert (lookup["flops"], product["flops"], activation["flops"]) == (0, 2 * 4 * 8 * 16, 4 * 16)
    assert lookup["bytes"] == 4 * 8 + 2 * 4 * 8 * 4, "of the table, it reads what the indices name"
    assert product["bytes"] == 4 * (4 * 8 + 16 * 8 + 16 + 4 * 16)
    assert [row["places"][0]["module"] for row in found["rows"]] == ["embedding", "linear", "forward"]
    assert all(row["places"][0]["file"] == __file__ and row["places"][0]["line"] > 0 for row in found["rows"])
    assert found["runs"] == len(found["times_ns"]) == 3 and found["p50_ns"] == np.median(found["times_ns"])
    assert found["p90_ns"] == pytest.approx(np.percentile(found["times_ns"], 90))
    total = {round(row["p50_ns"] / row["share"]) for row in found["rows"] if row["share"]}
    assert max(total) - min(total) <= 1 and sum(row["share"] for row in found["rows"]) <= 1
    assert found["flops"] == sum(row["flops"] for row in found["rows"])


def test_all_numbers_of_a_row_follow_from_its_median() -> None:
    spans = ((10, 20), (10, 20), (500, 900))  # of an instruction and of its run, which something else held up once
    execute, kernel = EventKind.EXECUTE, EventKind.KERNEL
    runs = [[Event(execute, "f", None, None, 0, whole, 0), Event(kernel, "add", 0, 0, 5, 5 + part, 40)] for part, whole in spans]
    profile = Profile("f", runs, {}, {(0, 0): InstructionCost(flops=80)})
    assert headline(profile) == "method f: 3 runs of 1 instruction, p50 0.000 ms, p90 0.001 ms, 0.000 MFLOP, 4.00 GFLOP/s"
    cells = [list(column.cells) for column in profile_table(profile, "operator", Machine(flops=16e9, bandwidth=8e9)).columns]
    assert [row for row, *_ in cells] == ["add", "1", "0.0", "0.4", "50.0 %", "0.000", "0.0", "8.00", "4.00", "50.0 %", "50.0 %", ""]
    assert [row for _, row in cells][:5] == ["between instructions", "", "0.0", "0.3", "50.0 %"]
    assert profile_data(profile, "operator")["rows"][0]["share"] == 0.5


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("operator", {"aten::embedding.out", "aten::linear.out", "aten::relu.out"}),
        ("module", {"embedding", "linear", "forward"}),
        ("line", {f"{__file__}:{line}" for line in LINES}),
    ],
)
def test_rows_stand_for_what_is_asked(by: str, names: set[str], program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, program, "--by", by)
    assert {row["name"] for row in found["rows"]} == names
    shares = [row["share"] for row in found["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(row["flops"] for row in found["rows"]) == found["flops"]


def test_people_get_a_table(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(program), "--peak"]) == 0
    out, err = capsys.readouterr()
    assert err == "note: inputs are made up, since there is no --input; times may depend on them\n"
    first, machine, heads, *rows, rest = out.splitlines()
    assert first.startswith("method forward: 10 runs of 3 instructions, p50 ")
    assert machine.startswith("this machine: ") and machine.endswith(" GB/s")
    assert "of peak" in heads and "GFLOP/s" in heads
    assert [row.split()[1] for row in rows] == ["aten::embedding.out", "aten::linear.out", "aten::relu.out"]
    assert rest.strip().startswith("between instructions")


def test_as_many_threads_compute_as_are_asked_for(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = list[int]()

    class Counted(Runtime):
        def __init__(self, threads: int = 1) -> None:
            counts.append(threads)
            super().__init__(threads)

    monkeypatch.setattr("flambeau.compiler.program_profile.Runtime", Counted)
    assert len(report(capsys, program, "--threads", 2)["rows"]) == 3
    assert counts == [2]


def test_a_loop_counts_each_time_that_an_instruction_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "rows.npy", np.ones((4, 3), np.float32))
    np.save(tmp_path / "row.npy", np.ones(3, np.float32))
    found = report(capsys, stock("map"), "--input", tmp_path / "rows.npy", "--input", tmp_path / "row.npy")
    by_name = {row["name"]: row for row in found["rows"]}
    assert (by_name["aten::add.out"]["calls"], by_name["aten::add.out"]["flops"]) == (4, 4 * 3)
    assert by_name["jump"]["flops"] == by_name["executorch_prim::add.Scalar"]["flops"] == 0


def test_a_delegate_shows_the_work_of_what_it_computes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    exported = torch.export.export(nn.Sequential(layers).eval(), (torch.zeros(2, 8),))
    to_edge_transform_and_lower(exported, partitioner="xnnpack").to_executorch().save(tmp_path / "a.pte")
    found = report(capsys, tmp_path / "a.pte", "--backend-option", "xnnpack.threads=1")
    row, *inside = found["rows"]
    assert row["name"] == "XnnpackBackend" and "inside" not in row
    assert [item["places"][0]["module"] for item in inside] == ["0.0", "0.2"], "XNNPACK computes the activation with the first layer"
    assert all(item["inside"] and item["name"].startswith("Fully Connected") for item in inside)
    assert row["bytes"] == 4 * (2 * 8 + 2 * 4)
    assert row["flops"] >= 2 * 2 * (8 * 16 + 16 * 4)
    assert [place["module"] for place in row["places"]] == ["0.0", "0.1", "0.2"]
    modules = report(capsys, tmp_path / "a.pte", "--by", "module")["rows"]
    (line,) = report(capsys, tmp_path / "a.pte", "--by", "line")["rows"]
    assert {module["name"] for module in modules} == {"0.0", "0.2"}
    assert line["name"].endswith(", …"), "no line of it is credited alone"


@pytest.mark.parametrize("by", ["instruction", "module"])
def test_shares_add_up_to_a_whole(by: Literal["instruction", "module"]) -> None:
    spans = ((3, 5, 10), (9, 2, 12), (4, 4, 11))  # of two instructions and of their run: the medians are those of different runs
    runs = [
        [Event(EventKind.EXECUTE, "f", None, None, 0, whole, 0)]
        + [Event(EventKind.KERNEL, name, 0, place, 0, time, 0) for place, (name, time) in enumerate((("add", first), ("mul", second)))]
        for first, second, whole in spans
    ]
    profile = Profile("f", runs, {(0, 0): (Frame(name="a"),), (0, 1): (Frame(name="b"),)}, {})
    rows = profile.table(by)
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert [row.share for row in rows] == pytest.approx([4 / 10, 4 / 10, 2 / 10])


def test_a_trace_has_each_execution_with_its_instructions_inside(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys, program, "--iterations", 2, "--trace", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert [span["cat"] for span in spans] == ["execute", "kernel", "kernel", "kernel"] * 2
    for whole, *inside in (spans[:4], spans[4:]):
        assert all(whole["ts"] <= span["ts"] and span["ts"] + span["dur"] <= whole["ts"] + whole["dur"] + 1e-3 for span in inside)
    assert spans[2]["args"]["module"] == "linear" and spans[2]["args"]["flops"] == 1024


def test_an_etdump_has_a_run_for_each_iteration(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(capsys, program, "--iterations", 2, "--etdump", tmp_path / "a.etdp")
    dump = read_etdump((tmp_path / "a.etdp").read_bytes())
    assert [run.name for run in dump.run_data] == ["Execute"] * 2
    names = [event.profile_event.name for event in dump.run_data[0].events if event.profile_event is not None]
    assert names == ["native_call_embedding.out", "native_call_linear.out", "native_call_relu.out", "Method::execute"]


def test_the_inputs_that_a_model_writes_are_those_that_were_given_in_each_run(tmp_path: Path) -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.add_(1)
            return x * 2

    to_edge(torch.export.export(Writes(), (torch.zeros(3),))).to_executorch().save(tmp_path / "a.pte")
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    assert main(["profile", str(tmp_path / "a.pte"), "--input", str(tmp_path / "x.npy")]) == 0
    assert not np.load(tmp_path / "x.npy").any()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--by", "modul"], "error: --by modul; did you mean 'module'?: the kinds of rows are instruction, operator, module, line\n"),
        (["--method", "backward"], "error: there is no method 'backward'; --method names one of forward\n"),
        (["--trace", "absent/a.json"], "error: absent/a.json cannot be written: there is no folder absent\n"),
        (["--input", "absent.npy"], "error: no such file: absent.npy\n"),
        (["--backend-option", "x"], "error: --backend-option is NAME.OPTION=VALUE, as in npu.threads=2; not 'x'\n"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], error: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(program), *arguments]) == 1
    assert capsys.readouterr().err.splitlines(keepends=True)[-1] == error


def test_events_read_back_as_they_were_written(program: Path) -> None:
    profile = profile_program(program.read_bytes(), lambda: [np.zeros((1, 4), np.int64)], iterations=2)
    dump = to_etdump(profile.runs)
    assert read_etdump(write_etdump(dump)) == dump
    written = [event.profile_event for run in dump.run_data for event in run.events]
    expected = [event for run in profile.runs for event in (*run[1:], run[0])]
    assert [(item.name, item.start_time, item.end_time) for item in written if item] == [
        (event_name(event), event.start, event.end) for event in expected
    ]
