"""`flambeau numerics`: the error of each value of a stage, and the first operator that is wrong, in the words of the model."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as untyped_map

from flambeau import to_edge
from flambeau.dialects.schema.operators import find_op
from flambeau.passes.delegation.interface import backend_names
from flambeau.support.lazy import Array
from flambeau.tools.main import main

higher_order_map: Any = untyped_map

MODEL = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        h = self.up(self.norm(x))
        h = torch.nn.functional.gelu(h)
        return x + self.down(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.bn = nn.BatchNorm1d(8)
        self.layers = nn.Sequential(Block(), Block())

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x.transpose(1, 2)))).transpose(1, 2)
        return torch.softmax(self.layers(x), -1)


torch.manual_seed(0)
model = Net().eval(), (torch.randn(2, 5, 8),)
"""


@pytest.fixture(autouse=True)
def _model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("network.py").write_text(MODEL)


def numerics(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    assert main(["numerics", "network.py:model", "--json", *arguments]) == status
    return json.loads(capsys.readouterr().out)


def plant(monkeypatch: pytest.MonkeyPatch, operator: str, wrong: Callable[[Array], Array]) -> None:
    """Changes what an operator gives, wherever numpy computes it."""
    row = find_op(operator)
    assert row is not None
    right: Any = row.numpy

    @functools.wraps(right)
    def planted(*arguments: Any) -> Any:
        return wrong(right(*arguments))

    monkeypatch.setattr(row, "numpy", staticmethod(planted))


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("stage", ["core", "edge", "exec", "planned", "device"])
def test_every_operator_of_a_stage_is_compared_with_pytorch(stage: str, target: str, capsys: pytest.CaptureFixture[str]):
    report = numerics(capsys, "--stage", stage, "--target", target)
    assert (report["stage"], report["against"], report["first_bad"]) == (stage, "eager", None)
    assert max(value["relative"] for value in report["values"]) < 1e-5
    modules = {value["module"] for value in report["values"]}
    assert {"layers.0.norm", "layers.0.up", "layers.1.down"} <= modules
    assert sum(value["before"] == "aten.linear" or value["before"] == "aten.gelu" for value in report["values"]) >= 2


@pytest.mark.parametrize("stage", ["aten", "edge", "planned"])
def test_a_planted_bug_is_named_with_its_module_and_line(stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    plant(monkeypatch, "aten.gelu", lambda array: array + np.float32(1e-2))
    first = numerics(capsys, "--stage", stage, status=1)["first_bad"]
    assert (first["module"], first["before"]) == ("layers.0", "aten.gelu") and "gelu" in first["operator"]
    line = 1 + MODEL.splitlines().index("        h = torch.nn.functional.gelu(h)")
    assert first["line"].endswith(f"network.py:{line}")
    assert first["difference"] == pytest.approx(1e-2, rel=1e-3) and first["detail"].startswith("max |Δ| is ")
    assert main(["numerics", "network.py:model", "--stage", stage]) == 1
    out = capsys.readouterr().out
    last = out.splitlines()[-1]
    assert last.startswith(f"the first wrong operator is {first['operator']}") and f"network.py:{line})" in last


def test_a_fused_operator_is_named_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    plant(monkeypatch, "aten.gelu", lambda array: array * np.float32(1.01))
    first = numerics(capsys, "--target", "flambeau", status=1)["first_bad"]
    assert (first["operator"], first["module"], first["before"]) == ("flambeau::linear.out", "layers.0.up", "aten.gelu")


IMAGES = """
import torch
from torch import nn

layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU()
model = nn.Sequential(*layers).eval(), (torch.randn(1, 1, 12, 12),)
"""


def test_values_keep_their_names_where_their_layout_changes(capsys: pytest.CaptureFixture[str]):
    Path("images.py").write_text(IMAGES)
    assert main(["numerics", "images.py:model", "--target", "flambeau"]) == 0
    found = capsys.readouterr().out
    assert "conv2d" in found and "max_pool2d" in found and "no operator is wrong" in found


def test_stages_that_share_a_bug_do_not_differ(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    plant(monkeypatch, "aten.gelu", lambda array: array + np.float32(1e-2))
    report = numerics(capsys, "--against", "aten")
    assert report["against"] == "aten" and report["first_bad"] is None


def test_what_the_device_computes_is_told_from_what_numpy_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    plant(monkeypatch, "aten.gelu", lambda array: array + np.float32(1e-2))
    assert numerics(capsys, "--stage", "device")["first_bad"] is None
    first = numerics(capsys, "--stage", "device", "--against", "planned", status=1)["first_bad"]
    assert (first["operator"], first["module"]) == ("aten::gelu.out", "layers.0")
    assert first["difference"] == pytest.approx(1e-2, rel=1e-3)


def test_the_device_is_seen_in_calls_with_lists_and_in_loops(capsys: pytest.CaptureFixture[str]):
    class Lists(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            left, right = torch.split(x * 2, [3, 5], 1)
            values, _ = torch.cat([right, left.relu()], 1).max(1)

            def add(row: Tensor, other: Tensor) -> Tensor:
                return row.sin() + other

            return higher_order_map(add, x, values.sum())

    torch.export.save(torch.export.export(Lists(), (torch.linspace(-1, 1, 32).view(4, 8),)), "lists.pt2")
    assert main(["numerics", "lists.pt2", "--stage", "device", "--against", "aten", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    operators = [value["operator"] for value in report["values"]]
    assert {"aten::cat.out", "aten::max.dim_max"} <= set(operators) and operators.count("aten::sin.out") == 4


BRANCHES = """
import torch


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.tanh() - 1, (x,))


model = Branches(), (torch.full((2, 3), -1.0),)
"""


def test_control_flow_is_compared_with_the_interpreter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    Path("branches.py").write_text(BRANCHES)
    command = ["numerics", "branches.py:model", "--stage", "device", "--json"]
    assert main(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["against"], report["first_bad"]) == ("aten", None) and any("tanh" in value["operator"] for value in report["values"])
    plant(monkeypatch, "aten.tanh", lambda result: result + 1e-2)
    assert main(command) == 1
    first = json.loads(capsys.readouterr().out)["first_bad"]
    assert first["operator"] == "aten::tanh.out" and first["line"].endswith("branches.py:7")


@pytest.mark.parametrize("stage", ["planned", "device"])
def test_a_part_of_a_decomposed_operator_is_not_taken_for_its_result(stage: str, capsys: pytest.CaptureFixture[str]):
    """The scaled query of an attention has the place and the type of its result."""
    Path("attention.py").write_text("""
import torch


class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return attended + 1


torch.manual_seed(0)
model = Attention(), tuple(torch.randn(1, 2, 6, 4) for _ in range(3))
""")
    assert main(["numerics", "attention.py:model", "--stage", stage, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad"] is None
    assert [row["operator"] for row in found["values"]] == ["aten::add.Scalar_out"]
    assert main(["numerics", "attention.py:model", "--stage", stage]) == 0
    out = capsys.readouterr().out
    assert f"1 values, {found['unmatched']} more have no counterpart: 2 of aten::" in out and "1 of aten::_softmax.out" in out


def test_rounding_where_numbers_cancel_out_is_no_bug(capsys: pytest.CaptureFixture[str]):
    class Cancels(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.sum(1) - x.flip(1).sum(1)  # zeros, but for the order of the sums

    generator = torch.Generator().manual_seed(0)
    exported = torch.export.export(Cancels(), (torch.rand(8, 1000, generator=generator),))
    torch.export.save(exported, "cancels.pt2")
    assert main(["numerics", "cancels.pt2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["first_bad"] is None


def test_inputs_and_tolerance_are_those_that_are_given(capsys: pytest.CaptureFixture[str]):
    np.savez("x.npz", x=np.zeros((2, 5, 8), np.float32))
    assert numerics(capsys, "--inputs", "x.npz")["first_bad"] is None
    assert numerics(capsys, "--tolerance", "0", status=1)["first_bad"] is not None


class Rows(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = x.reshape(x.shape[0] * 4) + torch.arange(4 * x.shape[0])
        return rows.view(x.shape[0], 4) @ y.t(), x[x > 0].sum() + torch.nonzero(y).float()


def test_sizes_that_only_the_run_knows_are_compared_with_pytorch(capsys: pytest.CaptureFixture[str]):
    n = torch.export.Dim("n", min=2, max=9)
    exported = torch.export.export(Rows(), (torch.rand(3, 4), torch.rand(3, 4)), dynamic_shapes=({0: n}, {0: n}))
    torch.export.save(exported, "rows.pt2")
    for rows, others, message in (
        (3, 3, ""),
        (8, 8, ""),
        (10, 10, "dimension 0 has 10 entries"),
        (4, 5, "4], got torch.float32 of shape [5, 4]"),
    ):
        np.savez("rows.npz", x=np.ones((rows, 4), np.float32), y=np.ones((others, 4), np.float32))
        for stage in ("aten", "planned", "device"):
            assert main(["numerics", "rows.pt2", "--inputs", "rows.npz", "--json", "--stage", stage]) == bool(message)
            shown = capsys.readouterr()
            assert message in shown.err
            assert message or json.loads(shown.out)["first_bad"] is None, shown.out


def test_what_stays_with_the_target_is_compared_alone(capsys: pytest.CaptureFixture[str]):
    report = numerics(capsys, "--backend", "xnnpack", "--no-delegate", "layers.0")
    assert report["first_bad"] is None
    assert {value["module"] for value in report["values"]} >= {"layers.0.up", "layers.0.down"}


def test_a_stage_in_a_file_is_compared_with_later_ones(capsys: pytest.CaptureFixture[str]):
    to_edge(torch.export.export(nn.Linear(3, 4), (torch.ones(2, 3),))).save("edge.mlir")
    assert main(["numerics", "edge.mlir", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["stage"], report["against"]) == ("planned", "edge") and len(report["values"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["network.py:model", "--stage", "plan"], "--stage plan: there are the stages aten, core, edge, exec, planned, and device"),
        (["network.py:model", "--against", "torch"], "--against torch: there are the stages aten, core, edge, exec, planned, and eager"),
        (["network.py:model", "--inputs", "short.npz"], "short.npz: input 'x' must have the shape [2, 5, 8], got [2, 5]"),
        (["network.py:model", "--inputs", "wide.npz"], "wide.npz: input 'x' must be float32, got float64"),
        (["network.py:model", "--inputs", "absent.npz"], "absent.npz: there is no input 'x' for @forward among the stored ones (y)"),
        (
            ["network.py:model", "--etdump", "short.npz", "--debug-buffer", "short.npz"],
            "short.npz: this is not an ETDump: bytes 8 to 11 are not 'ED00'",
        ),
        (["network.py:model", "--method", "encode"], "there is no method 'encode'; there are forward"),
        (["network.py:model", "--no-delegate", "softmax"], "--no-delegate is for --backend"),
        (
            ["network.py:model", "--backend", "nobody"],
            f"--backend nobody: there is no backend 'nobody'; there are {', '.join(backend_names())}",
        ),
        (["edge.mlir", "--stage", "core"], "--stage core: the program is at stage 'edge' already, which comes after"),
        (
            ["edge.mlir", "--against", "eager"],
            "--against eager: PyTorch runs programs of the stages aten and core, and this one is at 'edge'",
        ),
        (
            ["layer.pte"],
            "--stage planned: the reference is that stage too, so there is nothing to compare: --stage device judges the C runtime; "
            "or give the model that it was compiled from",
        ),
        (
            ["edge.mlir", "--stage", "edge"],
            "--stage edge: the reference is that stage too, so there is nothing to compare: --stage device judges the C runtime",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    edge = to_edge(torch.export.export(nn.Linear(3, 4), (torch.ones(2, 3),)))
    edge.save("edge.mlir")
    edge.to_executorch().save("layer.pte")
    np.savez("short.npz", x=np.zeros((2, 5), np.float32))
    np.savez("wide.npz", x=np.zeros((2, 5, 8)))
    np.savez("absent.npz", y=np.zeros(3))
    assert main(["numerics", *arguments]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"
