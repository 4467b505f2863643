"""What `flambeau targets` says of a model on every target and with every backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flambeau.compiler.target_choices import target_choices
from flambeau.passes.delegation.interface import backend_names, find_backend
from flambeau.passes.targets.interface import target_names
from flambeau.tools.main import main

MODULE = """\
func.func @forward(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = core.exp(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = core.neg(%0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %1 : tensor<2x8xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.mlir"
    path.write_text(MODULE)
    return path


def rows(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, dict[str, Any]]:
    assert main(["targets", *map(str, arguments), "--iterations", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["against"] == "PyTorch" and report["machine"] and report["date"]
    return {row["options"]: row for row in report["rows"]}


def test_every_target_and_every_backend_has_a_row(model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # XNNPACK's library is absent, whatever is installed here.
    monkeypatch.setenv("FLAMBEAU_XNNPACK_LIBRARY", "/nowhere.so")
    found = rows(capsys, model)
    assert list(found) == [choice.options for choice in target_choices()]
    assert {name for name in (*target_names(), *backend_names()) if any(name in options.split() for options in found)} == {
        *target_names(),
        *backend_names(),
    }
    for row in found.values():
        assert (row["refused"] is None) == (row["milliseconds"] is not None)
        assert row["refused"] is not None or (row["bytes"] > 0 and row["arena"] >= 0 and row["difference"] < 1e-5)
        assert row["refused"] is None or "\n" not in row["refused"]
    assert found["--target flambeau --backend elementwise"]["delegated"] == [2, 2]
    assert found["--target flambeau"]["delegated"] is None
    assert "/nowhere.so" in found["--target executorch --backend xnnpack"]["refused"]
    assert found["--target flambeau --backend tosa"]["refused"] == "tosa takes none of the 2 operators"


def test_a_backend_is_on_the_target_whose_runtime_runs_it() -> None:
    for choice in target_choices():
        if choice.backend is not None:
            runs = choice.backend.options().only_here is None
            assert choice.target == ("executorch" if runs else "flambeau")
            assert choice.state and choice.hardware


def test_the_table_names_the_fastest(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", str(model), "--iterations", "1"]) == 0
    out = capsys.readouterr().out
    assert f"the fastest here: flambeau compile {model} --target " in out
    assert all(f" --backend {name} " in out for name in backend_names())
    description = find_backend("elementwise").description
    assert description is not None and description.hardware in out


def test_a_program_of_a_later_stage_is_refused(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edge = tmp_path / "edge.mlir"
    assert main(["compile", str(model), "--to", "edge", "-o", str(edge)]) == 0
    assert main(["targets", str(edge)]) == 1
    assert f"{edge} is at stage 'edge' already" in capsys.readouterr().err
