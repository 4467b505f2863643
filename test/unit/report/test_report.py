"""The parts of a report: the data behind the page of `flambeau report`, and its files."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from profiled_models import LAYERS

from flambeau.runtime.manifest import kernel_rows
from flambeau.tools.main import main
from flambeau.tools.report.source_excerpts import kernel_excerpt, model_excerpt

STAGES = ["aten", "core", "edge", "exec", "planned"]


def data_of(page: Path) -> dict[str, Any]:
    """The data in a page."""
    found = re.search(r'<script id="data" type="application/gzip">([^<]*)</script>', page.read_text(encoding="utf-8"))
    assert found is not None
    return json.loads(gzip.decompress(b64decode(found[1])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("report")
    (found / "layers.py").write_text(LAYERS)
    return found


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    page = folder / "layers.html"
    arguments = [
        "report",
        f"{folder / 'layers.py'}:model",
        "-o",
        str(page),
        "--model-explorer",
        str(folder / "graphs.json"),
        "--iterations",
        "2",
    ]
    assert main(arguments) == 0
    return data_of(page)


def test_every_stage_has_its_text_its_passes_and_its_graph(report: dict[str, Any]) -> None:
    stages = report["stages"]["stages"]
    assert [stage["name"] for stage in stages] == STAGES
    for stage in stages:
        for node in stage["nodes"]:
            lines: list[str] = [] if node["first"] is None else stage["text"][node["first"] : node["last"] + 1]
            mentioned = node["operator"].partition(" ")[0]
            assert mentioned == "input" or any(mentioned in line for line in lines), node
            assert all(source < stage["nodes"].index(node) for source, _ in node["inputs"]), "without loops, values come from above"
    changed = {step["name"]: step["diff"] for stage in stages for step in stage["steps"] if step["diff"]}
    assert any(line.startswith("+") and "edge.linear" in line for line in changed["convert-core-to-edge{target=executorch}"])
    assert not any(step["diff"] for stage in stages for step in stage["steps"] if step["name"] == "bound-symbols")


def test_the_graph_knows_modules_lines_weights_and_edges(report: dict[str, Any]) -> None:
    first, last = report["stages"]["stages"][0]["nodes"], report["stages"]["stages"][-1]["nodes"]
    assert [node["operator"] for node in first] == ["input", *["aten.linear", "aten.gelu", "aten.linear", "aten.add.Tensor"] * 2]
    kernels = ["aten::linear.out", "aten::gelu.out", "aten::linear.out", "aten::add.out"]
    assert [node["operator"] for node in last] == ["input", *kernels * 2]
    assert first[1]["weights"] == ["0.up.weight", "0.up.bias"]
    assert [node["modules"] for node in first[1:5]] == [["0.up"], ["0"], ["0.down"], ["0"]]
    assert all(node["line"][1] == 11 for node in last[1:])
    for nodes in (first, last):
        assert [node["inputs"] for node in nodes[:6]] == [[], [[0, 0]], [[1, 0]], [[2, 0]], [[0, 0], [3, 0]], [[4, 0]]]


def test_the_overview_says_on_which_machine_and_how_long_pytorch_takes(report: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", report["overview"]["date"]) and "core" in report["overview"]["machine"]
    beside = report["pytorch"]
    assert beside["pytorch_ns"] > 0 and beside["flambeau_ns"] > 0 and beside["threads"] >= 1
    assert sum(row["share"] for row in report["profile"]["modules"]) <= 1.5


def test_measurements_belong_to_nodes(report: dict[str, Any]) -> None:
    nodes = report["stages"]["stages"][-1]["nodes"]
    assert [row["node"] for row in report["profile"]["rows"]] == list(range(1, 9))
    assert all(nodes[row["node"]]["operator"] == row["operator"] for row in report["numerics"]["rows"])
    assert len(report["numerics"]["rows"]) == 8 and report["numerics"]["first_bad"] is None
    memory = report["memory"]
    assert max(memory["live"]) == memory["lower_bound"] <= memory["arenas"][0]
    assert all(item["offset"] + item["size"] <= memory["arenas"][0] for item in memory["rectangles"])
    written = {nodes[item["node"]]["names"][0] for item in memory["rectangles"] if item["node"] is not None}
    assert written <= {name for node in nodes for name in node["names"]}
    assert sum(row["bytes"] for row in report["sizes"]["module"]) == report["sizes"]["bytes"]


def test_sources_are_the_line_of_the_model_and_the_kernel(report: dict[str, Any], folder: Path) -> None:
    excerpt = report["sources"]["model"][f"{folder / 'layers.py'}:11"]
    assert excerpt["lines"][excerpt["marked"] - excerpt["first"]].endswith("return x + self.down(torch.nn.functional.gelu(self.up(x)))")
    assert any("fl_gelu_out" in line for line in report["sources"]["kernels"]["aten::gelu.out"]["lines"])


def test_every_kernel_has_its_source() -> None:
    missing = [name for name in kernel_rows() if kernel_excerpt(name) is None]
    assert not missing
    assert kernel_excerpt("aten::no_such.out") is None
    assert model_excerpt("no_such_file.py", 3) is None


def test_model_explorer_reads_the_graphs(report: dict[str, Any], folder: Path) -> None:
    collection = json.loads((folder / "graphs.json").read_text())
    assert [graph["id"] for graph in collection["graphs"]] == STAGES
    for graph in collection["graphs"]:
        known = {node["id"]: node for node in graph["nodes"]}
        assert len(known) == len(graph["nodes"])
        for node in graph["nodes"]:
            for edge in node["incomingEdges"]:
                outputs = [output["id"] for output in known[edge["sourceNodeId"]]["outputsMetadata"]]
                assert edge["sourceNodeOutputId"] in outputs
        assert known["1"]["namespace"] == "0/up" and "linear" in known["1"]["label"]


def test_a_backend_shows_its_partitions(folder: Path) -> None:
    page = folder / "delegated.html"
    assert main(["report", f"{folder / 'layers.py'}:squares", "-o", str(page), "--backend", "elementwise", "--iterations", "1"]) == 0
    found = data_of(page)
    rows = {(row["operator"], row["backend"]): row["reason"] for row in found["partitions"]["rows"]}
    assert rows == {
        ("edge.gelu", None): "the backend has no such operator",
        ("edge.mul.Tensor", "elementwise"): "",
        ("edge.add.Tensor", "elementwise"): "",
    }
    assert any(node["operator"].startswith("delegate ") for node in found["stages"]["stages"][-1]["nodes"])
    (delegate,) = found["overview"]["delegates"].values()
    assert delegate["properties"] == "reference, 1 input, 1 output"


ESTIMATING = """
from dataclasses import replace

from flambeau.backends.elementwise import BACKEND
from flambeau.backends.elementwise.program import encode
from flambeau.passes.delegation.interface import one_by_one

ESTIMATED = one_by_one(lambda *arguments: replace(encode(*arguments), made_by="npucc 1.0", estimates={"cycles": 12}))
NPU = replace(BACKEND, name="estimating", identifier="Estimating", encode=ESTIMATED)
"""


def test_estimates_stand_beside_the_delegate(folder: Path) -> None:
    (folder / "estimating.py").write_text(ESTIMATING)
    page, model = folder / "estimated.html", f"{folder / 'layers.py'}:squares"
    assert main(["report", model, "-o", str(page), "--backend", "estimating", "--load-plugin", str(folder / "estimating.py")]) == 0
    (delegate,) = data_of(page)["overview"]["delegates"].values()
    assert delegate["estimates"] == {"cycles": 12} and delegate["expected"] == "estimated by npucc 1.0: 12 cycles"


def test_a_pte_shows_what_it_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = folder / "layers.pte"
    assert main(["compile", f"{folder / 'layers.py'}:model", "-o", str(program)]) == 0
    page = folder / "from_pte.html"
    assert main(["report", str(program), "-o", str(page), "--iterations", "1"]) == 0
    found = data_of(page)
    assert [stage["name"] for stage in found["stages"]["stages"]] == ["planned"]
    assert "no backend" in found["partitions"]["missing"]
    assert found["numerics"]["against"] == "the interpreter at stage planned" and found["numerics"]["first_bad"] is None
    assert found["sizes"]["bytes"] == program.stat().st_size
    assert "inputs are made up" in capsys.readouterr().err


def test_a_wrong_operator_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.tools.report import report_data
    from flambeau.tools.semantics.computed_values import Computed
    from flambeau.tools.semantics.numeric_errors import run_device

    def run_wrong(*arguments: Any) -> list[Computed]:
        values = run_device(*arguments)
        for item in values:
            if "gelu" in str(item.op):
                item.array[...] += 0.01
        return values

    monkeypatch.setattr(report_data, "run_device", run_wrong)
    page = folder / "wrong.html"
    assert main(["report", f"{folder / 'layers.py'}:model", "-o", str(page), "--iterations", "1"]) == 0
    assert "aten::gelu.out" in data_of(page)["numerics"]["first_bad"] and "layers.py:11" in data_of(page)["numerics"]["first_bad"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layers.py:model", "-o", "layers.txt"], "layers.txt does not end with .html"),
        (["layers.py:model", "--model-explorer", "graphs.html"], "graphs.html does not end with .json"),
        (["layers.py:model", "--method", "backward"], "there is no method 'backward'; there are forward"),
        (["layers.py:model", "--target", "toaster"], "toaster"),
        (["nothing.pte"], "no such file: nothing.pte"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    assert main(["report", *arguments]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "Traceback" not in printed


def test_a_file_that_is_not_a_program_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = folder / "wrong.pte"
    wrong.write_bytes(b"not a program")
    assert main(["report", str(wrong), "-o", str(folder / "none.html")]) == 1
    assert "Traceback" not in capsys.readouterr().err and not (folder / "none.html").exists()


def test_progress_is_told_where_there_is_no_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count()
    monkeypatch.setattr("flambeau.tools.commands.console.time.monotonic", lambda: float(next(seconds)))
    model = f"{folder / 'layers.py'}:model"
    assert main(["report", model, "-o", str(folder / "told.html"), "--iterations", "1"]) == 0
    told = capsys.readouterr().err.replace("\n", "")
    places = [told.index(f"compiling {model}: stage {stage}") for stage in STAGES]
    places += [told.index(f"reporting {model}: {part} ({number} of 9)") for number, part in enumerate(("stages", "memory", "profile"), 1)]
    assert places == sorted(places)
